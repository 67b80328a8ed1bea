"""Numbers as people read them. What is not known shows as a dash, never as 0."""

from __future__ import annotations

from datetime import datetime

from ...text import printable
from ...text import shorten

UNKNOWN = "–"

# What lies beyond is no count, time or price, and scales would overflow on it. NaN does, too.
_NO_NUMBER = 1e15

_TITLES = {
    "tool_selection": "tool",
    "parameter_accuracy": "params",
    "arguments_valid": "valid args",
    "redundancy_penalty": "redundancy",
    "detour_penalty": "detours",
    "pass": "passing trials",
    "pass_rate": "passing cases",
}


def title(metric: str) -> str:
    """The short name of a metric, as in the terminal's table."""
    return _TITLES.get(metric, metric)


def known(value: object) -> float | None:
    """A number of sensible size, or None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < _NO_NUMBER else None


def score(value: object) -> str:
    """Two decimals; what only rounds up to 1 is not shown as 1, since it may have failed for that."""
    number = known(value)
    if number is None:
        return UNKNOWN
    return "<1.00" if 0.995 <= number < 1 else f"{number:.2f}"


def signed(value: object) -> str:
    number = known(value)
    return UNKNOWN if number is None else f"{number:+.2f}".replace("-", "−")


def probability(value: object) -> str:
    number = known(value)
    if number is None:
        return UNKNOWN
    return "<0.001" if number < 0.001 else f"{number:.3f}"


def count(value: object) -> str:
    number = known(value)
    return UNKNOWN if number is None else f"{number:,.0f}"


def usd(value: object) -> str:
    number = known(value)
    if number is None:
        return UNKNOWN
    return f"${number:.2g}" if 0 < number < 0.001 else f"${number:,.4f}"


def seconds(value: object) -> str:
    number = known(value)
    if number is None:
        return UNKNOWN
    if number < 1:
        return f"{number * 1000:.0f} ms"
    if number < 120:
        return f"{number:.2f} s" if number < 10 else f"{number:.1f} s"
    return f"{number // 60:,.0f} min {number % 60:.0f} s"


def moment(value: object) -> str:
    """An ISO 8601 time as `2026-11-22 10:15 UTC`; anything else as it came."""
    try:
        when = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return shorten(printable(str(value)), 40) if value else UNKNOWN
    return f"{when:%Y-%m-%d %H:%M %Z}".rstrip()
