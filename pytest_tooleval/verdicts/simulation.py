"""Simulated runs: how often a comparison with a baseline detects a drop."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .paired import ALPHA
from .statistics import newly_broken_test, permutation_test

# Draws pass rates for a number of cases.
DrawRates = Callable[[int, random.Random], list[float]]

TESTS = 6  # the tests that Holm's correction counts: the pass rate and the usual metrics
ENOUGH = 0.8
SIZES = (25, 50, 100, 200, 400, 800)


def typical_pass_rates(
    cases: int, chance: random.Random, sure: float = 0.55, never: float = 0.15
) -> list[float]:
    """Pass rates of an imaginary suite's cases.

    Models answer most questions the same way each time. A share `sure` of the cases nearly always
    passes (0.97 to 1), a share `never` almost never does (0 to 0.03), and the rest lie anywhere.
    """
    rates = []
    for _ in range(cases):
        kind, place = chance.random(), chance.random()
        low, span = (0.97, 0.03) if kind < sure else (0.0, 0.03) if kind < sure + never else (0.0, 1.0)
        rates.append(low + span * place)
    return rates


def after_drop(
    rates: Sequence[float], drop: float, chance: random.Random, *, broken: bool = False
) -> list[float]:
    """Pass rates whose mean is lower by `drop`, but at least 0.

    All rates fall in proportion. With `broken`, randomly drawn cases never pass instead.
    """
    left = min(drop * len(rates), math.fsum(rates))
    if not broken:
        total = math.fsum(rates)
        return [rate * (1 - left / total) if total else rate for rate in rates]
    after = list(rates)
    for index in chance.sample(range(len(rates)), len(rates)):
        after[index] = max(rates[index] - left, 0.0)
        left -= rates[index] - after[index]
    return after


class Spread(NamedTuple):
    """A mean pass rate, and how much cases differ, from 0 (all have the mean) to 1 (each is 0 or 1)."""

    mean: float
    between: float

    def rates(self, cases: int, chance: random.Random) -> list[float]:
        """Draw pass rates for this many cases from a beta distribution."""
        if self.between == 0 or self.mean in (0, 1):
            return [self.mean] * cases
        if self.between == 1:
            return [float(chance.random() < self.mean) for _ in range(cases)]
        size = 1 / self.between - 1
        return [chance.betavariate(self.mean * size, (1 - self.mean) * size) for _ in range(cases)]


def spreads_of(cases: Iterable[tuple[int, int]]) -> list[Spread]:
    """How much the pass rates of cases, given as (trials, passes), differ: one estimate, or two limits.

    A trial's variance has a part within cases, which repeated trials reveal, and a part between cases.
    Single trials cannot separate the two, so both extremes are possible.
    """
    counts = [(n, c) for n, c in cases if n]
    mean = math.fsum(c / n for n, c in counts) / len(counts)
    repeated = [(n, c) for n, c in counts if n > 1]
    if not repeated:
        return [Spread(mean, 1.0), Spread(mean, 0.0)]
    of_repeated = math.fsum(c / n for n, c in repeated) / len(repeated)
    total = of_repeated * (1 - of_repeated)
    within = math.fsum(c * (n - c) / (n * (n - 1)) for n, c in repeated) / len(repeated)
    return [Spread(mean, min(max(1 - within / total, 0.0), 1.0) if total else 1.0)]


def seen(
    draw: DrawRates,
    cases: int,
    trials: int,
    drop: float,
    *,
    broken: bool = False,
    tests: int = TESTS,
    alpha: float = ALPHA,
    pairs: int = 200,
    seed: int = 0,
) -> float:
    """The share (0 to 1) of drops in the pass rate that the baseline gate detects.

    Simulates `pairs` suites before and after `after_drop`, with `trials` trials per case. A drop is
    detected if the permutation test or the test of newly broken cases stays below alpha after Holm's
    correction for `tests` tests, which include those of other metrics.
    """
    chance = random.Random(seed)
    found = 0
    for _ in range(pairs):
        rates = draw(cases, chance)
        old = _passes(rates, trials, chance)
        new = _passes(after_drop(rates, drop, chance, broken=broken), trials, chance)
        p_broken = newly_broken_test([(trials, c, trials, d) for c, d in zip(old, new, strict=True)])
        p = permutation_test([(c - d) / trials for c, d in zip(old, new, strict=True)])
        found += min(p, 1.0 if p_broken is None else p_broken) * tests < alpha
    return found / pairs


def smallest_drop(draw: DrawRates, cases: int, trials: int, seed: int = 0) -> float | None:
    """The smallest drop, in whole points, that is detected often enough; None if none is."""
    points = range(1, 100)
    at = bisect_left(points, ENOUGH, key=lambda each: seen(draw, cases, trials, each / 100, seed=seed))
    return points[at] / 100 if at < len(points) else None


def enough_cases(draw: DrawRates, trials: int, drop: float, seed: int = 0) -> int | None:
    """The first of `SIZES` that detects the drop often enough with these trials; None if none does."""
    at = bisect_left(SIZES, ENOUGH, key=lambda each: seen(draw, each, trials, drop, seed=seed))
    return SIZES[at] if at < len(SIZES) else None


def _passes(rates: Sequence[float], trials: int, chance: random.Random) -> list[int]:
    return [sum(chance.random() < rate for _ in range(trials)) for rate in rates]
