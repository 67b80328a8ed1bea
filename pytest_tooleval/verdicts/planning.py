"""What gates can decide with the planned cases, and how many more trials or cases would decide one.

The latter assumes that means stay the same. More trials reduce the part of the spread that comes from
trials, not the part that comes from differences between cases (Miller 2024, section 3: Var = Var(case
means) + E(variance within a case) / trials).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..figures import TOLERANCE, given_text
from ..record.results import CaseRow
from ..text import plural
from .rules import MODEL, PASS_RATE, Rule, groups_of
from .statistics import (
    clusters_of,
    dealt_variance,
    effective_cases,
    is_newly_broken,
    largest_drop,
    mean_interval,
    newly_broken_test,
    summed,
    wilson,
)

MOST = 10_000


class Reach(NamedTuple):
    """A mean under `fails` fails a gate, and one over `passes` passes it; None if no mean does."""

    fails: float | None
    passes: float | None


def reach(weights: Sequence[float], needed: float, confidence: float, *, binary: bool) -> Reach:
    """Return the means, over cases with these weights, whose interval excludes `needed`.

    This is valid for any scores: none with the same mean have a wider interval than scores of 0 and 1,
    on which all trials of a case agree. `binary` scores are only these. A cluster is one case with its
    total weight. With unequal weights, it matters which cases are wrong: the widest intervals come from
    the heaviest or the lightest first. Between the two means, only equally weighted `binary` scores
    without clusters are certainly inconclusive.
    """
    orders = sorted(weights), sorted(weights, reverse=True)
    # The means of equally weighted binary cases come in steps of one case.
    step = 1 if binary and min(weights) == max(weights) else 0
    ends = [_reach(order, needed, confidence, step) for order in orders]
    fails, passes = [end.fails for end in ends], [end.passes for end in ends]
    return Reach(
        None if None in fails else min(share for share in fails if share is not None),
        None if None in passes else max(share for share in passes if share is not None),
    )


def _reach(weights: Sequence[float], needed: float, confidence: float, step: int) -> Reach:
    """Like `reach`, if cases go wrong in this order."""
    n, total = len(weights), math.fsum(weights)

    def interval(wrong: int) -> tuple[float, float]:
        return mean_interval([0.0] * wrong + [1.0] * (n - wrong), weights, confidence)

    def mean(wrong: int) -> float:
        return math.fsum(weights[wrong:]) / total

    undecided = bisect_left(range(n + 1), True, key=lambda k: interval(k)[0] < needed - TOLERANCE)
    failing = bisect_left(range(n + 1), True, key=lambda k: interval(k)[1] < needed - TOLERANCE)
    return Reach(
        mean(failing - step) if failing <= n else None, mean(undecided - 1 + step) if undecided else None
    )


def least_cases(needed: float, confidence: float) -> int | None:
    """The fewest cases that can pass a gate if all are right; None if more than `MOST`."""
    return _least(lambda number: wilson(number, number, confidence)[0] >= needed - TOLERANCE)


def more_trials(
    values: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[int],
    trials: Sequence[int],
    needed: float,
    confidence: float,
) -> int | None:
    """How many more trials of each case would move the interval off `needed`; None if none would.

    The part of the spread that comes from trials is s (1 - s) / (k - 1) for a case with mean s over k
    trials, the most that scores from 0 to 1 can have. Single trials do not distinguish the two parts:
    all their spread counts as noise, and the number is a minimum.
    """
    total = math.fsum(weights)
    mean = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    rests = summed([w * (value - mean) for value, w in zip(values, weights, strict=True)], clusters)
    spread = math.fsum(rest * rest for rest in rests)
    if not spread:
        return None  # no spread: only more cases narrow the interval
    within = [
        (w * w * value * (1 - value) * k / (k - 1) if k > 1 else w * w * (value - mean) ** 2, k)
        for value, w, k in zip(values, weights, trials, strict=True)
    ]
    noise = min(math.fsum(part / k for part, k in within), spread)

    def decides(more: int) -> bool:
        left = math.fsum(part / (k + more) for part, k in within)
        scale = math.sqrt(max(spread - noise + left, 0.0) / spread)
        low, high = mean_interval(
            [mean + scale * (value - mean) for value in values], weights, confidence, clusters
        )
        return low >= needed or high < needed

    return _least(decides)


def more_cases(
    values: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[int],
    needed: float,
    confidence: float,
) -> int | None:
    """How many more cases like these would move the interval off `needed`; None if none would.

    Assumes that the effective number of cases grows with the number of cases.
    """
    mean, effective = effective_cases(values, weights, clusters)

    def decides(more: int) -> bool:
        grown = effective * (1 + more / len(values))
        low, high = wilson(mean * grown, grown, confidence)
        return low >= needed or high < needed

    return _least(decides)


def trials_to_compare(
    cases: Sequence[tuple[int, int, int, int]],
    clusters: Sequence[int],
    metric: tuple[float, float, float],
    *,
    limits: tuple[float, float],
    alpha: float,
    tests: int,
) -> tuple[int | None, int | None]:
    """How many more new trials of each case would decide a comparison, and how many in both runs.

    The second is None unless it takes fewer new trials. `cases` are old trials, old passes, new trials
    and new passes; `metric` is the drop, its standard error and its step; `limits` are the allowed drop
    and the margin. Each case's pass rates are taken to stay the same; only the noise in the standard
    error shrinks. The comparison is decided if a drop above the margin is ruled out, if the drop is
    above the allowed one and significant by the normal approximation of the sign test, or by the test
    of newly broken cases.
    """
    drop, error, step = metric
    allowed, margin = limits
    differ = sum(c * m != d * n for n, c, m, d in cases)
    noise = _noise(cases)
    before = [math.fsum(1 / n + 1 / m for n, _, m, _ in cases), math.fsum(1 / m for _, _, m, _ in cases)]

    def decided(old: int | None, new: Callable[[int], int]) -> bool:
        """True if these numbers of trials decide it; with `old` None, the old trials stay."""
        counts = [(old or n, (old or n) * c // n, new(m), -(-new(m) * d // m)) for n, c, m, d in cases]
        less = math.fsum(1 / n + 1 / m for n, _, m, _ in counts) / before[0]
        smaller = step * math.fsum(1 / m for _, _, m, _ in counts) / before[1]
        left = error * math.sqrt(1 - noise + noise * less)
        if largest_drop(drop, left, smaller, alpha) <= margin:
            return True
        signs = max(math.erfc(drop / left / math.sqrt(2)) / 2, 0.5**differ) if drop > allowed else 1.0
        broken = newly_broken_test(counts, clusters)
        return min(signs, 1.0 if broken is None else broken) * tests < alpha

    more = _least(lambda number: decided(None, lambda m: m + number))
    in_both = _least(lambda number: decided(number, lambda m: number))
    fewest = min(m for _, _, m, _ in cases)
    is_less = in_both is not None and (more is None or in_both < fewest + more)
    return more, in_both if is_less else None


def _noise(cases: Sequence[tuple[int, int, int, int]]) -> float:
    """The share of the squared differences that comes from dealing trials to the runs at random.

    A newly broken case is assumed to stay broken.
    """
    squares = [(c / n - d / m) ** 2 for n, c, m, d in cases]
    dealt = [
        0.0 if is_newly_broken((n, c, m, d)) else min(square, dealt_variance(c / n, n, d / m, m))
        for square, (n, c, m, d) in zip(squares, cases, strict=True)
    ]
    return math.fsum(dealt) / math.fsum(squares) if any(squares) else 0.0


def _least(decides: Callable[[int], bool]) -> int | None:
    """The smallest number that decides, as must all larger ones; None if it is above `MOST`."""
    high = 1
    while not decides(high):
        if high > MOST:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def reach_lines(cases: Sequence[CaseRow], gates: Sequence[Rule], confidence: float) -> Iterator[str]:
    """Yield a line for each gate over planned cases, whose `scored` is their number of trials.

    Models with the same cases share a line. The lines assume that every case is answered and has the
    metric, and the worst for a case's trials: that they all agree, so they count no more than one.
    """
    for gate in gates:
        texts_of: dict[str, dict[str, list[str]]] = {}
        for (model, name, _), group in groups_of(gate, cases).items() if gate.needed else ():
            where = "" if gate.scope is MODEL else f" of {gate.scope.name} {name}"
            texts = texts_of.setdefault(f"gate {gate.metric}{where} {given_text(gate.needed)}", {})
            texts.setdefault(_reach_text(gate, group, confidence), []).append(model)
        for title, texts in texts_of.items():
            for text, models in texts.items():
                yield f"{title}, {text}" + (f" ({', '.join(models)})" if len(texts) > 1 else "")


def _reach_text(gate: Rule, cases: Sequence[CaseRow], confidence: float) -> str:
    clusters = clusters_of(cases)
    weights = [each for each in summed([case.weight for case in cases], clusters) if each]
    trials = sorted({case.answered for case in cases})
    each = f"{trials[0]} to {trials[-1]} trials" if len(trials) > 1 else plural(trials[0], "trial")
    passes_only = gate.metric == PASS_RATE
    # Otherwise, the same mean may be decided or not: it depends on which cases it is made of.
    alike = passes_only and len(weights) == len(cases) and min(weights) == max(weights)
    bounds = reach(weights, gate.needed, confidence, binary=alike)
    # Rounded to the safe side, but by less than one of many cases.
    digits = max(2, len(str(len(cases))))
    parts = []
    if bounds.fails is not None:
        parts.append(f"under {math.floor(10**digits * bounds.fails) / 10**digits:.{digits}f} fails")
    if bounds.passes is not None:
        parts.append(f"over {math.ceil(10**digits * bounds.passes) / 10**digits:.{digits}f} passes")
    if passes_only and not alike:
        rest = ("the verdict", "anything else", "in between, the verdict")[len(parts)]
        parts.append(f"{rest} depends on which cases fail")
    else:
        rest = ("anything", "anything else", "in between")[len(parts)]
        parts.append(f"{rest} {'is' if alike else 'may be'} inconclusive")
    least = least_cases(gate.needed, confidence) if alike and bounds.passes is None else None
    takes = "" if least is None else f"; passing takes {plural(least, 'case')}"
    return f"{plural(len(cases), 'case')}, {each}, all answered: {', '.join(parts)}{takes}"
