"""Which cases a shard has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.plugin.shards import split


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 1000), max_size=30), st.integers(1, 8))
def test_each_case_goes_to_one_shard_and_none_is_left_far_behind(
    seconds: dict[str, float], of: int
) -> None:
    parts = split(seconds, of)
    assert parts.keys() == seconds.keys()
    assert set(parts.values()) <= set(range(1, of + 1))
    loads = [sum(each for case, each in seconds.items() if parts[case] == n + 1) for n in range(of)]
    assert max(loads) - min(loads) <= max(seconds.values(), default=0.0) + 0.04
    assert split(dict(reversed(list(seconds.items()))), of) == parts


def test_equal_cases_are_dealt_out_by_their_names() -> None:
    assert split({"b": 1.0, "a": 1.0, "d": 1.0, "c": 1.0}, 2) == {"a": 1, "b": 2, "c": 1, "d": 2}


def test_the_longest_come_first() -> None:
    assert split({"a": 1.0, "b": 1.0, "c": 1.0, "long": 3.0}, 2) == {"long": 1, "a": 2, "b": 2, "c": 2}
