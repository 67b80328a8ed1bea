from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.scoring.matchers import RULES
from pytest_tooleval.scoring.matchers import identical
from pytest_tooleval.scoring.matchers import matches
from pytest_tooleval.scoring.problems import CannotCompare

BIG = 2**53

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
NAMES = st.text(max_size=5).filter(lambda name: not name.startswith("$"))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)


def same(expected: Any, actual: Any, mode: str = "exact") -> bool:
    return matches(expected, actual, RULES[mode])


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ("Paris", "pARIS", True),
        ("Straße", "STRASSE", True),
        ("Paris", "Paris ", False),
        ("5", 5, False),
        (5, "5", False),
        (1, 1.0, True),
        (1.0, 1, True),
        (0.1 + 0.2, 0.3, False),
        (BIG + 1, BIG, False),
        (10**400, 10**400, True),
        (10**400, 10**400 + 1, False),
        (10**400, 1e300, False),
        (1.5, 10**400, False),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (False, 0, False),
        (None, None, True),
        (None, "null", False),
        ("", None, False),
        (0, None, False),
        ([1, "a"], [1.0, "A"], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ([], {}, False),
        ({"a": {"b": ["X"]}}, {"a": {"b": ["x"]}}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {"A": 1}, False),
        ({"a": {"$optional": 1}}, {}, True),
        ({"a": {"$optional": 1}}, {"a": 2}, False),
        ({"a": None}, {}, False),
    ],
)
def test_exact(expected: Any, actual: Any, right: bool) -> None:
    assert same(expected, actual) is right


def seed_says(expected: Any, actual: Any) -> bool:
    """The seed's rules, written down once more and as plainly as can be."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return isinstance(expected, bool) and isinstance(actual, bool) and expected == actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return expected == actual
    if isinstance(expected, str) and isinstance(actual, str):
        return expected.casefold() == actual.casefold()
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(seed_says(e, a) for e, a in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return set(expected) == set(actual) and all(seed_says(expected[k], actual[k]) for k in expected)
    return expected is None and actual is None


def _respelled(value: Any) -> Any:
    """The same value by the seed's rules, written otherwise."""
    if isinstance(value, str):
        upper = value.upper()
        return upper if upper.casefold() == value.casefold() else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < BIG:
        return float(value)
    if isinstance(value, list):
        return [_respelled(member) for member in value]
    if isinstance(value, dict):
        return {key: _respelled(member) for key, member in reversed(value.items())}
    return value


@given(VALUES, VALUES)
def test_exact_follows_the_seed_on_any_two_values(expected: Any, actual: Any) -> None:
    assert same(expected, actual) is seed_says(expected, actual)
    assert same(expected, _respelled(expected))


@given(SCALARS, SCALARS)
def test_exact_follows_the_seed_on_scalars(expected: Any, actual: Any) -> None:
    assert same(expected, actual) is seed_says(expected, actual)


@given(VALUES, st.sampled_from(sorted(set(RULES) - {"regex"})))
def test_a_value_matches_itself_under_every_mode(value: Any, mode: str) -> None:
    assert same(value, value, mode)


@given(VALUES)
def test_a_value_is_identical_to_itself(value: Any) -> None:
    assert identical(value, value)
    assert same({"$exact": value}, value)


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "right"),
    [
        ("case_sensitive", "Paris", "Paris", True),
        ("case_sensitive", "Paris", "paris", False),
        ("case_sensitive", ["Paris"], ["paris"], False),
        ("case_sensitive", {"$contains": "Par"}, "paris", False),
        ("contains", "paris", "Paris, France", True),
        ("contains", "Paris, France", "Paris", False),
        ("contains", 5, 55, False),
        ("contains", ["par"], ["Paris"], True),
        ("numeric_tolerance", 0.3, 0.1 + 0.2, True),
        ("numeric_tolerance", 1_000_000, 1_000_001, True),
        ("numeric_tolerance", 1_000_000, 1_000_002, False),
        ("numeric_tolerance", 100, 101, False),
        ("numeric_tolerance", 0, 1e-13, True),
        ("numeric_tolerance", 1, True, False),
        ("numeric_tolerance", "A", "a", True),
        ("numeric_tolerance", 10**400, 10**400 + 1, True),
        ("regex", "^par.s$", "paris", True),
        ("regex", "^par.s$", "Paris", False),
        ("regex", "ari", "Paris", True),
        ("regex", r"\d+", 5, False),
        ("regex", 5, 5.0, True),
        ("fuzzy", "New York City", "new york cty", True),
        ("fuzzy", "Paris", "London", False),
        ("fuzzy", "2024-01-01", "2024-01-02", False),
        ("fuzzy", "a" * 20_000, "a" * 19_999, False),
        ("bfcl", "San Francisco, CA", "san-francisco ca.", True),
        ("bfcl", "it's", 'It"s', True),
        ("bfcl", "a!", "a", False),
        ("bfcl", "a\n", "a", False),
        ("bfcl", 5, 5, True),
        ("bfcl", 5, 5.0, False),
        ("bfcl", 5.0, 5, True),
        ("bfcl", 1.0, True, False),
        ("bfcl", ["New York"], ["newyork"], True),
        ("bfcl", {"$exact": 1.0}, 1, False),
        ("bfcl", {"$contains": "New York"}, "in new-york", True),
    ],
)
def test_modes(mode: str, expected: Any, actual: Any, right: bool) -> None:
    assert same(expected, actual, mode) is right


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ({"$any_of": ["NYC", {"$regex": "^New York"}]}, "New York City", True),
        ({"$any_of": ["NYC", 5]}, "nyc", True),
        ({"$any_of": ["NYC", 5]}, 6, False),
        ({"$any_of": []}, None, False),
        ({"$optional": "a"}, "A", True),
        ({"$exact": "Paris"}, "paris", False),
        ({"$exact": 1}, 1.0, False),
        ({"$exact": {"$any_of": [1]}}, {"$any_of": [1]}, True),
        ({"$exact": {"$any_of": [1]}}, 1, False),
        ({"$exact": [True, None]}, [True, None], True),
        ({"$exact": [True]}, [1], False),
        ({"$regex": r"^\d{4}-\d\d$"}, "2024-01", True),
        ({"$regex": r"^\d{4}-\d\d$"}, "2024-01-05", False),
        ({"$regex": "(?i)PARIS"}, "paris", True),
        ({"$regex": "5"}, 5, False),
        ({"$contains": "PARIS"}, "in Paris now", True),
        ({"$contains": ["paris", "now"]}, "in Paris now", True),
        ({"$contains": ["paris", "never"]}, "in Paris now", False),
        ({"$contains": "a"}, ["b", "A"], True),
        ({"$contains": [1, {"$regex": "^x"}]}, ["xyz", 1], True),
        ({"$contains": [1, 2]}, [1, 3], False),
        ({"$contains": 5}, "5", False),
        ({"$contains": "a"}, {"a": 1}, False),
        ({"$contains": "a"}, None, False),
        ({"$approx": {"value": 3.14, "abs": 0.01}}, 3.13, True),
        ({"$approx": {"value": 3.14, "abs": 0.01}}, 3.1299, False),
        ({"$approx": {"value": 100, "rel": 0.05}}, 95, True),
        ({"$approx": {"value": 100, "rel": 0.05}}, 94.9, False),
        ({"$approx": {"value": -100, "rel": 0.05, "abs": 10}}, -110, True),
        ({"$approx": {"value": 1, "abs": 1}}, True, False),
        ({"$approx": {"value": 1, "abs": 1}}, "1", False),
        ({"$approx": {"value": 1, "abs": 1}}, math.inf, False),
        ({"$approx": {"value": 1, "abs": 1}}, 10**400, False),
        ({"$schema": {"type": "integer", "minimum": 3}}, 3, True),
        ({"$schema": {"type": "integer", "minimum": 3}}, 2, False),
        ({"$schema": {"type": "string", "format": "date"}}, "x", True),
        ([{"to": {"$any_of": ["a", "b"]}}], [{"to": "B"}], True),
        ([{"to": {"$any_of": ["a", "b"]}}], [{"to": "c"}], False),
    ],
)
def test_matchers(expected: Any, actual: Any, right: bool) -> None:
    assert same(expected, actual) is right


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"$anyof": [1]}, "unknown matcher"),
        ({"$any_of": "a"}, "needs a list"),
        ({"$regex": 5}, "needs a string"),
        ({"$regex": "("}, "does not compile"),
        ({"$approx": 5}, "needs numbers"),
        ({"$regex": "(a|a)*$"}, "ran longer than"),
        ({"$schema": {"type": "text"}}, "JSON Schema is not valid"),
    ],
)
def test_what_cannot_be_compared(expected: Any, words: str) -> None:
    with pytest.raises(CannotCompare, match=words.replace("(", r"\(")):
        same(expected, "a" * 40 + "b")
