"""Checks which parameters and kinds of questions work with a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from ..errors import ModelError
from ..record.transcript import Reply
from ..suite.model import Suite
from ..suite.model import resolve
from .models.spec import ModelSpec
from .runner import Runner
from .trial import Trial

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
class Way:
    """A way of asking; `parameter` is the one that it tests, if any.

    `calls` is the number of calls that it should give, None for at least 1.
    """

    name: str
    parameter: str = ""
    case: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    calls: int | None = None
    sampling: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_AUTO = {"tool_choice": "auto"}
WAYS = (
    # Only the defaults fall back when a model refuses them.
    Way("the defaults"),
    Way("tool_choice required", "tool_choice", {"tool_choice": "required"}),
    Way("tool_choice auto", "tool_choice", _AUTO),
    Way("tool_choice none", "tool_choice", {"tool_choice": "none"}, 0),
    Way("parallel calls", case={**_AUTO, "prompt": _TWO}, calls=2),
    Way("temperature 0", "temperature", {**_AUTO, "temperature": 0.0}),
    Way("max_tokens 2000", "max_tokens", {**_AUTO, "max_tokens": 2000}),
    Way("top_p 0.9", "top_p", _AUTO, sampling={"top_p": 0.9}),
    Way("seed 7", "seed", _AUTO, sampling={"seed": 7}),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a way of asking: a reply or an error."""

    way: Way
    reply: Reply | ModelError

    @property
    def works(self) -> bool:
        if isinstance(self.reply, ModelError):
            return False
        # `max_tokens` sent under its new name still works.
        replaced = self.way.parameter in self.reply.fallbacks and self.way.parameter != "max_tokens"
        if self.reply.no_answer is not None or replaced:
            return False
        made = len(self.reply.calls)
        return made > 0 if self.way.calls is None else made == self.way.calls


def try_out(spec: ModelSpec, timeout_s: float) -> Iterator[Tried]:
    """Ask once in each way, and stop when the model cannot be reached."""
    for way in WAYS:
        if way.parameter in spec.omit:
            continue
        tried = Tried(way, _reply(spec, way, timeout_s))
        yield tried
        if isinstance(tried.reply, ModelError) and tried.reply.kind != "bad_request":
            return


def _reply(spec: ModelSpec, way: Way, timeout_s: float) -> Reply | ModelError:
    # Its own runner, so that the fallbacks of one way do not affect the next.
    runner = Runner(timeout_s=timeout_s)
    try:
        (found,) = runner.submit(_trial(spec, way)).result()
    finally:
        runner.close()
    if isinstance(found, ModelError):
        return found
    # An agent may have made its calls before its last reply.
    return structs.replace(found.replies[-1], calls=found.calls)


def _trial(spec: ModelSpec, way: Way) -> Trial:
    case = {"prompt": _ONE, "expected_tool": "*", **way.case}
    suite = Suite.model_validate({"name": "check", "tools": [_WEATHER], "test_cases": [case]})
    own = dataclasses.replace(spec, sampling={**spec.sampling, **way.sampling})
    return Trial(resolve(suite, suite.test_cases[0]), own)
