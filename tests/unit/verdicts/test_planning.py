"""How many more trials and cases a verdict takes."""

from __future__ import annotations

import operator
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.verdicts.planning import (
    more_trials,
    reach,
    trials_to_compare,
)
from pytest_tooleval.verdicts.statistics import mean_interval


def test_more_trials_take_the_noise_of_trials_alone() -> None:
    chance = random.Random(3)
    rates = [chance.uniform(0.85, 1) for _ in range(300)]

    def forecast(trials: int) -> tuple[float, float, int | None]:
        values = [sum(chance.random() < rate for _ in range(trials)) / trials for rate in rates]
        low, high = mean_interval(values)
        places = range(len(values))
        return low, high, more_trials(values, [1.0] * 300, places, [trials] * 300, 0.915, 0.95)

    low, high, more = forecast(3)
    assert low < 0.915 < high
    assert more is not None
    assert forecast(3 + 2 * more)[0] >= 0.915


@pytest.mark.parametrize(
    ("cases", "error", "more"),
    [(20, 0.0663, (61, 10)), (40, 0.0469, (1, 5)), (100, 0.0297, (1, 2))],
)
def test_so_many_trials_show_a_fifth_less_in_two_of_five_cases(
    cases: int, error: float, more: tuple[int, int]
) -> None:
    passes = [(5, 4, 5, 3), (5, 4, 5, 3), (5, 4, 5, 4), (5, 4, 5, 4), (5, 4, 5, 4)] * (cases // 5)
    found = trials_to_compare(
        passes, range(cases), (0.08, error, 0.2 / cases), limits=(0.0, 0.0), alpha=0.05, tests=1
    )
    assert found == more


WEIGHTED = st.tuples(st.integers(0, 4), st.sampled_from([1.0, 1.0, 2.0, 5.0]))


@given(
    st.lists(WEIGHTED, min_size=1, max_size=30),
    st.sampled_from([0.3, 0.6, 0.85, 0.95]),
    st.sampled_from([0.6, 0.95]),
    st.booleans(),
)
def test_what_is_said_to_decide_does_whatever_the_trials(
    cases: list[tuple[int, float]], needed: float, confidence: float, binary: bool
) -> None:
    values = [float(passes == 4) if binary else passes / 4 for passes, _ in cases]
    weights = [weight for _, weight in cases]
    found = reach(weights, needed, confidence, binary=binary)
    low, high = mean_interval(values, weights, confidence)
    mean = sum(map(operator.mul, values, weights)) / sum(weights)
    if found.fails is not None and mean < found.fails - 1e-9:
        assert high < needed
    if found.passes is not None and mean > found.passes + 1e-9:
        assert low >= needed
