"""Simulated runs, for what a gate would see."""

from __future__ import annotations

import random

import pytest

from pytest_tooleval.verdicts.simulation import Spread, enough_cases, seen, smallest_drop, spreads_of

SPREADS = [
    ([(1, 1), (1, 0)], [Spread(0.5, 1.0), Spread(0.5, 0.0)]),
    ([(3, 3), (3, 0)], [Spread(0.5, 1.0)]),
    ([(2, 1)] * 4, [Spread(0.5, 0.0)]),
    ([(3, 3), (1, 1), (0, 0)], [Spread(1.0, 1.0)]),
]


@pytest.mark.parametrize(("cases", "spreads"), SPREADS)
def test_repeated_trials_tell_how_much_rates_differ(
    cases: list[tuple[int, int]], spreads: list[Spread]
) -> None:
    assert spreads_of(cases) == spreads


def test_a_spread_is_found_again() -> None:
    chance = random.Random(5)
    rates = Spread(0.8, 0.6).rates(4000, chance)
    [found] = spreads_of((5, sum(chance.random() < rate for _ in range(5))) for rate in rates)
    assert found == pytest.approx((0.8, 0.6), abs=0.03)


def test_what_a_gate_sees() -> None:
    draw = Spread(0.8, 0.6).rates
    assert seen(draw, 50, 3, 0.0) <= 0.05
    drop = smallest_drop(draw, 50, 3)
    assert drop is not None
    assert seen(draw, 50, 3, drop) >= 0.8 > seen(draw, 50, 3, drop - 0.01)
    assert smallest_drop(draw, 3, 1) is None
    assert enough_cases(draw, 3, 0.15) == 50
    assert enough_cases(draw, 1, 0.001) is None
