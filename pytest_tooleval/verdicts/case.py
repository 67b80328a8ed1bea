"""The verdict on a case: means over its trials, its thresholds, its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from ..record.results import Outcome
from ..record.results import TrialResult
from ..scoring.thresholds import TOLERANCE
from ..scoring.thresholds import missed_thresholds
from ..suite.model import needed_of
from ..text import printable
from ..text import shorten

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


def judge(
    trials: Sequence[TrialResult],
    thresholds: Mapping[str, float],
    rule: str = "mean",
    planned: int | None = None,
) -> Judgement:
    """The outcome of a case, its mean scores, and the reason in one line (empty when it passed).

    By `mean` the mean scores must reach the thresholds, and a trial without an answer makes the case
    an error: its mean would be of other questions than were asked. By `all`, `any` and `K/N` the
    trials that pass are counted; trials without an answer make an error only if the verdict hangs
    on them. `planned` is the number of trials if asking stopped early. Raises ScoringError when no
    thresholded metric applies to right answers.
    """
    scores = mean_scores([trial for trial in trials if trial.error is None])
    errors = [trial.error for trial in trials if trial.error is not None]
    counted = rule != "mean"
    planned = planned or len(trials)
    decided = _counted_verdict(trials, rule, planned) if counted else None
    if errors and decided is None:
        several = f" ({len(errors)} of {len(trials)} trials)" if len(trials) > 1 else ""
        return "error", scores, errors[0].message + several
    failures = dict.fromkeys(text for trial in trials if (text := _failure(trial)))
    categories = f" ({', '.join(failures)})" if failures else ""
    if counted:
        if decided:
            return "passed", scores, ""
        passes = sum(trial.passed for trial in trials)
        needed = needed_passes(rule, planned)
        of = "" if planned == len(trials) else f" of {planned}"
        what = f"{passes} of {len(trials)} trials passed, needs {needed}{of}"
        return "failed", scores, what + categories
    missed = missed_thresholds(scores, thresholds)
    if not missed and not all(trial.no_answer for trial in trials):
        return "passed", scores, ""
    parts = [f"{metric} {_below(score, bound)}" for metric, (score, bound) in missed.items()]
    return "failed", scores, (", ".join(parts) or "no usable answer") + categories


def _failure(trial: TrialResult) -> str:
    """The category of a failed trial in words, with the provider's where there is no answer."""
    if trial.no_answer is not None:
        return shorten(printable(str(trial.no_answer)), 200)
    return (trial.failure or "").replace("_", " ")


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


def fewest_to_decide(
    trials: Sequence[TrialResult], planned: int, thresholds: Mapping[str, float], rule: str
) -> int:
    """How many more trials could decide the verdict at the earliest; 0 when it is decided.

    `trials` are those answered so far, of `planned`.
    """
    left = planned - len(trials)
    if rule != "mean":
        if _counted_verdict(trials, rule, planned) is not None:
            return 0
        passes = sum(trial.passed for trial in trials)
        failures = sum(trial.error is None for trial in trials) - passes
        needed = needed_passes(rule, planned)
        return min(left, needed - passes, planned - needed + 1 - failures)
    if any(trial.error is not None for trial in trials):
        return 0  # an error, whatever the others say
    for more in range(left):
        if _mean_decided(trials, more, left - more, thresholds):
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


def _below(score: float | None, bound: float) -> str:
    """`0.60 < 1.00`, with as many digits as it takes to tell the two apart."""
    if score is None:
        return f"has no score, needs {bound:.2f}"
    for digits in range(2, 10):
        low, high = f"{score:.{digits}f}", f"{bound:.{digits}f}"
        if low != high:
            break
    return f"{low} < {high}"
