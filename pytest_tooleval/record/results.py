"""The results of trials and cases.

A `CaseRow` is what listings, gates and comparisons need of a case. A `CaseResult` is the whole of it,
with explanations and transcripts: the same JSON is read as either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated
from typing import Literal
from typing import overload

import msgspec
from msgspec import Meta
from msgspec import Struct

from ..errors import ErrorKind
from .calls import ToolCall
from .confusion import Choice
from .endings import NoAnswer
from .endings import NoAnswerCategory
from .transcript import Measures
from .transcript import Transcript

Outcome = Literal["passed", "failed", "error", "skipped"]
# docs/reference/metrics.md says what each means.
FailureCategory = Literal[
    "forbidden_call",
    NoAnswerCategory,
    "wrong_tool",
    "hallucinated_tool",
    "missing_call",
    "surplus_call",
    "unexpected_call",
    "wrong_order",
    "invalid_arguments",
    "missing_parameter",
    "unexpected_parameter",
    "wrong_value",
    "unfinished_chain",
    "inefficient_chain",
    "unfinished_turn",
    "wrong_state",
    "missing_result",
    "wrong_text",
    "over_budget",
    "below_threshold",
]
# How the reason of a case begins that was marked xfail, and failed.
EXPECTED_FAILURE = "expected to fail"
# What stands in a comparison where no tool is expected, or none was called; and where a parameter is not
# there, or should not be.
NO_TOOL = "(no call)"
ABSENT = "(absent)"
# The reason of a check that is about what was expected, though something else came.
NOT_SAID = "was not said"


class Check(Struct, frozen=True, gc=False):
    """One comparison behind a score: what was expected, what came, and why it counted or not."""

    what: Annotated[str, Meta(description="What was compared: a parameter, a tool, a call.")]
    expected: Annotated[str, Meta(description="What was expected, as text; JSON for values.")]
    actual: Annotated[str, Meta(description="What came, likewise.")]
    value: Annotated[float, Meta(description="What it counts, from 0 to 1.")]
    reason: Annotated[str, Meta(description="Why it counts that.")]
    place: Annotated[
        str,
        Meta(description="The call or turn that it belongs to, such as call 2; empty: the answer."),
    ] = ""

    @property
    def name(self) -> str:
        """What was compared, and where; of a tool the place says it all."""
        parts = (self.place, "" if self.place and self.what == "tool" else self.what)
        return ": ".join(filter(None, parts))


class Score(Struct, frozen=True, gc=False):
    """A number from 0 to 1 with an explanation; `value` is None when the metric does not apply.

    Cases that passed have no explanations unless something asks for them.
    """

    value: Annotated[float | None, Meta(description="The score; null where the metric does not apply.")]
    explanation: Annotated[
        str, Meta(description="Why it is what it is; may be empty when the case passed.")
    ] = ""
    checks: Annotated[
        tuple[Check, ...], Meta(description="The comparisons behind it; may be empty likewise.")
    ] = ()


class TrialError(Struct, frozen=True, gc=False):
    """Why a trial has no answer to score."""

    kind: Annotated[ErrorKind, Meta(description="The kind of the error.")]
    message: Annotated[str, Meta(description="What went wrong.")]


class TrialRow(Measures, frozen=True, kw_only=True, gc=False):
    """One trial of a case without its explanations and transcript."""

    trial: Annotated[int, Meta(ge=0, description="The number of the trial, from 0.")] = 0
    passed: Annotated[bool, Meta(description="Whether every metric with a threshold reached it.")] = (
        False
    )
    failure: Annotated[
        FailureCategory | None,
        Meta(description="The one category that a failed trial counts under."),
    ] = None
    calls_made: Annotated[int, Meta(ge=0, description="The calls in all replies of the model.")] = 0
    choices: Annotated[
        tuple[Choice, ...],
        Meta(
            description="Each expected call and each call that was made, once; see reference/metrics.md."
        ),
    ] = ()
    wrong: Annotated[
        str, Meta(description="What was wrong, in one line; empty when the trial passed.")
    ] = ""
    others_cost_usd: Annotated[
        float | None,
        Meta(description="What judge and simulated user cost in US dollars. Null: unknown, or none."),
    ] = None
    error: Annotated[
        TrialError | None, Meta(description="Why there is no answer; null when there is one.")
    ] = None

    @property
    def spent(self) -> dict[str, float | None]:
        """What each of `metrics.BUDGETS` limits; None where it is unknown."""
        tokens = (self.prompt_tokens, self.completion_tokens)
        return {
            "max_calls": self.calls_made,
            "max_tokens_used": None if None in tokens else sum(filter(None, tokens)),
            "max_cost_usd": self.cost_usd,
            "max_latency_s": self.latency_s,
        }


class TrialResult(TrialRow, frozen=True, kw_only=True, gc=False):
    """One trial of a case: either scores, or the error that left nothing to score."""

    scores: Annotated[dict[str, Score], Meta(description="A metric to its score.")] = {}  # noqa: RUF012
    transcript: Annotated[
        Transcript | None, Meta(description="The conversation; null without an answer.")
    ] = None

    @property
    def values(self) -> dict[str, float | None]:
        """The scores as bare numbers."""
        return {metric: score.value for metric, score in self.scores.items()}

    @property
    def checks(self) -> dict[str, list[Check]]:
        """The comparisons behind all scores, each once, by the call or turn that they belong to.

        The turns are in their order; what belongs to none comes last.
        """
        found: dict[str, list[Check]] = {}
        for check in dict.fromkeys(check for score in self.scores.values() for check in score.checks):
            found.setdefault(check.place, []).append(check)
        return dict(sorted(found.items(), key=lambda item: _turn_of(item[0])))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.transcript.calls if self.transcript else ()

    @property
    def no_answer(self) -> NoAnswer | None:
        return self.transcript.no_answer if self.transcript else None


def _turn_of(place: str) -> float:
    """2 for `turn 2: call 1`."""
    turn, _, number = place.partition(":")[0].partition(" ")
    return int(number) if turn == "turn" else math.inf


class CaseRow(Struct, frozen=True, kw_only=True, gc=False):
    """A case on a model: the outcome of all its trials together."""

    nodeid: Annotated[str, Meta(description="pytest's node id.")]
    suite: Annotated[str, Meta(description="The name of the suite.")]
    case: Annotated[str, Meta(description="The id of the case.")]
    model: Annotated[str, Meta(description="The label of the model; empty when none was named.")]
    outcome: Annotated[Outcome, Meta(description="What came of it.")]
    tolerated: Annotated[
        bool,
        Meta(
            description="Whether the failure or error does not fail the run: a gate judges all cases "
            "together, or the case is marked xfail."
        ),
    ] = False
    scores: Annotated[
        dict[str, float | None],
        Meta(description="A metric to its mean over the trials that have an answer; null: none has it."),
    ] = {}
    thresholds: Annotated[
        dict[str, float], Meta(description="A metric to the least score that passes.")
    ] = {}
    budgets: Annotated[
        dict[str, float], Meta(description="What a trial may take at most, by the name of the budget.")
    ] = {}
    reason: Annotated[str, Meta(description="Why it did not pass, in one line; else empty.")] = ""
    weight: Annotated[float, Meta(description="The weight of the case in means.")] = 1.0
    cluster: Annotated[
        str, Meta(description="Cases of a suite that share it ask the same in other words; empty: none.")
    ] = ""
    tags: Annotated[tuple[str, ...], Meta(description="The tags of the case.")] = ()
    tool_choice: Annotated[str, Meta(description="The tool_choice that the case asks for.")] = ""
    file: Annotated[str, Meta(description="The suite's file, relative to pytest's root folder.")] = ""
    line: Annotated[
        int, Meta(ge=0, description="The line of the case in it, from 1; 0 when unknown.")
    ] = 0
    position: Annotated[int, Meta(ge=0, description="The place of the case in the suite, from 0.")] = 0
    content: Annotated[
        str, Meta(description="A fingerprint of what the case asks and expects; empty: unknown.")
    ] = ""
    suite_content: Annotated[
        str, Meta(description="A fingerprint of the suite's file; empty: unknown.")
    ] = ""
    suite_cases: Annotated[int, Meta(ge=0, description="The cases of the suite, selected or not.")] = 0
    pass_rule: Annotated[
        str, Meta(description="How the trials make the verdict: mean, all, any or K/N.")
    ] = "mean"
    asked: Annotated[
        str, Meta(description="What the user says in the prompt, at most 2,000 characters of it.")
    ] = ""
    called: Annotated[
        tuple[str, ...], Meta(description="The tools that were called in some trial, each once.")
    ] = ()
    passes: Annotated[int, Meta(ge=0, description="Trials that passed.")] = 0
    scored: Annotated[int, Meta(ge=0, description="Trials with an answer.")] = 0
    trials: Annotated[tuple[TrialRow, ...], Meta(description="The trials of the case.")] = ()

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def outcome_text(self) -> str:
        """`failed`, or `failed, tolerated`."""
        return f"{self.outcome}, tolerated" if self.tolerated else self.outcome

    @property
    def fails_run(self) -> bool:
        return self.outcome in ("failed", "error") and not self.tolerated

    @property
    def called_forbidden(self) -> bool:
        """Whether a trial made a call that the case forbids."""
        return any(trial.failure == "forbidden_call" for trial in self.trials)

    @property
    def was_expected(self) -> bool:
        """Whether the case is marked `xfail`, and the model failed on it."""
        return self.tolerated and self.reason.startswith(EXPECTED_FAILURE)


class CaseResult(CaseRow, frozen=True, kw_only=True, gc=False):
    """A case on a model, with the scores and transcripts of its trials."""

    offered: Annotated[
        tuple[str, ...], Meta(description="The tools that the model was offered, by name.")
    ] = ()
    trials: Annotated[tuple[TrialResult, ...], Meta(description="The trials of the case.")] = ()

    def row(self) -> CaseRow:
        """The same without explanations and transcripts."""
        fields = {name: getattr(self, name) for name in CaseRow.__struct_fields__}
        return CaseRow(**{**fields, "trials": tuple(map(_trial_row, self.trials))})


def _trial_row(trial: TrialResult) -> TrialRow:
    return TrialRow(**{name: getattr(trial, name) for name in TrialRow.__struct_fields__})


class KeptCase(Struct, frozen=True, gc=False):
    """A case as a run keeps it: its row, and the whole `CaseResult` as JSON.

    Thousands of transcripts as objects would take many times the memory of their text, which is also
    what goes to xdist's controller, into the history and to those who follow the run. Empty where nobody
    will read it any more.
    """

    row: CaseRow
    json: bytes = b""


class KeptCases(Sequence[CaseResult]):
    """The cases in these texts, each read when it is looked at and not held."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> CaseResult: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[CaseResult]: ...

    def __getitem__(self, index: int | slice) -> CaseResult | Sequence[CaseResult]:
        if isinstance(index, slice):
            return KeptCases(self._texts[index])
        return _READ.decode(self._texts[index])


_READ = msgspec.json.Decoder(CaseResult)
