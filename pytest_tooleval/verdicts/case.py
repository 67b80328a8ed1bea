"""The verdict on a case: means over its trials, its thresholds, its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from ..record.results import Outcome
from ..record.results import TrialResult
from ..scoring.thresholds import TOLERANCE
from ..scoring.thresholds import missed_thresholds
from ..scoring.thresholds import over_budget
from ..suite.model import ResolvedCase
from ..suite.model import needed_of

Judgement = tuple[Outcome, dict[str, float | None], str]


def mean_scores(trials: Sequence[TrialResult]) -> dict[str, float | None]:
    """Per metric the mean over the trials that have a number; None where none has one."""
    values: dict[str, list[float]] = {}
    for trial in trials:
        for metric, value in trial.values.items():
            numbers = values.setdefault(metric, [])
            if value is not None:
                numbers.append(value)
    return {metric: sum(v) / len(v) if v else None for metric, v in values.items()}


def judge(trials: Sequence[TrialResult], case: ResolvedCase) -> Judgement:
    """The outcome of a case, its mean scores, and the reason in one line (empty when it passed).

    A forbidden call in any trial fails the case. By `mean` the mean scores must reach the thresholds,
    and what the trials took on average must keep to the budgets; a trial without an answer makes the
    case an error: its mean would be of other questions than were asked. By `all`, `any` and `K/N` the
    trials that pass are counted; trials without an answer make an error only if the verdict hangs
    on them. Raises ScoringError when no thresholded metric applies to right answers.
    """
    answered = [trial for trial in trials if trial.error is None]
    scores = mean_scores(answered)
    errors = [trial.error for trial in trials if trial.error is not None]
    forbidden = next((trial for trial in answered if trial.failure == "forbidden_call"), None)
    if forbidden is not None:
        return "failed", scores, _of_trial(forbidden, trials)
    # --tooleval-trials=auto asks more than the case says.
    rule, planned = case.pass_rule, max(case.trials, len(trials))
    counted = rule != "mean"
    decided = _counted_verdict(trials, rule, planned) if counted else None
    if errors and decided is None:
        several = f" ({len(errors)} of {len(trials)} trials)" if len(trials) > 1 else ""
        return "error", scores, errors[0].message + several
    failed = [trial for trial in answered if not trial.passed]
    if counted:
        if decided:
            return "passed", scores, ""
        needed = needed_passes(rule, planned)
        of = "" if planned == len(trials) else f" of {planned}"
        what = f"{len(answered) - len(failed)} of {len(trials)} trials passed, needs {needed}{of}"
        return "failed", scores, f"{what}: {failed[0].wrong}" if failed else what
    if missed_thresholds(scores, case.thresholds) or all(trial.no_answer for trial in trials):
        return "failed", scores, _of_trial(failed[0], trials)
    over = over_budget(_mean_spent(answered, case.budgets), case.budgets)
    return ("failed", scores, over) if over else ("passed", scores, "")


def _of_trial(failed: TrialResult, trials: Sequence[TrialResult]) -> str:
    """What was wrong with a trial, and how many of several failed."""
    if len(trials) == 1:
        return failed.wrong
    count = sum(trial.error is None and not trial.passed for trial in trials)
    return f"{failed.wrong} ({count} of {len(trials)} trials failed)"


def _mean_spent(trials: Sequence[TrialResult], budgets: Iterable[str]) -> dict[str, float | None]:
    """What the trials took on average of each budget; None where it is unknown of one of them."""
    means: dict[str, float | None] = {}
    for name in budgets:
        values = [value for trial in trials if (value := trial.spent[name]) is not None]
        means[name] = sum(values) / len(values) if values and len(values) == len(trials) else None
    return means


def needed_passes(rule: str, trials: int) -> int:
    """How many of so many trials must pass by `all`, `any` or `K/N`."""
    counted = needed_of(rule)
    if counted is not None:
        return counted[0]
    return trials if rule == "all" else 1


def _counted_verdict(trials: Sequence[TrialResult], rule: str, planned: int) -> bool | None:
    """Whether enough trials pass, or None while the trials without an answer could change it."""
    needed = needed_passes(rule, planned)
    passes = sum(trial.passed for trial in trials)
    open_ = planned - sum(trial.error is None for trial in trials)
    if passes >= needed:
        return True
    return False if passes + open_ < needed else None


def fewest_to_decide(trials: Sequence[TrialResult], case: ResolvedCase) -> int:
    """How many more trials could decide the verdict at the earliest; 0 when it is decided.

    `trials` are those answered so far.
    """
    planned, rule = case.trials, case.pass_rule
    left = planned - len(trials)
    if any(trial.failure == "forbidden_call" for trial in trials):
        return 0
    if rule != "mean":
        decided = _counted_verdict(trials, rule, planned)
        if decided is not None:
            # A trial that is not asked has not shown that it keeps from forbidden calls.
            return left if decided and case.forbids else 0
        passes = sum(trial.passed for trial in trials)
        failures = sum(trial.error is None for trial in trials) - passes
        needed = needed_passes(rule, planned)
        return min(left, needed - passes, planned - needed + 1 - failures)
    if any(trial.error is not None for trial in trials):
        return 0  # an error, whatever the others say
    if case.budgets or case.forbids:
        return left
    for more in range(left):
        if _mean_decided(trials, more, left - more, case.thresholds):
            return more
    return left


def _mean_decided(
    trials: Sequence[TrialResult], more: int, left: int, thresholds: Mapping[str, float]
) -> bool:
    """Whether `more` trials, all right or all wrong, would leave nothing to the `left` others."""
    if not trials and not more:
        return False
    passes, fails = True, False
    for metric, bound in thresholds.items():
        values = [value for trial in trials if (value := trial.values.get(metric)) is not None]
        if len(values) < len(trials):
            return False  # a metric that applies to some answers only: the others may not count
        count = len(values) + more + left
        least, most = (sum(values) + more) / count, (sum(values) + left) / count
        passes = passes and least >= bound - TOLERANCE
        fails = fails or most < bound - TOLERANCE
    return passes or fails
