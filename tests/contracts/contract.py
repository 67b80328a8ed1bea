"""The contract: what every model of every provider must do, and who is asked."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from builders import call, picture, tool
from nightly import ALL

from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

from .server import StandIns
from .talk import Call, End, Exchange, Said

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


TOOLS = [
    tool(name, schema, description=f"Does {name}")
    for name, schema in (("get_weather", CITY), ("find_person", PERSON))
]
PARIS, TOKYO = Call("get_weather", {"city": "Paris"}), Call("get_weather", {"city": "Tokyo"})
SYSTEM = "Be brief."
WEATHER = {"expected_tool": "get_weather", "expected_params": {"city": "Paris"}}
NOTHING: dict[str, Any] = {"expected_tool": None}
CHAIN = {
    **WEATHER,
    "multi_turn": True,
    "valid_prerequisites": ["find_person"],
    "mock_responses": {"find_person": {"$sequence": [{"friend": "Bo"}, {"city": "Paris"}]}},
    "tool_choice": "auto",
}
CHAIN_CALLS = [
    Said([Call("find_person", {"name": "Al"})], "I look for Al."),
    Said([Call("find_person", {"name": "Bo"})]),
    Said([PARIS]),
]


def _called(id: str, name: str, arguments: str, answer: str) -> list[dict[str, Any]]:
    """A call in a prompt, which no model of this run has made, and its answer."""
    return [
        {"role": "assistant", "content": None, "tool_calls": [call(name, arguments, id)]},
        {"role": "tool", "tool_call_id": id, "content": answer},
    ]


DONE = [
    {"role": "user", "content": "Is it raining in Rome?"},
    *_called("call_a", "get_weather", '{"city": "Rome"}', "rain"),
    {"role": "assistant", "content": "It is."},
]
BEGUN = _called("call_b", "find_person", '{"name": "Al"}', '{"city": "Paris"}')


@dataclass(frozen=True)
class Check:
    """One case, what the model does with it, and what must come of it.

    `failure` is the category of the failed trial, None where it must pass. `faults` come before
    the model's answers, the messages `before` and `after` stand around the question.
    """

    name: str
    case: Mapping[str, Any]
    script: Sequence[Said]
    failure: str | None = None
    choice: str = "auto"
    reasoning: bool = False
    faults: Sequence[Said] = ()
    before: Sequence[Mapping[str, Any]] = ()
    after: Sequence[Mapping[str, Any]] = ()

    @property
    def prompt(self) -> str:
        return f"The question of: {self.name}"

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return [*self.before, {"role": "user", "content": self.prompt}, *self.after]


CHECKS = [
    Check("single", {**WEATHER, "tool_choice": "auto"}, [Said([PARIS])]),
    Check(
        "parallel",
        {
            "expected_calls": [
                {"tool": "get_weather", "params": {"city": city}} for city in ("Paris", "Tokyo")
            ],
            "tool_choice": "auto",
        },
        [Said([PARIS, TOKYO])],
    ),
    Check("chain", CHAIN, CHAIN_CALLS),
    Check("after a chain", {**WEATHER, "tool_choice": "auto"}, [Said([PARIS])], before=DONE),
    Check(
        "within a chain",
        {**WEATHER, "tool_choice": "auto"},
        [CHAIN_CALLS[0], Said([PARIS])],
        after=BEGUN,
    ),
    Check("max_tokens", {**WEATHER, "tool_choice": "auto", "max_tokens": 2048}, [Said([PARIS])]),
    Check("forced", WEATHER, [Said([PARIS])], choice="required"),
    Check("abstention", NOTHING, [Said(text="You are welcome.")]),
    Check("none", {**NOTHING, "tool_choice": "none"}, [Said(text="You are welcome.")], choice="none"),
    Check("reasoning", WEATHER, [Said([PARIS])], choice="required", reasoning=True),
    Check("reasoning chain", CHAIN, CHAIN_CALLS, reasoning=True),
    Check("cut off", NOTHING, [Said(end="cut_off")], "cut_off"),
    Check("cut off before a call", WEATHER, [Said(end="cut_off")], "cut_off", choice="required"),
    Check("refused", NOTHING, [Said(end="refused")], "refused"),
    Check("filtered", NOTHING, [Said(end="filtered")], "blocked"),
    Check("blocked prompt", NOTHING, [Said(end="prompt_blocked")], "blocked"),
    Check("malformed call", NOTHING, [Said(end="malformed_call")], "malformed_call"),
    Check("unexpected call", NOTHING, [Said(end="unexpected_call")], "malformed_call"),
    Check("failing provider", NOTHING, [Said(text="Hello")], faults=[Said(end="provider_error")] * 2),
    Check("overloaded", NOTHING, [Said(text="Hello")], faults=[Said(end="overloaded")] * 8),
    Check("rate limit", NOTHING, [Said(text="Hello")], faults=[Said(end="rate_limited")] * 8),
]


SKY: dict[str, Any] = {
    "type": "object",
    "properties": {"sky": {"type": "string"}},
    "required": ["sky"],
    "additionalProperties": False,
}
FORMED = Check(
    "an answer with a form",
    {
        **NOTHING,
        "tools": [],
        "expected_text": [{"$json": {"$schema": SKY}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "sky", "schema": SKY}},
    },
    [Said(text='{"sky": "clear"}')],
)
# Where the images are in a message of their own, the model answers that.
SHOWN = "The images in the answers above, in order:"
PICTURED = Check(
    "an image in an answer",
    {
        **CHAIN,
        "mock_responses": {"find_person": [{"type": "text", "text": "Al's house"}, picture()]},
    },
    [CHAIN_CALLS[0], Said([PARIS])],
)


@dataclass(frozen=True)
class Target:
    """A model as a user names it.

    `reasons`: whether it can be asked to; `ends`: how its answers may end; `wants_thoughts`: it takes
    no calls of others.
    """

    model: str
    api: str | None = None
    reasons: bool = True
    ends: Collection[End] = ()
    table: Mapping[str, Any] = field(default_factory=dict)
    wants_thoughts: bool = False

    @property
    def label(self) -> str:
        return f"{self.model} ({self.api})" if self.api else self.model

    def takes(self, check: Check) -> bool:
        """Whether the check means anything for this model."""
        if check.after and self.wants_thoughts:
            return False
        ends = {said.end for said in (*check.script, *check.faults)} - {*_ENDS}
        return (self.reasons or not check.reasoning) and ends <= set(self.ends)


# How an answer of any provider can end.
_ENDS: tuple[End, ...] = ("done", "cut_off", "overloaded", "rate_limited")
_FILTERED: tuple[End, ...] = ("refused", "filtered")
_ANTHROPIC: tuple[End, ...] = ("refused",)
_BEDROCK: tuple[End, ...] = ("filtered",)
_GEMINI: tuple[End, ...] = ("filtered", "prompt_blocked", "malformed_call", "unexpected_call")
_ROUTED: tuple[End, ...] = (*_FILTERED, "prompt_blocked", "malformed_call", "provider_error")

TARGETS = [
    *(
        Target(f"anthropic/claude-{name}", ends=_ANTHROPIC)
        for name in ("haiku-4-5", "sonnet-4-6", "opus-4-7", "sonnet-5", "haiku-5-5", "opus-5-5")
    ),
    *(
        Target(f"anthropic/claude-{name}", "litellm", ends=_ANTHROPIC)
        for name in ("haiku-4-5", "sonnet-5")
    ),
    *(
        Target(f"openai/{name}", api, name != "gpt-4o", (*_FILTERED, "prompt_blocked"))
        for name in ("gpt-4o", "gpt-5.1", "gpt-5", "o4-mini", "gpt-5.4", "gpt-5.6")
        for api in (None, "litellm")
    ),
    Target("openai/responses/gpt-5.6", ends=(*_FILTERED, "prompt_blocked")),
    *(
        Target(f"gemini/gemini-{name}", ends=_GEMINI)
        for name in ("2.5-flash", "3-flash-preview", "3.1-pro-preview")
    ),
    Target("gemini/gemini-3.1-pro-preview", "litellm", ends=_GEMINI),
    Target("bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", ends=_BEDROCK),
    Target("bedrock/us.anthropic.claude-sonnet-5", ends=_BEDROCK),
    Target("bedrock/amazon.nova-pro-v1:0", reasons=False, ends=_BEDROCK),
    Target("bedrock/meta.llama3-3-70b-instruct-v1:0", reasons=False, ends=_BEDROCK),
    Target("ollama_chat/llama3.1", reasons=False),
    Target("ollama_chat/qwen3"),
    Target("ollama/qwen3"),
    Target("ollama_chat/qwen3", "litellm"),
    Target("openrouter/openai/gpt-4o", None, False, _ROUTED),
    Target("openrouter/openai/gpt-4o", "litellm", False, _ROUTED),
    Target("openrouter/google/gemini-3.1-pro-preview", ends=_ROUTED, wants_thoughts=True),
    Target("openrouter/anthropic/claude-sonnet-5", ends=_ROUTED),
    Target("openrouter/deepseek/deepseek-v4", ends=_ROUTED),
]

# One for each protocol and client, and those that refuse what others take; every night tries all.
_OFTEN = {
    label.strip()
    for label in """
anthropic/claude-haiku-4-5, anthropic/claude-opus-5-5, anthropic/claude-sonnet-5 (litellm),
openai/gpt-4o, openai/gpt-4o (litellm), openai/gpt-5.6, openai/gpt-5.6 (litellm), openai/o4-mini,
gemini/gemini-3.1-pro-preview, gemini/gemini-3.1-pro-preview (litellm), ollama_chat/qwen3,
bedrock/anthropic.claude-haiku-4-5-20251001-v1:0, bedrock/amazon.nova-pro-v1:0,
openrouter/openai/gpt-4o, openrouter/openai/gpt-4o (litellm), openrouter/google/gemini-3.1-pro-preview
""".split(",")
}
TRIED = [one for one in TARGETS if one.label in _OFTEN or ALL]


def script() -> dict[str, Sequence[Said]]:
    """What the models say to the contract's questions."""
    scripts = {check.prompt: check.script for check in (*CHECKS, FORMED, PICTURED)}
    return {**scripts, SHOWN: [Said([PARIS])]}


@dataclass(frozen=True)
class Outcome:
    """What came of a check: why it failed, if it did, and what was sent in place of what."""

    problem: str | None
    fallbacks: Mapping[str, str | None] = field(default_factory=dict)


class Contract:
    """Asks the stand-ins through the product's engine."""

    def __init__(self, standins: StandIns) -> None:
        self.standins = standins
        self._number = itertools.count()
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._runner = Runner(4, 60.0, RetryPolicy(base=0.001, longest=0.002))

    def result(self, target: Target, check: Check) -> TrialResult:
        """What comes of the check's case; ModelError if there is no answer."""
        self.standins.forget()
        self.standins.faults += check.faults
        table = dict(target.table)
        if check.reasoning:
            table.setdefault("sampling", {"reasoning_effort": "low"})
        # A model of its own for each check, so that none learns from another.
        label = f"{target.label} {next(self._number)}"
        spec = HttpModel(label, model=target.model, api=target.api, **table)
        case = {"id": "one", "prompt": check.messages, **check.case}
        data = {"name": "contract", "tools": TOOLS, "system_prompt": SYSTEM, "test_cases": [case]}
        suite = Suite.model_validate(data)
        resolved = resolve(suite, suite.test_cases[0])
        (answer,) = self._runner.submit(TrialRequest(Job(resolved, spec))).result(60)
        if isinstance(answer, ModelError):
            raise answer
        return score_transcript(resolved, answer)

    def outcome(self, target: Target, check: Check) -> Outcome:
        """What comes of one check, which is asked once."""
        place = (target.label, check.name)
        if place not in self._outcomes:
            self._outcomes[place] = self.ask(target, check)
        return self._outcomes[place]

    def ask(self, target: Target, check: Check) -> Outcome:
        try:
            result = self.result(target, check)
        except ModelError as error:
            return Outcome(f"an error: {error}")
        assert result.transcript is not None
        replies = result.transcript.replies
        fallbacks = {name: sent for reply in replies for name, sent in reply.fallbacks.items()}
        return Outcome(self._problem(check, result), fallbacks)

    def _problem(self, check: Check, result: TrialResult) -> str | None:
        if (result.failure or None) != check.failure:
            return f"expected {check.failure or 'a pass'}, got {result.failure or 'a pass'}"
        if self.standins.faults:
            return "a fault was taken for an answer"
        # Ollama is also asked for what its models can do. What was asked again comes first.
        assert result.transcript is not None
        asked = [one for one in self.standins.exchanges if one.asked]
        return _sent_problem(check, asked[-len(result.transcript.replies) :], result.transcript)

    def continued(self, target: Target) -> str | None:
        """Why the first reply of a chain cannot stand in a prompt, as it stands in a result."""
        chain = next(check for check in CHECKS if check.name == "reasoning chain")
        transcript = self.result(target, chain).transcript
        assert transcript is not None
        first = transcript.replies[0]
        thoughts = [*opaque(next(one.answer for one in self.standins.exchanges if one.status == 200))]
        messages = [dict(first.message), *first.tool_answers]
        problem = self.ask(target, replace(chain, after=messages)).problem
        sent = [json.dumps(one.body) for one in self.standins.exchanges]
        lost = any(json.dumps(thought) not in body for body in sent for thought in thoughts)
        return problem or ("what the model thought was not sent" if lost else None)

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run it on the loop of the engine, to which litellm's connections belong."""
        asyncio.run_coroutine_threadsafe(coroutine, self._runner._loop).result()

    def close(self) -> None:
        self._runner.close()


def _sent_problem(check: Check, answered: Sequence[Exchange], transcript: Transcript) -> str | None:
    """What is wrong with what was sent, though the outcome is right."""
    for exchange, reply in zip(answered, transcript.replies, strict=True):
        asked = exchange.asked
        assert asked is not None
        wanted = check.case.get("temperature", 0)
        if (asked.temperature == wanted) is ("temperature" in reply.fallbacks):
            return f"temperature {asked.temperature} was sent and {reply.fallbacks} is told"
        if asked.most != check.case.get("max_tokens", asked.most):
            return f"{asked.most} was sent for max_tokens"
        if SYSTEM not in json.dumps(exchange.body):
            return "the system's prompt was not sent"
        as_asked = asked.choice == check.choice or (check.choice == "none" and not asked.tools)
        if not as_asked and reply.tool_choice != asked.choice:
            return f"tool_choice {asked.choice} was sent and is not told"
        if check.reasoning and not asked.thinking:
            return "reasoning was not asked for"
        thought = _number(exchange.answer, "reasoning_tokens", "thinking_tokens", "thoughtsTokenCount")
        # litellm forgets the tokens of what Gemini has blocked.
        told = reply.reasoning_tokens or 0
        if thought is not None and thought != told and check.failure != "blocked":
            return f"{thought} tokens went into reasoning, and {reply.reasoning_tokens} are told"
        if any(
            tool.get("strict", True) for tool in exchange.body.get("tools", ()) if "parameters" in tool
        ):
            return "Responses would make the schema another one, without strict: false"
    for before, after in itertools.pairwise(answered):
        text = json.dumps(after.body)
        lost = [one for one in opaque(before.answer) if json.dumps(one) not in text]
        if lost:
            return f"what the model thought did not come back: {lost[0][:40]}"
    return None


def _number(document: object, *names: str) -> Any:
    """The first field of one of these names, however deep."""
    if isinstance(document, dict):
        here = next((document[name] for name in names if name in document), None)
        below = (_number(member, *names) for member in document.values())
        return here if here is not None else next((one for one in below if one is not None), None)
    return None


def opaque(document: object) -> Iterator[str]:
    """What a provider wants back unchanged, without anybody understanding it."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in ("signature", "encrypted_content", "thoughtSignature", "data") and isinstance(
                value, str
            ):
                yield value
            else:
                yield from opaque(value)
    elif isinstance(document, list):
        for member in document:
            yield from opaque(member)
