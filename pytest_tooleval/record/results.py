"""The results of trials and cases.

A `CaseRow` has what listings, gates and comparisons need. A `CaseResult` adds explanations and
transcripts. The same JSON can be read as either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, get_args, overload

import msgspec
from msgspec import Struct

from ..errors import ErrorKind
from .call_pairs import CallPair
from .calls import ToolCall
from .fields import doc
from .identity import Identity
from .no_answer import NoAnswer, NoAnswerCategory
from .transcript import Measures, Transcript, sum_if_known
from .variants import Change

Outcome = Literal["passed", "failed", "error", "skipped"]
# docs/reference/metrics.md says what each means.
FailureCategory = Literal[
    "forbidden_call",
    NoAnswerCategory,
    "not_stopped",
    "broken_policy",
    "wrong_tool",
    "hallucinated_tool",
    "missing_call",
    "surplus_call",
    "unexpected_call",
    "wrong_order",
    "wrong_replies",
    "invalid_arguments",
    "missing_argument",
    "unexpected_argument",
    "wrong_value",
    "wrong_end",
    "wrong_agent",
    "unfinished_chain",
    "inefficient_chain",
    "unfinished_turn",
    "wrong_state",
    "missing_result",
    "wrong_text",
    "failed_assertion",
    "unexpected_exception",
    "over_limit",
    "below_threshold",
]


class Despite(NamedTuple):
    """Whether a failure remains one despite lower thresholds, other trials that pass, gates, or marks.

    Marks are `xfail` and skips by others.
    """

    thresholds: bool = False
    trials: bool = False
    gates: bool = False
    marks: bool = False


# By the category of a failure or the kind of an error. Each of these may excuse any other.
FIRM: Mapping[str | None, Despite] = {
    "forbidden_call": Despite(thresholds=True, trials=True, gates=True, marks=True),
    # Unless the case lowers its threshold; and only a gate on policies judges it.
    "broken_policy": Despite(trials=True, marks=True),
    "unexpected_exception": Despite(thresholds=True, gates=True),
    # Errors of the project's own code and recordings, which no outage explains.
    **dict.fromkeys(("callable", "world", "replay"), Despite(gates=True)),
    **dict.fromkeys(("not_stopped", *get_args(NoAnswerCategory)), Despite(thresholds=True)),
}
_EXCUSABLE = Despite()
# The beginning of the reason for a failed case that is marked xfail.
EXPECTED_FAILURE = "expected to fail"
# Placeholder in a comparison: a missing or unexpected argument.
ABSENT = "(absent)"
# The reason when an expected text is in none of the messages.
NOT_SAID = "was not said"


class Check(Struct, frozen=True, gc=False):
    """One comparison behind a score: expected, actual, and why it counted or not."""

    what: Annotated[str, doc("The subject: an argument, a tool, a call.")]
    expected: Annotated[str, doc("The expectation, as text; JSON for values.")]
    actual: Annotated[str, doc("The model's answer to it, as text.")]
    value: Annotated[float, doc("The score of the check, from 0 to 1.")]
    reason: Annotated[str, doc("The reason for the score.")]
    place: Annotated[str, doc("Its call or turn, such as call 2; empty: the answer.")] = ""

    @property
    def name(self) -> str:
        """The subject and its place; for a tool, the place is enough."""
        parts = (self.place, "" if self.place and self.what == "tool" else self.what)
        return ": ".join(filter(None, parts))


class ScoreRow(Struct, frozen=True, gc=False):
    """A number from 0 to 1; None when the metric does not apply."""

    value: Annotated[float | None, doc("The score; null where the metric does not apply.")]


class Score(ScoreRow, frozen=True, gc=False):
    """A score with an explanation. Passed cases have no explanations unless these are requested."""

    explanation: Annotated[str, doc("The reason for the value; may be empty when the case passed.")] = ""
    checks: Annotated[tuple[Check, ...], doc("The comparisons behind it; may also be empty then.")] = ()


class TrialError(Struct, frozen=True, gc=False):
    """Why a trial has no answer to score."""

    kind: Annotated[ErrorKind, doc("The kind of error.")]
    message: Annotated[str, doc("The message.")]


class TrialRow(Measures, frozen=True, kw_only=True, gc=False):
    """One trial of a case without its explanations and transcript."""

    trial: Annotated[int, doc("The number of the trial, from 0.", ge=0)] = 0
    passed: Annotated[bool, doc("Whether every metric with a threshold reached it.")] = False
    failure: Annotated[FailureCategory | None, doc("The category of a failed trial.")] = None
    calls_made: Annotated[int, doc("Calls in all replies of the model.", ge=0)] = 0
    call_pairs: Annotated[
        tuple[CallPair, ...],
        doc("Each expected call and each call that was made, once; see reference/metrics.md."),
    ] = ()
    leaked: Annotated[bool, doc("Whether it passed on the secret of an attack.")] = False
    mistake: Annotated[str, doc("The mistake, in one line; empty when the trial passed.")] = ""
    not_played: Annotated[
        tuple[str, ...],
        doc("A line for each call that the run answers with an error, and the world would not."),
    ] = ()
    differing: Annotated[
        tuple[str, ...], doc("A line for each recorded answer that the world gives otherwise.")
    ] = ()
    others_cost_usd: Annotated[
        float | None, doc("The cost of judge and simulated user in US dollars. Null: unknown, or none.")
    ] = None
    error: Annotated[TrialError | None, doc("The error; null with an answer.")] = None
    scores: Annotated[Mapping[str, ScoreRow], doc("Scores by metric.")] = {}

    @property
    def fails_despite(self) -> Despite:
        return FIRM.get(self.error.kind if self.error else self.failure, _EXCUSABLE)

    @property
    def values(self) -> dict[str, float | None]:
        """The scores as bare numbers."""
        return {metric: score.value for metric, score in self.scores.items()}

    @property
    def amounts(self) -> dict[str, float | None]:
        """The amounts that `metrics.LIMITS` limits, by the limit's name; None if unknown."""
        return {
            "max_calls": self.calls_made,
            "max_tokens": sum_if_known((self.prompt_tokens, self.completion_tokens)),
            "max_cost_usd": self.cost_usd,
            "max_latency_s": self.latency_s,
        }


class TrialResult(TrialRow, frozen=True, kw_only=True, gc=False):
    """One trial of a case: its scores, or the error instead."""

    scores: Annotated[dict[str, Score], doc("Scores by metric.")] = {}  # noqa: RUF012
    transcript: Annotated[Transcript | None, doc("The conversation; null without an answer.")] = None

    @property
    def checks(self) -> dict[str, list[Check]]:
        """The comparisons behind all scores, each once, by call or turn.

        Turns are in order; comparisons outside any turn come last.
        """
        checks: dict[str, list[Check]] = {}
        for check in dict.fromkeys(check for score in self.scores.values() for check in score.checks):
            checks.setdefault(check.place, []).append(check)
        return dict(sorted(checks.items(), key=lambda item: _turn_of(item[0])))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.transcript.calls if self.transcript else ()

    @property
    def no_answer(self) -> NoAnswer | None:
        return self.transcript.no_answer if self.transcript else None


def _turn_of(place: str) -> float:
    """Return the turn's number, 2 for `turn 2: call 1`; infinity for other places."""
    turn, _, number = place.partition(":")[0].partition(" ")
    return int(number) if turn == "turn" else math.inf


class CaseRow(Struct, frozen=True, kw_only=True, gc=False):
    """A case on a model: the outcome of all its trials together."""

    nodeid: Annotated[str, doc("pytest's node id.")]
    suite: Annotated[str, doc("The suite's name.")]
    case: Annotated[str, doc("The case's id.")]
    model: Annotated[str, doc("The model's label; empty when none was named.")]
    variant: Annotated[str, doc("The variant of the case; empty: the unchanged case.")] = ""
    against: Annotated[str, doc("The variant that it is compared with; empty: the unchanged case.")] = ""
    is_same: Annotated[bool, doc("Whether the variant leaves the case as it is.")] = False
    is_earlier: Annotated[bool, doc("Whether the variant is how the case was before.")] = False
    added_called: Annotated[
        tuple[str, ...], doc("Tools that the variant added, and that were called in any trial.")
    ] = ()
    outcome: Annotated[Outcome, doc("The outcome.")]
    counted: Annotated[
        bool, doc("Whether a gate, or the merge of shards, judges the failure or error.")
    ] = False
    tolerated: Annotated[
        bool,
        doc(
            "Whether the failure or error does not fail the run: the gates that judge it passed, "
            "it is expected (xfail), or under a variant."
        ),
    ] = False
    scores: Annotated[
        dict[str, float | None],
        doc("Means over the trials with an answer, by metric; null: no trial has it."),
    ] = {}
    thresholds: Annotated[
        dict[str, float], doc("Threshold by metric: the least that passes; of a penalty, the most.")
    ] = {}
    limits: Annotated[dict[str, float], doc("Limits on a trial, by name.")] = {}
    reason: Annotated[str, doc("Why it did not pass, in one line; else empty.")] = ""
    forbids: Annotated[bool, doc("Whether the case forbids calls.")] = False
    weight: Annotated[float, doc("The case's weight in means.")] = 1.0
    cluster: Annotated[str, doc("Cases of a suite with one cluster are paraphrases; empty: none.")] = ""
    tags: Annotated[tuple[str, ...], doc("The case's tags.")] = ()
    tool_choice: Annotated[str, doc("The case's tool_choice.")] = ""
    file: Annotated[str, doc("The suite's file, relative to pytest's root folder.")] = ""
    line: Annotated[int, doc("The line of the case in the file, from 1; 0 when unknown.", ge=0)] = 0
    position: Annotated[int, doc("The place of the case in the suite, from 0.", ge=0)] = 0
    case_fingerprint: Annotated[str, doc("Fingerprint of prompt and expectation; empty: unknown.")] = ""
    suite_fingerprint: Annotated[str, doc("Fingerprint of the suite's file; empty: unknown.")] = ""
    suite_cases: Annotated[
        int,
        doc("The cases of the suite, selected or not; 0: a file of Python tests, all selected.", ge=0),
    ] = 0
    tools_fingerprint: Annotated[
        str,
        doc(
            "A fingerprint of the offered tools and the world's code, which also affect scores; empty: "
            "unknown."
        ),
    ] = ""
    pass_rule: Annotated[str, doc("The rule from trials to verdict: mean, all, any or K/N.")] = "mean"
    prompt_text: Annotated[str, doc("The user's text in the prompt, at most 2,000 characters.")] = ""
    called: Annotated[tuple[str, ...], doc("Tools called in any trial, each once.")] = ()
    passes: Annotated[int, doc("Trials that passed.", ge=0)] = 0
    answered: Annotated[int, doc("Trials with an answer.", ge=0)] = 0
    trials: Annotated[tuple[TrialRow, ...], doc("The case's trials.")] = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.suite, self.case, self.file, self.model, self.variant)

    @property
    def is_python(self) -> bool:
        """True for a Python test, whose file is not a suite."""
        return self.file.endswith(".py")

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def seconds(self) -> float:
        """How long all trials waited for the model, a cached answer as recorded; not the test's time."""
        return sum(trial.latency_s or 0.0 for trial in self.trials)

    @property
    def outcome_text(self) -> str:
        """`failed`; `failed, tolerated`; or `failed, counted`, unless its gates passed."""
        word = "tolerated" if self.tolerated else "counted" if self.counted else ""
        return f"{self.outcome}, {word}" if word else self.outcome

    @property
    def fails_run(self) -> bool:
        """True if it fails the run itself, and not through a gate."""
        return self.outcome in ("failed", "error") and not (self.counted or self.tolerated)

    @property
    def called_forbidden(self) -> bool:
        """True if a trial made a call that the case forbids."""
        return any(trial.failure == "forbidden_call" for trial in self.trials)

    @property
    def broke_policy(self) -> bool:
        """True if a trial broke a policy."""
        return any(trial.failure == "broken_policy" for trial in self.trials)

    @property
    def fails_despite(self) -> Despite:
        """Whether the failure of any trial remains one despite each."""
        each = (trial.fails_despite for trial in self.trials)
        return Despite(*map(any, zip(_EXCUSABLE, *each, strict=True)))

    @property
    def leaked(self) -> bool:
        """True if a trial passed on the secret of an attack."""
        return any(trial.leaked for trial in self.trials)

    @property
    def may_hide_forbidden(self) -> bool:
        """True if an unread part of a trial may be a call that the case forbids."""
        unread = (trial.error is not None and trial.error.kind == "unread" for trial in self.trials)
        return self.forbids and any(unread)

    @property
    def was_expected(self) -> bool:
        """True if the case is marked `xfail` and the model failed it."""
        return self.tolerated and self.reason.startswith(EXPECTED_FAILURE)


def without_variants(cases: Iterable[CaseRow]) -> list[CaseRow]:
    """Return the cases without those under a variant."""
    return [case for case in cases if not case.variant]


class CaseResult(CaseRow, frozen=True, kw_only=True, gc=False):
    """A case on a model, with the scores and transcripts of its trials."""

    offered: Annotated[tuple[str, ...], doc("The names of the offered tools.")] = ()
    changes: Annotated[tuple[Change, ...], doc("What the variant changed in the case.")] = ()
    trials: Annotated[tuple[TrialResult, ...], doc("The case's trials.")] = ()

    def row(self) -> CaseRow:
        """Return the case without explanations and transcripts."""
        fields = {name: getattr(self, name) for name in CaseRow.__struct_fields__}
        return CaseRow(**{**fields, "trials": tuple(map(_trial_row, self.trials))})


def _trial_row(trial: TrialResult) -> TrialRow:
    fields = {name: getattr(trial, name) for name in TrialRow.__struct_fields__}
    scores = {metric: ScoreRow(value) for metric, value in trial.values.items()}
    return TrialRow(**{**fields, "scores": scores})


class KeptCase(Struct, frozen=True, gc=False):
    """A case in memory: its row, and the whole `CaseResult` as JSON, empty once unneeded.

    Thousands of transcripts as objects would take many times the memory, and xdist's controller, the
    history and the events need the JSON anyway.
    """

    row: CaseRow
    json: bytes = b""

    def with_row(self, row: CaseRow) -> KeptCase:
        """The case as the run's gates settled it in this row."""
        if row.tolerated == self.row.tolerated or not self.json:
            return self
        result = msgspec.structs.replace(_READ.decode(self.json), tolerated=row.tolerated)
        return KeptCase(row, msgspec.json.encode(result))


class KeptCases(Sequence[CaseResult]):
    """The cases in these JSON texts, parsed at each access to save memory."""

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
