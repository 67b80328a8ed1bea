"""What gates can decide with the planned cases."""

from __future__ import annotations

import operator

from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.verdicts.planning import (
    reach,
)
from pytest_tooleval.verdicts.statistics import mean_interval

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
