from __future__ import annotations

import itertools
import operator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import CannotCompare
from pytest_tooleval.matchers.compare import compare_with_reason, identical, matches
from pytest_tooleval.matchers.modes import MODES, ParamScoring

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


def same(expected: Any, actual: Any, mode: ParamScoring = "exact") -> bool:
    return matches(expected, actual, MODES[mode])


@pytest.mark.parametrize("mode", ["exact", "case_sensitive"])
def test_a_text_is_the_same_however_its_characters_are_composed(mode: ParamScoring) -> None:
    composed, decomposed = "Caf\u00e9 \u00c5", "Cafe\u0301 \u212b"
    assert same(composed, decomposed, mode)
    assert same({"$contains": "f\u00e9"}, decomposed, mode)
    assert not same({"$exact": composed}, decomposed, mode)
    assert not same(composed, "Cafe A", mode)
    for one, other in ((composed, decomposed), (decomposed, composed)):
        assert same({"x": {one: 1, "y": {"$optional": 1}}}, {"x": {other: 1}}, mode)
        assert not same({one: 1}, {one: 1, other: 1}, mode)
        assert not same({one: 1}, {other.upper(): 1}, mode)
        assert not same({"$exact": {one: 1}}, {other: 1}, mode)
        assert same({"$len": 6}, other, mode)


@pytest.mark.parametrize(
    ("expected", "actual", "right", "why"),
    [
        ("Paris", "pARIS", True, "equal, ignoring case"),
        ("Straße", "STRASSE", True, "equal, ignoring case"),
        ("Caf\u00e9", "Cafe\u0301", True, "equal, in different code points"),
        ("Paris", "Paris ", False, "white space differs"),
        ("5", 5, False, "is the number 5, not a string"),
        (5, "5", False, 'is the string "5", not a number'),
        (1, 1.0, True, "equal"),
        (1.0, 1, True, "equal"),
        (0.1 + 0.2, 0.3, False, "different value"),
        (BIG + 1, BIG, False, "different value"),
        (10**400, 10**400, True, "equal"),
        (10**400, 10**400 + 1, False, "different value"),
        (10**400, 1e300, False, "different value"),
        (1.5, 10**400, False, "different value"),
        (1, True, False, "is true, not a number"),
        (True, 1, False, "is the number 1, not a boolean"),
        (True, True, True, "equal"),
        (True, False, False, "different value"),
        (False, 0, False, "is the number 0, not a boolean"),
        (None, None, True, "equal"),
        (None, "null", False, 'is the string "null", not null'),
        ("", None, False, "is null, not a string"),
        (0, None, False, "is null, not a number"),
        ([1, "a"], [1.0, "A"], True, "equal"),
        ([1, 2], [2, 1], False, "the same members in a different order, which $unordered would allow"),
        ([1], [1, 2], False, "has 2 members, not 1"),
        ([1, "a"], [1, "b"], False, "at [1]: different text"),
        ([], {}, False, "is an object, not a list"),
        ({"a": {"b": ["X"]}}, {"a": {"b": ["x"]}}, True, "equal"),
        ({"a": 1}, {"a": 1, "b": 2}, False, 'the key "b" is not expected'),
        ({"a": 1}, {"a": 3, "b": 2}, False, 'at "a": different value'),
        ({"a": 1, "b": 2}, {"a": 1}, False, 'the key "b" is missing'),
        ({"a": 1}, {"A": 1}, False, 'the key "a" is missing'),
        ({"\xe9": 1, "b": 2}, {"e\u0301": 1, "b": 3}, False, 'at "b": different value'),
        ({"a": {"$optional": 1}}, {}, True, "equal"),
        ({"a": {"$optional": 1}}, {"a": 2}, False, 'at "a": different value'),
        ({"a": {"$optional": {"$not": 1}}}, {}, True, "equal"),
        ({"a": {"$not": 1}}, {}, False, 'the key "a" is missing'),
        ({"a": {"$absent": True}}, {}, True, "equal"),
        ({"a": {"$absent": True}}, {"a": None}, False, 'at "a": must be absent'),
        ({"a": None}, {}, False, 'the key "a" is missing'),
        ([{"to": {"$any_of": ["a", "b"]}}], [{"to": "B"}], True, "equal"),
        ([{"to": {"$any_of": ["a", "b"]}}], [{"to": "c"}], False, 'at [0]: at "to": none of these'),
    ],
)
def test_exact(expected: Any, actual: Any, right: bool, why: str) -> None:
    assert compare_with_reason(expected, actual, MODES["exact"]) == (right, why)


def seed_says(expected: Any, actual: Any) -> bool:
    """The rules of exact values, written down once more and as plainly as can be."""
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
    """The same value by the same rules, written otherwise."""
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


@given(VALUES, st.sampled_from(sorted(MODES)))
def test_a_value_matches_itself_under_every_mode(value: Any, mode: ParamScoring) -> None:
    assert same(value, value, mode)


@given(VALUES)
def test_a_value_is_identical_to_itself(value: Any) -> None:
    assert identical(value, value)
    assert same({"$exact": value}, value)


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "right", "why"),
    [
        ("case_sensitive", "Paris", "Paris", True, "equal"),
        ("case_sensitive", "Paris", "paris", False, "case differs"),
        ("case_sensitive", ["Paris"], ["paris"], False, "at [0]: case differs"),
        ("case_sensitive", {"$contains": "Par"}, "paris", False, "does not contain it"),
        ("bfcl", "San Francisco, CA", "san-francisco ca.", True, "equal as BFCL compares strings"),
        ("bfcl", "it's", 'It"s', True, "equal as BFCL compares strings"),
        ("bfcl", "a!", "a", False, "different text"),
        ("bfcl", "a\n", "a", False, "white space differs"),
        ("bfcl", 5, 5, True, "equal"),
        ("bfcl", 5, 5.0, False, "is a number with a decimal point, not an integer"),
        ("bfcl", 5.0, 5, True, "equal"),
        ("bfcl", 1.0, True, False, "is true, not a number"),
        ("bfcl", ["New York"], ["newyork"], True, "equal"),
        ("bfcl", {"$exact": 1.0}, 1, False, "not of the same type and value"),
        ("bfcl", {"$contains": "-"}, "New York", False, "does not contain it"),
        ("bfcl", {"$contains": {"$any_of": [" / ", "-"]}}, "new-york", True, "matches $contains"),
        ("bfcl", {"$contains": "New York"}, "in new-york", True, "matches $contains"),
    ],
)
def test_modes(mode: ParamScoring, expected: Any, actual: Any, right: bool, why: str) -> None:
    assert compare_with_reason(expected, actual, MODES[mode]) == (right, why)


BOUND = st.sampled_from(
    [("$gte", operator.ge), ("$lte", operator.le), ("$gt", operator.gt), ("$lt", operator.lt)]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(BOUND, NUMBERS), min_size=1, max_size=4), NUMBERS)
def test_all_of_bounds_compares_as_python_does(bounds: list[Any], actual: Any) -> None:
    expected = {"$all_of": [{key: limit} for (key, _), limit in bounds]}

    assert same(expected, actual) is all(holds(actual, limit) for (_, holds), limit in bounds)


@given(VALUES, VALUES, st.sampled_from(sorted(MODES)))
def test_not_is_the_complement(expected: Any, actual: Any, mode: ParamScoring) -> None:
    for value in (expected, actual):
        assert same({"$not": value}, actual, mode) is not same(value, actual, mode)


SMALL = st.lists(st.integers(0, 3), max_size=5)


@given(SMALL, SMALL, st.randoms(use_true_random=False))
def test_unordered_is_any_permutation(limits: list[int], actual: list[int], random: Random) -> None:
    expected = [random.choice([limit, {"$gte": limit}, {"$lt": limit}]) for limit in limits]

    assert same({"$unordered": expected}, actual) is any(
        same(list(order), actual) for order in itertools.permutations(expected)
    )


def test_unordered_takes_its_time_on_a_list_made_to_be_hard() -> None:
    """Each search for a pair has to move all the others."""
    expected = [{"$gte": limit} for limit in range(200)]

    assert same({"$unordered": expected}, list(range(199, -1, -1)))
    assert not same({"$unordered": expected}, [198, *range(198, -1, -1)])


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"$anyof": [1]}, "unknown matcher"),
        ({"$any_of": ["a"], "x": 1}, "a single key"),
        ({"$regex": "("}, "does not compile"),
        ({"$regex": "(a|a)*$"}, "ran longer than"),
        ({"$schema": {"type": "text"}}, "JSON Schema is not valid"),
        ({"$gte": "5"}, "expected a finite number"),
        ({"$not": {"$len": -1}}, "expected a whole number"),
    ],
)
def test_what_cannot_be_compared(expected: Any, words: str) -> None:
    with pytest.raises(CannotCompare, match=words.replace("(", r"\(")):
        same(expected, "a" * 40 + "b")
