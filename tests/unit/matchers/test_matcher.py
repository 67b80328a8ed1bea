from __future__ import annotations

import json
import math
from typing import Any

import pytest
from bfcl_data import bfcl_file
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.matchers.matcher import MATCHERS, matcher_findings, matcher_key

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from([*MATCHERS]), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "expected",
    [
        {"a": [1, {"b": 2.5}]},
        {"$any_of": ["a", {"x": {"$optional": 1}}]},
        {"$optional": {"$any_of": [1, 2]}},
        {"$exact": {"$where": {"$any_of": 3}}},
        {"$contains": [{"$approx": {"value": 1, "abs": 0.1}}]},
        {"$schema": {"type": "string", "pattern": "^a+$"}},
        {"$schema": True},
        {"$schema": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}},
        {"$not": {"$any_of": [None, ""]}},
        {"$len": 0},
        {"$date": "2026-03-02T10:00+02"},
    ],
)
def test_accepts(expected: Any) -> None:
    assert list(matcher_findings({"city": expected}, ())) == []


def test_the_names_of_parameters_may_begin_with_a_dollar() -> None:
    assert list(matcher_findings({"$filter": "a", "$anyof": ["b"]}, ())) == []


@pytest.mark.parametrize(
    ("expected", "path", "words"),
    [
        ({"$anyof": [1]}, ("$anyof",), 'did you mean "$any_of"?'),
        ({"$frobnicate": 1}, ("$frobnicate",), "unknown matcher; expected one of $any_of, $optional"),
        ({"$any_of": [1], "x": 2}, ("$any_of",), 'got "$any_of" and "x"'),
        ({"x": 2, "$regex": "a"}, ("$regex",), 'got "$regex" and "x"'),
        ({"$any_of": "a"}, ("$any_of",), 'a list of values or matchers, got the string "a"'),
        ({"$any_of": [{"$optional": 1}]}, ("$any_of", 0), "only works as the value"),
        ([{"$optional": 1}], (0,), "only works as the value"),
        ({"$optional": {"$optional": 1}}, ("$optional",), "only works as the value"),
        ({"$all_of": [{"$absent": True}]}, ("$all_of", 0), "a key must be absent, so it only works"),
        ({"$absent": False}, ("$absent",), "expected true, got false"),
        ({"$fuzzy": ""}, ("$fuzzy",), "expected a non-empty string"),
        ({"$regex": 5}, ("$regex",), "as a string, got the number 5"),
        ({"$regex": "("}, ("$regex",), "does not compile"),
        ({"$regex": ""}, ("$regex",), "expected a non-empty regular expression"),
        ({"$contains": ""}, ("$contains",), "an empty string or list is contained in everything"),
        ({"$contains": []}, ("$contains",), "an empty string or list is contained in everything"),
        ({"$contains": ["a", ""]}, ("$contains",), "an empty string or list is contained in everything"),
        ({"$contains": ["a", {"$regex": "("}]}, ("$contains", 1, "$regex"), "does not compile"),
        ({"$contains": {"$any_of": ["a", ""]}}, ("$contains",), "an empty string, which every text"),
        ({"$approx": 3.14}, ("$approx",), "expected an object"),
        ({"$approx": {"value": 3.14}}, ("$approx",), 'with "abs", "rel" or both'),
        ({"$approx": {"abs": 1}}, ("$approx",), "expected an object"),
        ({"$approx": {"value": True, "abs": 1}}, ("$approx",), 'got the object {"value": true'),
        ({"$approx": {"value": 1, "abs": -1}}, ("$approx",), "at least 0"),
        ({"$approx": {"value": 1, "rle": 1, "abs": 1}}, ("$approx",), "expected an object"),
        ({"$schema": {"type": "text"}}, ("$schema", "type"), 'did you mean "string"?'),
        ({"$schema": {"pattern": "("}}, ("$schema", "pattern"), "does not compile"),
        ({"$regex": r"a\Z"}, ("$regex",), "write $ at position 1"),
        ({"$schema": {"patternProperties": {"a{e}": {}}}}, ("$schema", "patternProperties"), "count"),
        ({"$schema": {"$ref": "#/a"}}, ("$schema", "$ref"), "does not exist"),
        ({"$schema": []}, ("$schema",), "expected a JSON Schema: an object"),
        ({"$gte": "5"}, ("$gte",), 'expected a finite number, got the string "5"'),
        ({"$lt": True}, ("$lt",), "expected a finite number, got true"),
        ({"$lt": math.inf}, ("$lt",), "expected a finite number"),
        ({"$all_of": []}, ("$all_of",), "expected a non-empty list"),
        ({"$all_of": [{"$gte": None}]}, ("$all_of", 0, "$gte"), "expected a finite number, got null"),
        ({"$not": {"$regex": "("}}, ("$not", "$regex"), "does not compile"),
        ({"$unordered": {"a": 1}}, ("$unordered",), "expected a list of at most 200"),
        ({"$unordered": [1] * 201}, ("$unordered",), "expected a list of at most 200"),
        ({"$unordered": ["a", {"$gt": "b"}]}, ("$unordered", 1, "$gt"), "expected a finite number"),
        ({"$len": -1}, ("$len",), "expected a whole number of at least 0, or a matcher"),
        ({"$len": 2.5}, ("$len",), "expected a whole number"),
        ({"$len": {"min": 2}}, ("$len",), "expected a whole number"),
        ({"$len": {"$gte": "2"}}, ("$len", "$gte"), "expected a finite number"),
        ({"$type": "int"}, ("$type",), 'one of "array", "boolean"'),
        ({"$type": []}, ("$type",), "or a list of them"),
        ({"$date": "2026-02-30"}, ("$date",), "expected a date, date-time or time in ISO 8601"),
        ({"$date": "1767225600"}, ("$date",), "expected a date"),
        ({"$date": 1767225600}, ("$date",), "expected a date"),
        ({"a": [{"b": {"$nope": 1}}]}, ("a", 0, "b", "$nope"), "unknown matcher"),
    ],
)
def test_refuses_and_names_the_place(expected: Any, path: tuple[str | int, ...], words: str) -> None:
    problems = list(matcher_findings({"city": expected}, ("expected_params",)))

    assert [found.loc for found in problems] == [("expected_params", "city", *path)]
    assert words in problems[0].message


def test_reports_every_problem() -> None:
    params = {"a": {"$regx": "a"}, "b": {"$regex": "["}, "c": {"$approx": {"valeu": 1, "abs": 1}}}

    paths = [found.loc for found in matcher_findings(params, ())]

    assert paths == [("a", "$regx"), ("b", "$regex"), ("c", "$approx")]


@pytest.mark.parametrize(
    ("written", "advised"),
    [
        ({"$gte": 3, "$lte": 4}, {"$all_of": [{"$gte": 3}, {"$lte": 4}]}),
        ({"$contains": "Ada", "$optional": True}, {"$optional": {"$contains": "Ada"}}),
        (
            {"$gte": 3, "$optional": 3, "$lte": 4},
            {"$optional": {"$all_of": [{"$gte": 3}, {"$lte": 4}]}},
        ),
        ({"$absent": True, "$optional": 1}, {"$absent": True}),
    ],
)
def test_what_the_message_advises_is_accepted(written: Any, advised: Any) -> None:
    ((path, message, _),) = matcher_findings({"name": written}, ())

    assert path == ("name", next(iter(written)))
    assert json.loads(message.partition("; write ")[2]) == advised
    assert list(matcher_findings({"name": advised}, ())) == []


@given(JSON_VALUES)
def test_never_raises(value: Any) -> None:
    for path, message, _ in matcher_findings({"p": value}, ()):
        assert path[0] == "p"
        assert message


def test_the_key_of_a_matcher() -> None:
    assert matcher_key({"$regex": "a"}) == "$regex"
    assert matcher_key({"a": 1}) is None
    assert matcher_key(["$regex"]) is None


def test_accepts_all_of_bfcl() -> None:
    files = sorted(bfcl_file("").glob("*.tooleval.json"))
    assert files
    for file in files:
        for case in json.loads(file.read_text("utf-8"))["test_cases"]:
            for call in case["expected_calls"]:
                assert list(matcher_findings(call["params"], ())) == []
