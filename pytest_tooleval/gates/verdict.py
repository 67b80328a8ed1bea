"""The verdict on a case: means over its trials, its thresholds, its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from ..results import Outcome
from ..results import TrialResult
from ..scoring.thresholds import missed_thresholds


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
    trials: Sequence[TrialResult], thresholds: Mapping[str, float]
) -> tuple[Outcome, dict[str, float | None], str]:
    """The outcome of a case, its mean scores, and the reason in one line (empty when it passed).

    The verdict is by the mean over trials. A trial without an answer makes the case an error:
    its mean would be of other questions than were asked. Raises ScoringError when no thresholded
    metric applies to right answers.
    """
    scores = mean_scores([trial for trial in trials if trial.error is None])
    errors = [trial.error for trial in trials if trial.error is not None]
    if errors:
        several = f" ({len(errors)} of {len(trials)} trials)" if len(trials) > 1 else ""
        return "error", scores, errors[0].message + several
    missed = missed_thresholds(scores, thresholds)
    if not missed:
        return "passed", scores, ""
    parts = [f"{metric} {_below(score, bound)}" for metric, (score, bound) in missed.items()]
    failures = dict.fromkeys(t.failure.replace("_", " ") for t in trials if t.failure)
    reason = ", ".join(parts) + (f" ({', '.join(failures)})" if failures else "")
    return "failed", scores, reason


def _below(score: float | None, bound: float) -> str:
    """`0.60 < 1.00`, with as many digits as it takes to tell the two apart."""
    if score is None:
        return f"has no score, needs {bound:.2f}"
    for digits in range(2, 10):
        low, high = f"{score:.{digits}f}", f"{bound:.{digits}f}"
        if low != high:
            break
    return f"{low} < {high}"
