"""From scores to verdicts: thresholds, means over trials, the outcome of a case."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from .errors import ScoringError
from .results import Outcome
from .results import TrialResult

# Scores are sums of fractions such as 0.6 and 0.4, which binary floats do not hold exactly.
TOLERANCE = 1e-9


def mean_scores(trials: Sequence[TrialResult]) -> dict[str, float | None]:
    """Per metric the mean over the trials that have a number; None where none has one."""
    values: dict[str, list[float]] = {}
    for trial in trials:
        for metric, value in trial.values.items():
            numbers = values.setdefault(metric, [])
            if value is not None:
                numbers.append(value)
    return {metric: sum(v) / len(v) if v else None for metric, v in values.items()}


def missed_thresholds(
    scores: Mapping[str, float | None], thresholds: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Metric to (score, threshold) for each thresholded metric that is too low.

    A metric without a number does not apply to the case and is passed over; that none of them
    applies is a ScoringError, because such a case could never fail.
    """
    missed, judged = {}, False
    for metric, threshold in thresholds.items():
        score = scores.get(metric)
        if score is None:
            continue
        judged = True
        if score < threshold - TOLERANCE:
            missed[metric] = (score, threshold)
    if not judged:
        names = ", ".join(thresholds)
        raise ScoringError(
            f"the case has thresholds on {names} only, and none of these has a score here; "
            "give it a threshold on overall"
        )
    return missed


def judge(
    trials: Sequence[TrialResult], thresholds: Mapping[str, float]
) -> tuple[Outcome, dict[str, float | None], str]:
    """The outcome of a case, its mean scores, and the reason in one line (empty when it passed).

    The verdict is by the mean over trials. A trial without an answer makes the case an error:
    its mean would be of other questions than were asked.
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


def _below(score: float, bound: float) -> str:
    """`0.60 < 1.00`, with as many digits as it takes to tell the two apart."""
    for digits in range(2, 10):
        low, high = f"{score:.{digits}f}", f"{bound:.{digits}f}"
        if low != high:
            break
    return f"{low} < {high}"
