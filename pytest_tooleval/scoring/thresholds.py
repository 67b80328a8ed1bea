"""Which thresholds some scores miss, and which budgets were not kept."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ScoringError
from ..suite.model import BESIDE

# Scores are sums of fractions such as 0.6 and 0.4, which binary floats do not hold exactly.
TOLERANCE = 1e-9


def missed_thresholds(
    scores: Mapping[str, float | None], thresholds: Mapping[str, float]
) -> dict[str, tuple[float | None, float]]:
    """Metric to (score, threshold) for each thresholded metric that is too low.

    A metric without a number does not apply to the answer and is passed over. If none applies that
    says whether the answer is right, a wrong answer misses them all, and a right one is a ScoringError:
    a case that nothing judges must not pass.
    """
    judged = {metric: scores.get(metric) for metric in thresholds}
    missed: dict[str, tuple[float | None, float]] = {
        metric: (score, thresholds[metric])
        for metric, score in judged.items()
        if score is not None and score < thresholds[metric] - TOLERANCE
    }
    deciding = [metric for metric in thresholds if metric not in BESIDE]
    if missed or any(judged[metric] is not None for metric in deciding):
        return missed
    overall = scores.get("overall")
    if overall is None or overall >= 1.0 - TOLERANCE:
        raise ScoringError(
            f"none of the metrics with a threshold ({', '.join(deciding)}) applies to this "
            "answer, so it can neither pass nor fail; add a threshold on overall"
        )
    return {metric: (None, thresholds[metric]) for metric in deciding}


def over_budget(spent: Mapping[str, float | None], budgets: Mapping[str, float]) -> str | None:
    """The first budget that was not kept, in words; None when all were.

    Raises ScoringError when what was spent is unknown: nobody could say that it was kept.
    """
    for name, most in budgets.items():
        value = spent[name]
        if value is None:
            raise ScoringError(f"{name}: {_UNKNOWN[name]}, so this budget cannot be judged")
        if value > most * (1 + TOLERANCE):
            return f"{name}: {value:g}, at most {most:g} allowed"
    return None


_UNKNOWN = {
    "max_tokens_used": "the answer does not say how many tokens it took",
    "max_cost_usd": "the price of the answer is unknown (set input_price and output_price of the model)",
    "max_latency_s": "how long the answer took is unknown",
}


def below(score: float | None, bound: float) -> str:
    """`0.60 < 1.00`, with as many digits as it takes to tell the two apart."""
    if score is None:
        return f"has no score, needs {bound:.2f}"
    for digits in range(2, 10):
        low, high = f"{score:.{digits}f}", f"{bound:.{digits}f}"
        if low != high:
            break
    return f"{low} < {high}"
