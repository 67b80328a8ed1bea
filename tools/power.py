"""How often the baseline gate sees a drop, by simulation: the table in docs/reference/methods.md."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from pytest_tooleval.verdicts.statistics import newly_broken_test
from pytest_tooleval.verdicts.statistics import permutation_test


def typical_pass_rates(
    cases: int, chance: random.Random, sure: float = 0.55, never: float = 0.15
) -> list[float]:
    """Pass rates of the cases of a made-up suite, for simulations.

    Models answer most questions the same way each time: the share `sure` of the cases passes nearly
    always (0.97 to 1), the share `never` nearly never (0 to 0.03), the others anything between.
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
    """Pass rates whose mean is lower by `drop`, or 0.

    All cases get less sure in proportion; with `broken` some, drawn by chance, never pass any more.
    """
    left = min(drop * len(rates), math.fsum(rates))
    if not broken:
        return [rate * (1 - left / math.fsum(rates)) for rate in rates]
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
    tests: int = 6,
    alpha: float = 0.05,
    pairs: int = 1000,
    seed: int = 0,
) -> float:
    """How often the baseline gate sees a drop (0 to 1) of the pass rate, by simulation.

    Each of `pairs` suites with `typical_pass_rates` is run before and after `after_drop`, with so many
    trials a case. The drop is seen if the permutation test or that of newly broken cases stays
    below alpha after Holm's correction for `tests`, those of other metrics included.
    """
    chance = random.Random(seed)
    seen = 0
    for _ in range(pairs):
        rates = typical_pass_rates(cases, chance)
        old = _passes(rates, trials, chance)
        new = _passes(after_drop(rates, drop, chance, broken=broken), trials, chance)
        p_broken = newly_broken_test([(trials, c, trials, d) for c, d in zip(old, new, strict=True)])
        p = permutation_test([(c - d) / trials for c, d in zip(old, new, strict=True)])
        seen += min(p, 1.0 if p_broken is None else p_broken) * tests < alpha
    return seen / pairs


def _passes(rates: Sequence[float], trials: int, chance: random.Random) -> list[int]:
    return [sum(chance.random() < rate for _ in range(trials)) for rate in rates]
