"""What a case needs to pass: thresholds, limits, and how many of its trials."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ScoringError
from ..figures import TOLERANCE, amount_text, limit_text, most_text, score_text
from .metrics import NEVER_DECISIVE, PENALTIES


def missed_thresholds(
    scores: Mapping[str, float | None], thresholds: Mapping[str, float]
) -> dict[str, tuple[float | None, float]]:
    """Map each metric that misses its threshold to (score, threshold).

    A metric with the score None does not apply to the answer and is ignored. If none applies that can
    prove an answer right, a wrong answer misses all of these. A right one raises ScoringError, as a case
    must not pass unjudged.
    """
    missed: dict[str, tuple[float | None, float]] = {}
    is_judged = False
    for metric, least in thresholds.items():
        score = scores.get(metric)
        if score is not None:
            is_judged = is_judged or metric not in NEVER_DECISIVE
            if misses(metric, score, least):
                missed[metric] = score, least
    if missed or is_judged:
        return missed
    deciding = [metric for metric in thresholds if metric not in NEVER_DECISIVE]
    overall = scores.get("overall")
    if overall is None or overall >= 1.0 - TOLERANCE:
        raise ScoringError(
            f"none of the metrics with a threshold ({', '.join(deciding)}) applies to this "
            "answer, so it can neither pass nor fail; add a threshold on overall"
        )
    return {metric: (None, thresholds[metric]) for metric in deciding}


def misses(metric: str, score: float, threshold: float) -> bool:
    """True if a score is below its threshold; of a penalty, above."""
    if metric in PENALTIES:
        return score > threshold + TOLERANCE
    return score < threshold - TOLERANCE


def over_limit(spent: Mapping[str, float | None], limits: Mapping[str, float]) -> str | None:
    """Return the first exceeded limit in words; None if there is none.

    Raises ScoringError if the amount spent is unknown.
    """
    for name, most in limits.items():
        value = spent[name]
        if value is None:
            raise ScoringError(f"{name}: {_UNKNOWN[name]}, so this limit cannot be checked")
        if value > most * (1 + TOLERANCE):
            amount = name.removeprefix("max_")
            shown, allowed = amount_text(amount, value, [most]), most_text(amount, most)
            return f"{name}: {shown}, at most {allowed} allowed"
    return None


_UNKNOWN = {
    "max_tokens": "the answer does not report its tokens",
    "max_cost_usd": "the price of the answer is unknown (set input_price and output_price of the model)",
    "max_latency_s": "the latency of the answer is unknown",
}


def missed_text(metric: str, score: float | None, threshold: float) -> str:
    """Return `overall 0.60 < 1.00`, with enough digits to tell the two apart."""
    if score is None:
        return f"{metric} has no score, {needs_text(metric, threshold)}"
    sign = ">" if metric in PENALTIES else "<"
    return f"{metric} {score_text(score, [threshold])} {sign} {limit_text(threshold)}"


def needs_text(metric: str, threshold: float) -> str:
    """Return `needs 1.00`; for a penalty, `at most 0.00`."""
    return f"{'at most' if metric in PENALTIES else 'needs'} {limit_text(threshold)}"


def needed_of(rule: str) -> tuple[int, int] | None:
    """Return (K, N) for a rule `K/N`, else None."""
    needed, slash, total = rule.partition("/")
    return (int(needed), int(total)) if slash else None
