"""How many more trials and cases a verdict takes."""

from __future__ import annotations

import operator
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_tooleval.verdicts.planning import (
    least_cases,
    more_cases,
    more_trials,
    reach,
    trials_to_compare,
)
from pytest_tooleval.verdicts.statistics import mean_interval


def test_perfect_cases_need_so_many_more() -> None:
    # Wilson's lower bound of n of n is n / (n + 1.96²): 0.9 from 35 on.
    assert more_cases([1.0] * 3, [1.0] * 3, [0, 1, 2], 0.9, 0.95) == 32
    assert more_trials([1.0] * 3, [1.0] * 3, [0, 1, 2], [5] * 3, 0.9, 0.95) is None


@given(
    st.lists(st.integers(0, 10), min_size=4, max_size=40),
    st.sampled_from([0.5, 0.7, 0.9]),
)
def test_as_many_cases_again_decide_where_no_more_are_needed(passes: list[int], needed: float) -> None:
    values = [each / 10 for each in passes]
    ones, places = [1.0] * len(values), range(len(values))
    assume(sum(values) / len(values) != needed)
    more = more_cases(values, ones, places, needed, 0.95)
    assume(more is not None and more < 20 * len(values))
    assert more is not None
    copies = -(-more // len(values)) + 1
    # The third of a case that is added to each side counts less among more of them.
    low, high = mean_interval(values * (copies + 1), confidence=0.95)
    assert low >= needed or high < needed


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


@pytest.mark.parametrize("trials", [2, 10])
def test_where_cases_differ_and_not_trials_none_would_decide(trials: int) -> None:
    values = [1.0] * 15 + [0.0] * 5
    assert more_trials(values, [1.0] * 20, range(20), [trials] * 20, 0.8, 0.95) is None
    assert more_cases(values, [1.0] * 20, range(20), 0.8, 0.95) is not None


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


@pytest.mark.parametrize(
    ("cases", "fails", "passes"),
    [(3, 2 / 3, None), (13, 9 / 13, None), (22, 16 / 22, 21 / 22), (200, 0.805, 0.895)],
)
def test_what_so_many_cases_decide(cases: int, fails: float, passes: float | None) -> None:
    """13 cases: 8 right ones fail 0.85, 9 leave it open, and not even 13 pass it."""
    found = reach([1.0] * cases, 0.85, 0.95, binary=True)
    assert found.fails == pytest.approx(fails)
    assert found.passes == (passes if passes is None else pytest.approx(passes))
    assert least_cases(0.85, 0.95) == 22


def test_no_number_of_cases_shows_that_all_pass() -> None:
    assert reach([1.0] * 500, 1.0, 0.95).passes is None
    assert least_cases(1.0, 0.95) is None


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
