"""The verdict on a case, fresh, recorded or pooled: its mean scores, thresholds and outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

from msgspec import structs

from ..record.metrics import POLICIES
from ..record.no_answer import NoAnswerCategory
from ..record.results import FIRM, CaseRow, FailureCategory, Outcome, TrialRow
from ..record.thresholds import missed_text, missed_thresholds, needed_of, over_limit

if TYPE_CHECKING:
    from ..suite.case import ResolvedCase

Decision = tuple[Outcome, dict[str, float | None], str]
# Failures of a whole case, if all of its trials have one, regardless of its mean scores.
_WITHOUT_SCORES = ("unexpected_exception", *get_args(NoAnswerCategory))


class Standard(NamedTuple):
    """What a case needs to pass."""

    thresholds: Mapping[str, float]
    limits: Mapping[str, float]
    pass_rule: str = "mean"
    forbids: bool = False

    @classmethod
    def of(cls, case: CaseRow | ResolvedCase) -> Standard:
        """The standard by which a case was or will be judged."""
        return cls(case.thresholds, case.limits, case.pass_rule, case.forbids)


def mean_scores(trials: Sequence[TrialRow]) -> dict[str, float | None]:
    """Each metric's mean over the trials that have a value; None if none has."""
    if len(trials) == 1:
        return trials[0].values
    values: dict[str, list[float]] = {}
    for trial in trials:
        for metric, value in trial.values.items():
            numbers = values.setdefault(metric, [])
            if value is not None:
                numbers.append(value)
    return {metric: sum(v) / len(v) if v else None for metric, v in values.items()}


def decide(trials: Sequence[TrialRow], by: Standard) -> Decision:
    """The outcome of a case, its mean scores, and the reason in one line (empty if it passed).

    A forbidden call or a broken policy in any trial fails the case. A broken world in any trial makes
    it an error, and where calls are forbidden, so does an unread part. With `mean`, mean scores must
    reach the thresholds and mean costs must stay within the limits; a trial without an answer makes the
    case an error. With `all`, `any` and `K/N`, passing trials are counted; trials without an answer make
    it an error only if they could change the verdict. Raises ScoringError if no threshold applies.
    """
    answered = [trial for trial in trials if trial.error is None]
    scores = mean_scores(answered)
    errors = [trial.error for trial in trials if trial.error is not None]
    firm = [trial for trial in answered if trial.fails_despite.trials]
    if by.thresholds.get(POLICIES, 0) < 1:
        firm = [trial for trial in firm if trial.failure != "broken_policy"]
    if firm:
        worst = min(firm, key=lambda trial: [*FIRM].index(trial.failure))
        return "failed", scores, _of_trial(worst, trials)
    # What no other trial makes up for: a broken world, and what may be a forbidden call.
    firm_kinds = ("world", "unread") if by.forbids else ("world",)
    if error := next((error for error in errors if error.kind in firm_kinds), None):
        return "error", scores, error.message
    counts_passes = by.pass_rule != "mean"
    # A recorded case may have fewer trials than today's rule requires.
    _, planned = needed_of(by.pass_rule) or (0, 0)
    planned = max(planned, len(trials))
    decided = _verdict_by_passes(trials, by.pass_rule, planned) if counts_passes else None
    if errors and decided is None:
        several = f" ({len(errors)} of {len(trials)} trials)" if len(trials) > 1 else ""
        return "error", scores, errors[0].message + several
    failed = [trial for trial in answered if not trial.passed]
    # First what no gate tolerates.
    failed.sort(key=lambda trial: trial.failure != "unexpected_exception")
    if counts_passes:
        if decided:
            return "passed", scores, ""
        needed = needed_passes(by.pass_rule, planned)
        of = "" if planned == len(trials) else f" of {planned}"
        what = f"{len(answered) - len(failed)} of {len(trials)} trials passed, needs {needed}{of}"
        return "failed", scores, f"{what}: {failed[0].mistake}" if failed else what
    has_no_score = all(trial.failure in _WITHOUT_SCORES for trial in trials)
    if has_no_score or missed_thresholds(scores, by.thresholds):
        return "failed", scores, _of_trial(failed[0], trials)
    over = over_limit(_mean_spent(answered, by.limits), by.limits)
    return ("failed", scores, over) if over else ("passed", scores, "")


def decide_again(row: CaseRow, by: Standard) -> CaseRow:
    """A recorded case judged by this standard. Raises ScoringError if it cannot be.

    Forbidden calls and unusable answers remain failures.
    """
    trials = tuple(_trial_again(trial, by) for trial in row.trials)
    outcome, scores, reason = decide(trials, by)
    passes = sum(trial.passed for trial in trials)
    return structs.replace(
        row, outcome=outcome, scores=scores, reason=reason, passes=passes, trials=trials
    )


def _trial_again(trial: TrialRow, by: Standard) -> TrialRow:
    if trial.error is not None or trial.fails_despite.thresholds:
        return trial
    missed = missed_thresholds(trial.values, by.thresholds)
    wrong = ", ".join(missed_text(metric, *pair) for metric, pair in missed.items())
    failure: FailureCategory | None = "below_threshold" if wrong else None
    if POLICIES in missed:
        failure = "broken_policy"
    if failure is None and (over := over_limit(trial.amounts, by.limits)):
        failure, wrong = "over_limit", over
    return structs.replace(trial, passed=failure is None, failure=failure, mistake=wrong)


def _of_trial(failed: TrialRow, trials: Sequence[TrialRow]) -> str:
    """The reason that a trial failed, and how many trials did."""
    if len(trials) == 1:
        return failed.mistake
    count = sum(trial.error is None and not trial.passed for trial in trials)
    return f"{failed.mistake} ({count} of {len(trials)} trials failed)"


def _mean_spent(trials: Sequence[TrialRow], limits: Iterable[str]) -> dict[str, float | None]:
    """The mean amount for each limit; None if any trial's amount is unknown."""
    means: dict[str, float | None] = {}
    for name in limits:
        values = [value for trial in trials if (value := trial.amounts[name]) is not None]
        means[name] = sum(values) / len(values) if values and len(values) == len(trials) else None
    return means


def needed_passes(rule: str, trials: int) -> int:
    """The number of trials that must pass with `all`, `any` or `K/N`."""
    k_of_n = needed_of(rule)
    if k_of_n is not None:
        return k_of_n[0]
    return trials if rule == "all" else 1


def _verdict_by_passes(trials: Sequence[TrialRow], rule: str, planned: int) -> bool | None:
    """True if enough trials pass; None while unanswered trials could change that."""
    needed = needed_passes(rule, planned)
    passes = sum(trial.passed for trial in trials)
    open_ = planned - sum(trial.error is None for trial in trials)
    if passes >= needed:
        return True
    return False if passes + open_ < needed else None


_Case = TypeVar("_Case", bound=CaseRow)


def pool(runs: Sequence[Sequence[_Case]]) -> list[_Case]:
    """Pool the cases of runs, given newest first. Only cases with the same content are pooled.

    Each answer counts once. Cached answers are copies, from these runs or others, so they count only if
    no run has a fresh one, and then only those of one run. Trials without an answer are kept only if no
    run has an answer: they say nothing about the commit.
    """
    pooled: dict[str, list[_Case]] = {}
    for cases in runs:
        for case in cases:
            same = pooled.setdefault(case.nodeid, [])
            if not same or same[0].case_fingerprint == case.case_fingerprint:
                same.append(case)
    return [_joined(cases) for cases in pooled.values()]


def _joined(cases: Sequence[_Case]) -> _Case:
    if len(cases) == 1:
        return cases[0]
    trials = [trial for case in cases for trial in case.trials]
    answers = [[trial for trial in case.trials if trial.error is None] for case in cases]
    fresh = [trial for each in answers for trial in each if not trial.cached]
    trials = fresh or next(filter(None, answers), trials)
    numbered = tuple(structs.replace(trial, trial=number) for number, trial in enumerate(trials))
    case = next((case for case in cases if case.trials), cases[0])
    answered = sum(trial.error is None for trial in trials)
    joined = structs.replace(case, trials=numbered, answered=answered)
    return decide_again(joined, Standard.of(case)) if answered else joined  # type: ignore[return-value]
