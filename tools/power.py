"""How often the baseline gate sees a drop: the first table in tests/benchmarks/simulations.md."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from pytest_tooleval.verdicts.paired_metrics import ALPHA
from pytest_tooleval.verdicts.statistics import newly_broken_test, permutation_test

TESTS = 6  # the tests that Holm's correction counts: the pass rate and the usual metrics


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


def power(
    cases: int,
    trials: int,
    drop: float,
    *,
    broken: bool = False,
    tests: int = TESTS,
    alpha: float = ALPHA,
    pairs: int = 1000,
    seed: int = 0,
) -> float:
    """The share (0 to 1) of drops in the pass rate that the baseline gate detects.

    Simulates `pairs` suites with `typical_pass_rates` before and after `after_drop`. A drop is detected
    if the permutation test or the test of newly broken cases stays below alpha after Holm's correction
    for `tests` tests, which include those of other metrics.
    """
    chance = random.Random(seed)
    found = 0
    for _ in range(pairs):
        rates = typical_pass_rates(cases, chance)
        old = _passes(rates, trials, chance)
        new = _passes(after_drop(rates, drop, chance, broken=broken), trials, chance)
        p_broken = newly_broken_test([(trials, c, trials, d) for c, d in zip(old, new, strict=True)])
        p = permutation_test([(c - d) / trials for c, d in zip(old, new, strict=True)])
        found += min(p, 1.0 if p_broken is None else p_broken) * tests < alpha
    return found / pairs


def _passes(rates: Sequence[float], trials: int, chance: random.Random) -> list[int]:
    return [sum(chance.random() < rate for _ in range(trials)) for rate in rates]
