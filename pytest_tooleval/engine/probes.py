"""Checks which parameters and kinds of questions work with a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from ..errors import ModelError
from ..jsonschemas.validation import is_valid
from ..record.transcript import Reply
from ..scoring.json_texts import json_of
from ..suite.model import Suite
from ..suite.resolved import resolve
from .exchange.chat import RESPONSE_FORMAT
from .models.spec import ModelSpec
from .runner import Runner
from .trial import Job, TrialRequest

_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The name of the city."}},
            "required": ["city"],
        },
    },
}
_ONE = "What is the weather in Paris?"
_TWO = "What is the weather in Paris, and what is it in Rome? Call the tool for both at once."


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a model. `parameter` is the parameter under test, if any.

    `calls` is the expected number of calls; None means at least 1.
    """

    name: str
    parameter: str = ""
    case: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    calls: int | None = None
    sampling: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_AUTO = {"tool_choice": "auto"}
_COUNTRY = {
    "type": "object",
    "properties": {"country": {"enum": ["France", "Italy"]}},
    "required": ["country"],
    "additionalProperties": False,
}
_FORMED: Mapping[str, Any] = {
    "prompt": "Which country is Paris in?",
    "tools": [],
    "expected_tool": None,
    RESPONSE_FORMAT: {"type": "json_schema", "json_schema": {"schema": _COUNTRY}},
}
PROBES = (
    Probe("the defaults"),
    Probe("tool_choice required", "tool_choice", {"tool_choice": "required"}),
    Probe("tool_choice auto", "tool_choice", _AUTO),
    Probe("tool_choice none", "tool_choice", {"tool_choice": "none"}, 0),
    Probe("parallel calls", case={**_AUTO, "prompt": _TWO}, calls=2),
    Probe("temperature 0", "temperature", {**_AUTO, "temperature": 0.0}),
    Probe("max_tokens 2000", "max_tokens", {**_AUTO, "max_tokens": 2000}),
    Probe("top_p 0.9", "top_p", _AUTO, sampling={"top_p": 0.9}),
    Probe("seed 7", "seed", _AUTO, sampling={"seed": 7}),
    Probe(RESPONSE_FORMAT, RESPONSE_FORMAT, _FORMED, 0),
)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """A reply or an error."""

    probe: Probe
    reply: Reply | ModelError

    @property
    def works(self) -> bool:
        if isinstance(self.reply, ModelError):
            return False
        # `max_tokens` sent under its new name still works.
        replaced = self.probe.parameter in self.reply.fallbacks and self.probe.parameter != "max_tokens"
        if self.reply.no_answer is not None or replaced:
            return False
        if self.probe.parameter == RESPONSE_FORMAT and not is_valid(_COUNTRY, json_of(self.reply.text)):
            return False
        count = len(self.reply.calls)
        return count > 0 if self.probe.calls is None else count == self.probe.calls


def probe(spec: ModelSpec, timeout_s: float) -> Iterator[ProbeResult]:
    """Send each probe once. Stop after any error except one request that was refused."""
    for probe in PROBES:
        if probe.parameter in spec.omit:
            continue
        result = ProbeResult(probe, _reply(spec, probe, timeout_s))
        yield result
        error = result.reply
        if isinstance(error, ModelError) and (error.fatal or error.kind != "bad_request"):
            return


def _reply(spec: ModelSpec, probe: Probe, timeout_s: float) -> Reply | ModelError:
    # Its own runner, so that the fallbacks of one probe do not affect the next.
    runner = Runner(timeout_s=timeout_s)
    try:
        (outcome,) = runner.submit(TrialRequest(_job(spec, probe))).result()
    finally:
        runner.close()
    if isinstance(outcome, ModelError):
        return outcome
    # An agent may have made its calls before its last reply.
    return structs.replace(outcome.replies[-1], calls=outcome.calls)


def _job(spec: ModelSpec, probe: Probe) -> Job:
    case = {"prompt": _ONE, "expected_tool": "*", **probe.case}
    suite = Suite.model_validate({"name": "check", "tools": [_WEATHER], "test_cases": [case]})
    probed = dataclasses.replace(spec, sampling={**spec.sampling, **probe.sampling})
    return Job(resolve(suite, suite.test_cases[0]), probed)
