"""What a run produces, as plain data: tool calls, transcripts, scores, results of trials and cases.

Every type has `to_dict` (JSON values only) and `from_dict`, and reading back what was written
gives an equal object. Nothing here computes a score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Literal
from typing import cast

Outcome = Literal["passed", "failed", "missed", "error", "skipped"]
CallFormat = Literal["native", "recovered"]
FailureCategory = Literal[
    "wrong_tool",  # a known tool, but not an expected one
    "hallucinated_tool",  # a tool that was never offered
    "missing_call",  # no call, or fewer than expected
    "surplus_call",  # more calls than expected
    "unexpected_call",  # a call where nothing should be called
    "wrong_order",  # the right calls in another order than `call_order: strict` asks for
    "invalid_arguments",  # the arguments are not a JSON object
    "missing_parameter",
    "unexpected_parameter",
    "wrong_value",
    "unfinished_chain",  # a multi-turn chain that never reached an expected tool
    "inefficient_chain",  # it got there, but with more hops, repeats or detours than allowed
    "below_threshold",  # everything built in is right; another thresholded metric is too low
]


# Far deeper than any real call. Python's own limit lies near 1000, moves with the version and with
# the stack at hand, and what could be read in one place could not be written in another.
MAX_DEPTH = 200


def is_nested_deeper(value: object, levels: int) -> bool:
    """Whether lists and dicts lie more than so many levels inside each other."""
    inner = [value]
    for _ in range(levels + 1):
        inner = [
            child
            for each in inner
            if isinstance(each, (dict, list))
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, (dict, list))
        ]
        if not inner:
            return False
    return True


def _is_finite(value: object) -> bool:
    """Whether no number in it is NaN or infinite, which JSON lacks: 1e400 reads as infinity."""
    inner = [value]
    while inner:
        each = inner.pop()
        if isinstance(each, float) and not math.isfinite(each):
            return False
        if isinstance(each, (dict, list)):
            inner += each.values() if isinstance(each, dict) else each
    return True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model made.

    `arguments` is None when what the model sent is not a JSON object; `raw_arguments` then holds
    what came, as text. It is None when the arguments came as an object and not as text.
    """

    name: str
    arguments: dict[str, Any] | None
    raw_arguments: str | None = None
    id: str | None = None

    @classmethod
    def parse(cls, name: str, arguments: object, id: str | None = None) -> ToolCall:
        """Make a call from what a provider sent: arguments as JSON text, an object, or anything else.

        Text that is not a JSON object, an empty text and nothing at all are the model's mistake:
        they are kept as they came and never become `{}`.
        """
        if isinstance(arguments, dict):
            if is_nested_deeper(arguments, MAX_DEPTH):
                return cls(name, None, f"(an object nested more than {MAX_DEPTH} levels deep)", id)
            if not _is_finite(arguments):
                return cls(name, None, json.dumps(arguments, default=repr), id)
            return cls(name, arguments, None, id)
        if not isinstance(arguments, str):
            return cls(name, None, json.dumps(arguments, default=repr), id)
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
        brackets = arguments.count("{") + arguments.count("[")
        if brackets > MAX_DEPTH and is_nested_deeper(parsed, MAX_DEPTH):
            parsed = None
        sound = isinstance(parsed, dict) and _is_finite(parsed)
        return cls(name, parsed if sound else None, arguments, id)

    @classmethod
    def coerce(cls, call: ToolCall | Mapping[str, Any]) -> ToolCall:
        """Accept a `ToolCall`, `{"name", "arguments"}`, or the chat API's `{"function": {...}}`."""
        if isinstance(call, ToolCall):
            return call
        function = call.get("function")
        source = function if isinstance(function, Mapping) else call
        name = source.get("name")
        return cls.parse(name if isinstance(name, str) else "", source.get("arguments"), call.get("id"))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "arguments": self.arguments,
            "raw_arguments": self.raw_arguments,
            "id": self.id,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        return cls(data["name"], data["arguments"], data.get("raw_arguments"), data.get("id"))


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message exactly as it goes over the wire: `data` is the chat API's object.

    An assistant's message keeps every field the provider sent (thinking blocks, signatures), so
    that it can go back unchanged.
    """

    data: dict[str, Any]

    @property
    def role(self) -> str:
        return str(self.data.get("role", ""))

    @property
    def text(self) -> str:
        """The text of the content, parts joined by newlines; empty when there is none."""
        content = self.data.get("content")
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return ""
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))

    def to_dict(self) -> dict[str, Any]:
        return dict(self.data)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        return cls(dict(data))


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model: the message, the calls in it, and what it took.

    `tool_choice` is what was really sent, which differs from what was asked for after a provider
    refused `required`. Tokens and cost are None when unknown, never 0. `cached` marks an answer
    that came from a cassette; its latency is the recorded one.
    """

    message: Message
    calls: tuple[ToolCall, ...] = ()
    format: CallFormat = "native"
    tool_choice: str | None = None
    finish_reason: str | None = None
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    cached: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "message": self.message.to_dict(),
            "calls": [call.to_dict() for call in self.calls],
            "format": self.format,
            "tool_choice": self.tool_choice,
            "finish_reason": self.finish_reason,
            "latency_s": self.latency_s,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": self.cost_usd,
            "cached": self.cached,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        rest = {k: v for k, v in data.items() if k not in ("message", "calls")}
        calls = tuple(ToolCall.from_dict(call) for call in data["calls"])
        return cls(Message.from_dict(data["message"]), calls, **rest)


@dataclass(frozen=True, slots=True)
class Round:
    """A reply, and what its calls were answered (empty in the last round and in single-turn cases)."""

    reply: Reply
    answers: tuple[Message, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "reply": self.reply.to_dict(),
            "answers": [answer.to_dict() for answer in self.answers],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Round:
        answers = tuple(Message.from_dict(answer) for answer in data["answers"])
        return cls(Reply.from_dict(data["reply"]), answers)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation: the messages that the case supplied, then the rounds with the model."""

    prompt: tuple[Message, ...] = ()
    rounds: tuple[Round, ...] = ()

    @classmethod
    def from_calls(
        cls, calls: Iterable[ToolCall | Mapping[str, Any]] | None, prompt: Sequence[Message] = ()
    ) -> Transcript:
        """A transcript of one reply that made these calls; None and no calls are a reply without any."""
        made = tuple(ToolCall.coerce(call) for call in calls or ())
        message = Message({"role": "assistant", "content": None})
        return cls(tuple(prompt), (Round(Reply(message, made)),))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of every reply, in order: the trajectory."""
        if len(self.rounds) == 1:
            return self.rounds[0].reply.calls
        return tuple(call for round_ in self.rounds for call in round_.reply.calls)

    @property
    def replies(self) -> tuple[Reply, ...]:
        return tuple(round_.reply for round_ in self.rounds)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation as chat messages."""
        messages = list(self.prompt)
        for round_ in self.rounds:
            messages += [round_.reply.message, *round_.answers]
        return tuple(messages)

    @property
    def format(self) -> CallFormat:
        recovered = any(reply.format == "recovered" for reply in self.replies)
        return "recovered" if recovered else "native"

    @property
    def latency_s(self) -> float | None:
        return _sum(reply.latency_s for reply in self.replies)

    @property
    def prompt_tokens(self) -> int | None:
        return cast("int | None", _sum(reply.prompt_tokens for reply in self.replies))

    @property
    def completion_tokens(self) -> int | None:
        return cast("int | None", _sum(reply.completion_tokens for reply in self.replies))

    @property
    def cost_usd(self) -> float | None:
        return _sum(reply.cost_usd for reply in self.replies)

    @property
    def cached(self) -> bool:
        """Whether every answer came from a cassette."""
        return bool(self.rounds) and all(reply.cached for reply in self.replies)

    def to_dict(self) -> dict[str, Any]:
        return {
            "prompt": [message.to_dict() for message in self.prompt],
            "rounds": [round_.to_dict() for round_ in self.rounds],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Transcript:
        return cls(
            tuple(Message.from_dict(message) for message in data["prompt"]),
            tuple(Round.from_dict(round_) for round_ in data["rounds"]),
        )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None when there is nothing to add or any part is unknown."""
    total: float | None = None
    for value in values:
        if value is None:
            return None
        total = value if total is None else total + value
    return total


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison behind a score: what was expected, what came, and why it counted or not.

    `what` names the thing compared (a parameter such as `city`, a tool, a call); `expected` and
    `actual` are short texts (JSON for values); `value` is 0 to 1.
    """

    what: str
    expected: str
    actual: str
    value: float
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "expected": self.expected,
            "actual": self.actual,
            "value": self.value,
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Check:
        return cls(**data)


Explain = Callable[[], tuple[str, Sequence[Check]]]


class Score:
    """A number from 0 to 1 with an explanation; `value` is None when the metric does not apply.

    `explain`, given in place of the texts, is called when somebody first reads `explanation` or
    `checks`: thousands of cases are scored for each one that is looked at.
    """

    __slots__ = ("_checks", "_explain", "_explanation", "value")

    def __init__(
        self,
        value: float | None,
        explanation: str = "",
        checks: Sequence[Check] = (),
        *,
        explain: Explain | None = None,
    ) -> None:
        self.value = value
        self._explanation = explanation
        self._checks = tuple(checks)
        self._explain = explain

    def _build(self) -> None:
        if self._explain is not None:
            self._explanation, checks = self._explain()
            self._checks = tuple(checks)
            self._explain = None

    @property
    def explanation(self) -> str:
        """One line or a few: why the value is what it is."""
        self._build()
        return self._explanation

    @property
    def checks(self) -> tuple[Check, ...]:
        """The single comparisons, in the order of the case."""
        self._build()
        return self._checks

    def to_dict(self, *, explain: bool = True) -> dict[str, Any]:
        """Without `explain` the texts stay empty, and are not built for it."""
        if not explain:
            return {"value": self.value, "explanation": "", "checks": []}
        return {
            "value": self.value,
            "explanation": self.explanation,
            "checks": [check.to_dict() for check in self.checks],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Score:
        checks = [Check.from_dict(check) for check in data["checks"]]
        return cls(data["value"], data["explanation"], checks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Score):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Score({self.value!r}, {self.explanation!r})"


@dataclass(frozen=True, slots=True)
class TrialError:
    """Why a trial has no answer to score. `kind` is an `errors.ErrorKind`."""

    kind: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrialError:
        return cls(data["kind"], data["message"])


def _sent_choice(transcript: Transcript | None) -> str | None:
    """The `tool_choice` of the last question, which differs from the case's after a refusal."""
    return transcript.rounds[-1].reply.tool_choice if transcript and transcript.rounds else None


@dataclass(frozen=True)
class TrialResult:
    """One trial of a case: either scores, or the error that left nothing to score.

    `passed` tells whether every thresholded metric reached its threshold; `failure` is the one
    category a failed trial is counted under; `extra_calls` counts calls beyond the expected ones.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    passed: bool = False
    failure: FailureCategory | None = None
    extra_calls: int = 0
    transcript: Transcript | None = None
    error: TrialError | None = None
    trial: int = 0

    @property
    def values(self) -> dict[str, float | None]:
        """The scores as bare numbers."""
        return {metric: score.value for metric, score in self.scores.items()}

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.transcript.calls if self.transcript else ()

    @property
    def format(self) -> CallFormat | None:
        return self.transcript.format if self.transcript else None

    def to_dict(self, *, explain: bool = True) -> dict[str, Any]:
        transcript = self.transcript
        return {
            "trial": self.trial,
            "passed": self.passed,
            "scores": {m: score.to_dict(explain=explain) for m, score in self.scores.items()},
            "failure": self.failure,
            "extra_calls": self.extra_calls,
            "format": self.format,
            "latency_s": transcript.latency_s if transcript else None,
            "prompt_tokens": transcript.prompt_tokens if transcript else None,
            "completion_tokens": transcript.completion_tokens if transcript else None,
            "cost_usd": transcript.cost_usd if transcript else None,
            "cached": transcript.cached if transcript else False,
            "tool_choice": _sent_choice(transcript),
            "transcript": transcript.to_dict() if transcript else None,
            "error": self.error.to_dict() if self.error else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrialResult:
        transcript, error = data["transcript"], data["error"]
        return cls(
            scores={m: Score.from_dict(score) for m, score in data["scores"].items()},
            passed=data["passed"],
            failure=data["failure"],
            extra_calls=data["extra_calls"],
            transcript=Transcript.from_dict(transcript) if transcript is not None else None,
            error=TrialError.from_dict(error) if error is not None else None,
            trial=data["trial"],
        )


# How the reason of a case begins that was marked xfail, and failed.
EXPECTED_FAILURE = "expected to fail"


def was_expected(row: Mapping[str, Any]) -> bool:
    """Whether a case's row is that of one marked `xfail` on which the model failed."""
    return row["outcome"] == "missed" and str(row["reason"]).startswith(EXPECTED_FAILURE)


@dataclass(frozen=True)
class CaseResult:
    """A case on a model: the outcome of all its trials together.

    `scores` are means over the trials that have an answer; `reason` says in one line why the case
    failed, errored or was skipped; `tool_choice` is what was asked for; `file`, `line` (from 1)
    and `position` in the suite (from 0) tell where the case is written; `content` and
    `suite_content` are fingerprints of the case and of the suite's file, empty when unknown;
    `suite_cases` counts the suite's cases, selected or not; `pass_rule` is how the trials make the
    verdict.
    """

    nodeid: str
    suite: str
    case: str
    model: str
    outcome: Outcome
    scores: dict[str, float | None] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    trials: tuple[TrialResult, ...] = ()
    reason: str = ""
    weight: float = 1.0
    tags: tuple[str, ...] = ()
    tool_choice: str = ""
    file: str = ""
    line: int = 0
    position: int = 0
    content: str = ""
    suite_content: str = ""
    suite_cases: int = 0
    pass_rule: str = "mean"

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def passes(self) -> int:
        """How many trials passed."""
        return sum(trial.passed for trial in self.trials)

    @property
    def scored(self) -> int:
        """How many trials have an answer."""
        return sum(trial.error is None for trial in self.trials)

    def to_dict(self, *, explain: bool = True) -> dict[str, Any]:
        """JSON values only; without `explain` the scores' explanations are left out."""
        return {
            "nodeid": self.nodeid,
            "suite": self.suite,
            "case": self.case,
            "model": self.model,
            "outcome": self.outcome,
            "scores": dict(self.scores),
            "thresholds": dict(self.thresholds),
            "reason": self.reason,
            "weight": self.weight,
            "tags": list(self.tags),
            "tool_choice": self.tool_choice,
            "file": self.file,
            "line": self.line,
            "position": self.position,
            "content": self.content,
            "suite_content": self.suite_content,
            "suite_cases": self.suite_cases,
            "pass_rule": self.pass_rule,
            "passes": self.passes,
            "scored": self.scored,
            "trials": [trial.to_dict(explain=explain) for trial in self.trials],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CaseResult:
        derived = ("trials", "tags", "passes", "scored")
        rest = {k: v for k, v in data.items() if k not in derived}
        trials = tuple(TrialResult.from_dict(trial) for trial in data["trials"])
        return cls(**rest, trials=trials, tags=tuple(data["tags"]))
