"""Which thresholds some scores miss."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ScoringError

# Scores are sums of fractions such as 0.6 and 0.4, which binary floats do not hold exactly.
TOLERANCE = 1e-9


def missed_thresholds(
    scores: Mapping[str, float | None], thresholds: Mapping[str, float]
) -> dict[str, tuple[float | None, float]]:
    """Metric to (score, threshold) for each thresholded metric that is too low.

    A metric without a number does not apply to the answer and is passed over. If none of them
    applies, a wrong answer misses them all, and a right one is a ScoringError: a case that nothing
    judges must not pass.
    """
    judged = {metric: scores.get(metric) for metric in thresholds}
    if all(score is None for score in judged.values()):
        overall = scores.get("overall")
        if overall is None or overall >= 1.0 - TOLERANCE:
            raise ScoringError(
                f"none of the metrics with a threshold ({', '.join(thresholds)}) applies to this "
                "answer, so it can neither pass nor fail; add a threshold on overall"
            )
        return {metric: (None, thresholds[metric]) for metric in judged}
    return {
        metric: (score, thresholds[metric])
        for metric, score in judged.items()
        if score is not None and score < thresholds[metric] - TOLERANCE
    }
