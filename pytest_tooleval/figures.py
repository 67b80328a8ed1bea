"""Figures as text: one function for each kind, for every view. `numbers.js` has the same for the page.

Halves go away from zero, as in JavaScript. An unknown figure is `-` or a word, and never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

# Scores are sums of fractions such as 0.6 and 0.4, which binary floats cannot represent exactly.
TOLERANCE = 1e-9
NO_SCORE = "-"
UNKNOWN_USD = "unknown"
_MOST_DIGITS = 9


def fixed_text(value: float, digits: int) -> str:
    """Return the value with this many decimals."""
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded:f}" if rounded else f"{abs(rounded):f}"


def score_text(value: float | None, limits: Iterable[float] = ()) -> str:
    """Return a score or rate: `0.85`, with more digits where two would be wrong; a dash for None.

    Only 1 is `1.00`, only 0 is `0.00`, and no value looks as if it were on the other side of a limit.
    """
    return NO_SCORE if value is None else _apart(value, 2, (0.0, 1.0, *limits))


def _apart(value: float, digits: int, bounds: Iterable[float]) -> str:
    """The value with as many decimals, or with more if it would move to another side of a limit."""
    sides = [(bound, _side(value, bound)) for bound in bounds]
    for more in range(digits, _MOST_DIGITS):
        text = fixed_text(value, more)
        if all(_side(float(text), bound) == side for bound, side in sides):
            return text
    return fixed_text(value, max(digits, _MOST_DIGITS))


def _side(value: float, bound: float) -> int:
    return 0 if abs(value - bound) <= TOLERANCE else 1 if value > bound else -1


def limit_text(limit: float) -> str:
    """Return a threshold as it was given, with at least two decimals."""
    text = format(Decimal(repr(float(limit))), "f")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"


def interval_text(
    value: float | None, low: float | None, high: float | None, limits: Iterable[float] = ()
) -> str:
    """Return `0.85 (0.80 to 0.90)`, or what is known of it."""
    text = score_text(value, limits)
    if low is None or high is None:
        return text
    return f"{text} ({score_text(low)} to {score_text(high)})"


def p_text(value: float) -> str:
    """Return a p value: `0.012`, or `<0.001`."""
    return "<0.001" if value < 0.001 else fixed_text(value, 3)


def points_text(share: float, low: float | None, high: float | None, more: str = "") -> str:
    """Return a difference of shares in points, with its interval: `+5 points (-0.1 to 10.1)`.

    Only no difference is `0 points`. Without limits, there is no interval.
    """
    texts = (_apart(100 * (each or 0.0), 1, (0.0,)) for each in (share, low, high))
    value, begin, end = (text.removesuffix(".0") for text in texts)
    interval = "" if low is None or high is None else f" ({begin} to {end}{more})"
    return f"{'+' if share > 0 else ''}{value} points{interval}"


def usd_text(value: float | None, limits: Iterable[float] = (), *, is_least: bool = False) -> str:
    """Return a price: `$12.50`, `$0.0015`, below a tenth of a cent two digits; `unknown` for None.

    `is_least` is for sums of which a part is unknown.
    """
    if value is None:
        return UNKNOWN_USD
    digits = (
        2 if value >= 1 else 4 if value >= 0.001 or value <= 0 else 1 - math.floor(math.log10(value))
    )
    text = f"${Decimal(_apart(value, digits, limits)):,f}" if value else "$0"
    return f"at least {text}" if is_least else text


def seconds_text(value: float, limits: Iterable[float] = ()) -> str:
    """Return a duration: `820 ms`, `1.20 s`, `45.0 s`, `2 min 5 s`."""
    if float(fixed_text(value * 1000, 0)) < 1000:
        return f"{fixed_text(value * 1000, 0)} ms"
    if value < 120:
        return f"{_apart(value, 2 if value < 10 else 1, limits)} s"
    return f"{count_text(int(value // 60))} min {int(value % 60)} s"


def number_text(value: float, limits: Iterable[float] = ()) -> str:
    """Return a number that is no score: `1,000,001`, `2.5`, with more digits near a limit."""
    return _grouped(_apart(value, 2, limits))


def given_text(value: float) -> str:
    """Return a number as it was given: `0.9`, `1,000,000`."""
    return _grouped(format(Decimal(repr(float(value))), "f"))


def _grouped(text: str) -> str:
    whole, _, decimals = text.partition(".")
    kept = decimals.rstrip("0")
    return f"{int(whole):,}" + (f".{kept}" if kept else "")


def amount_text(name: str, value: float, limits: Iterable[float]) -> str:
    """Return an amount of `AMOUNTS`: `1,000,001`, `$0.0123`, `1.20 s`."""
    if name == "cost_usd":
        return usd_text(value, limits)
    return seconds_text(value, limits) if name == "latency_s" else number_text(value, limits)


def most_text(name: str, most: float) -> str:
    """Return the limit of an amount as it was given: `1,000,000`, `$0.01`, `2 s`."""
    sign, unit = "$" if name == "cost_usd" else "", " s" if name == "latency_s" else ""
    return f"{sign}{given_text(most)}{unit}"


def count_text(value: float) -> str:
    """Return a number of things: `1,234`."""
    return f"{value:,.0f}"
