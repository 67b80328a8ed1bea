"""Turns the answers to a case's trials into its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from ..engine.runner import TrialAnswer
from ..errors import ModelError, ScoringError, ToolevalError
from ..record.results import EXPECTED_FAILURE, CaseResult, CaseRow, Outcome, TrialError, TrialResult
from ..record.transcript import text_of
from ..scoring.registry import Scorer
from ..scoring.trial import Scored, require_evidence, score_trial
from ..suite.case import ResolvedCase
from ..text import shorten
from ..verdicts.case import Standard, decide
from .nodeids import split_nodeid
from .place import CasePlace, Places

_ASKED = 2000  # characters of the prompt that are kept for lists and search
_CRASHED = (
    "the worker process died while it ran this case and requested others ahead; any of "
    "them may be the cause"
)


def score_trials(
    case: ResolvedCase, answers: Sequence[TrialAnswer], scorers: Sequence[Scorer] = ()
) -> list[Scored]:
    """Return each trial's result. Raises ScoringError."""
    return [
        Scored(TrialResult(error=TrialError(answer.kind, answer.message), trial=number))
        if isinstance(answer, ModelError)
        else score_trial(case, answer, scorers=scorers, trial=number)
        for number, answer in enumerate(answers)
    ]


def evaluate(
    place: CasePlace,
    answers: Sequence[TrialAnswer],
    scorers: Sequence[Scorer] = (),
    *,
    explain: bool = True,
) -> CaseResult:
    """Score and judge a case. One that cannot be scored is an error.

    `explain=False` explains only the scores of cases that did not pass.
    """
    case = place.case
    try:
        require_evidence(case, scorers)
        scored = score_trials(case, answers, scorers)
        trials = tuple(each.result for each in scored)
        standard = Standard(case.thresholds, case.limits, case.pass_rule, case.forbids)
        outcome, scores, reason = decide(trials, standard)
        if explain or outcome != "passed":
            trials = tuple(each.explained() for each in scored)
    except ScoringError as error:
        return unscored(place, "error", f"cannot be scored: {error}")
    return _result(place, outcome, reason, scores, trials)


def unscored(place: CasePlace, outcome: Outcome, reason: str = "") -> CaseResult:
    """The result of a case without trials: skipped, or never started."""
    return _result(place, outcome, reason, {}, ())


def planned(places: Iterable[CasePlace]) -> list[CaseRow]:
    """Rows of cases to be asked, as if all trials were answered (`scored`)."""
    return [
        structs.replace(unscored(place, "passed").row(), scored=place.case.trials)
        for place in places
        if not place.case.skip
    ]


def crashed(nodeid: str, places: Places) -> CaseResult:
    """An error as the result of a case whose worker died, with all that gates and `merge` read."""
    file, case, model, variant = split_nodeid(nodeid)
    try:
        result = unscored(places.of(nodeid), "error", _CRASHED)
    except ToolevalError:  # the file has changed since it was collected
        result = CaseResult(
            nodeid=nodeid,
            suite=file,
            case=case,
            model=model,
            outcome="error",
            reason=_CRASHED,
            file=file,
        )
    return structs.replace(result, variant=variant, tolerated=bool(variant))


def as_expected(result: CaseResult, reason: str) -> CaseResult:
    """The result of an `xfail` case that the model failed; `reason` is the mark's."""
    text = f"{EXPECTED_FAILURE}: {reason}" if reason else EXPECTED_FAILURE
    return structs.replace(result, tolerated=True, reason=text)


def _result(
    place: CasePlace,
    outcome: Outcome,
    reason: str,
    scores: dict[str, float | None],
    trials: tuple[TrialResult, ...],
) -> CaseResult:
    case = place.case
    later = (message for turn in case.turns[1:] for message in turn.messages)
    prompts = [text_of(m) for m in (*case.messages, *later) if m.get("role") == "user"]
    if case.user is not None:
        prompts = [case.user.goal]
    called = tuple(dict.fromkeys(call.name for trial in trials for call in trial.calls))
    return CaseResult(
        nodeid=place.nodeid,
        suite=case.suite,
        case=case.id,
        model=place.model,
        variant=case.arm.variant,
        against=case.arm.against,
        is_same=case.arm.is_same,
        is_earlier=case.arm.is_earlier,
        added_called=tuple(name for name in called if name in case.arm.added),
        outcome=outcome,
        scores=scores,
        thresholds=dict(case.thresholds),
        limits=dict(case.limits),
        asked=shorten(" ".join(prompts), _ASKED),
        offered=tuple(tool.name for tool in case.tools),
        called=called,
        passes=sum(trial.passed for trial in trials),
        scored=sum(trial.error is None for trial in trials),
        trials=trials,
        reason=reason,
        forbids=case.forbids,
        weight=case.weight,
        cluster=case.cluster or "",
        tags=tuple(case.tags),
        tool_choice=str(case.tool_choice),
        file=place.file,
        line=case.line,
        position=place.position,
        content=place.content,
        suite_content=place.suite_content,
        suite_cases=place.suite_cases,
        tools_content=place.tools_content,
        pass_rule=case.pass_rule,
    )
