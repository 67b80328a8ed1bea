"""How many more trials and cases a verdict takes."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.verdicts.planning import more_cases
from pytest_tooleval.verdicts.planning import more_trials
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

    def asked(trials: int) -> tuple[float, float, int | None]:
        values = [sum(chance.random() < rate for _ in range(trials)) / trials for rate in rates]
        low, high = mean_interval(values)
        places = range(len(values))
        return low, high, more_trials(values, [1.0] * 300, places, [trials] * 300, 0.915, 0.95)

    low, high, more = asked(3)
    assert low < 0.915 < high
    assert more is not None
    assert asked(3 + 2 * more)[0] >= 0.915


@pytest.mark.parametrize("trials", [2, 10])
def test_where_cases_differ_and_not_trials_none_would_decide(trials: int) -> None:
    values = [1.0] * 15 + [0.0] * 5
    assert more_trials(values, [1.0] * 20, range(20), [trials] * 20, 0.8, 0.95) is None
    assert more_cases(values, [1.0] * 20, range(20), 0.8, 0.95) is not None
