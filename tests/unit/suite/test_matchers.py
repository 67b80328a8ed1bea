from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.suite.matchers import MATCHERS
from pytest_tooleval.suite.matchers import matcher_key
from pytest_tooleval.suite.matchers import matcher_problems
from pytest_tooleval.suite.matchers import schema_problems

DATA = Path(os.environ.get("TOOLEVAL_BFCL_DATA", Path(__file__).parents[4] / "shared/data/bfcl"))

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(MATCHERS), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "expected",
    [
        "Paris",
        None,
        {"a": [1, {"b": 2.5}]},
        {"$any_of": ["a", {"$regex": "^b"}, {"x": {"$optional": 1}}]},
        {"$any_of": []},
        {"$optional": {"$any_of": [1, 2]}},
        {"$exact": {"$where": {"$any_of": 3}}},
        {"$contains": "par"},
        {"$contains": [{"$approx": {"value": 1, "abs": 0.1}}]},
        {"$approx": {"value": -3, "abs": 0.01, "rel": 0}},
        {"$schema": {"type": "string", "pattern": "^a+$"}},
        {"$schema": True},
    ],
)
def test_accepts(expected: Any) -> None:
    assert list(matcher_problems({"city": expected})) == []


def test_the_names_of_parameters_may_begin_with_a_dollar() -> None:
    assert list(matcher_problems({"$filter": "a", "$anyof": ["b"]})) == []


@pytest.mark.parametrize(
    ("expected", "path", "words"),
    [
        ({"$anyof": [1]}, ("$anyof",), 'did you mean "$any_of"?'),
        ({"$frobnicate": 1}, ("$frobnicate",), "unknown matcher; known are $any_of"),
        ({"$any_of": [1], "x": 2}, (), '"$any_of" stands beside "x"'),
        ({"x": 2, "$regex": "a"}, (), '"$regex" stands beside "x"'),
        ({"$any_of": "a"}, ("$any_of",), "expected a list of values or matchers, got a string"),
        ({"$any_of": [{"$optional": 1}]}, ("$any_of", 0), "has no meaning"),
        ([{"$optional": 1}], (0,), "has no meaning"),
        ({"$optional": {"$optional": 1}}, ("$optional",), "has no meaning"),
        ({"$regex": 5}, ("$regex",), "expected a regular expression as a string, got a number"),
        ({"$regex": "("}, ("$regex",), "does not compile"),
        ({"$regex": ""}, ("$regex",), "matches everything"),
        ({"$contains": ""}, ("$contains",), "an empty string is contained in everything"),
        ({"$contains": []}, ("$contains",), "an empty list is contained in everything"),
        ({"$contains": ["a", ""]}, ("$contains", 1), "an empty string is contained in everything"),
        ({"$approx": 3.14}, ("$approx",), "expected an object"),
        ({"$approx": {"value": 3.14}}, ("$approx",), "a tolerance is missing"),
        ({"$approx": {"abs": 1}}, ("$approx",), '"value" is missing'),
        ({"$approx": {"value": True, "abs": 1}}, ("$approx", "value"), "finite number, got true"),
        ({"$approx": {"value": 1, "abs": -1}}, ("$approx", "abs"), "at least 0, got -1"),
        ({"$approx": {"value": 1, "rle": 1, "abs": 1}}, ("$approx", "rle"), 'did you mean "rel"?'),
        ({"$schema": {"type": "text"}}, ("$schema", "type"), "not a valid JSON Schema"),
        ({"$schema": {"pattern": "("}}, ("$schema", "pattern"), "not a valid JSON Schema"),
        ({"$schema": []}, ("$schema",), "expected a JSON Schema as an object, got a list"),
        ({"a": [{"b": {"$nope": 1}}]}, ("a", 0, "b", "$nope"), "unknown matcher"),
    ],
)
def test_refuses_and_names_the_place(expected: Any, path: tuple[str | int, ...], words: str) -> None:
    problems = list(matcher_problems({"city": expected}, ("expected_params",)))

    assert [where for where, _ in problems] == [("expected_params", "city", *path)]
    assert words in problems[0][1]


def nested_regex(levels: int, count: str, piece: str = "a", group: str = "(?:") -> str:
    return group * levels + piece + f"{count})" * levels


@pytest.mark.parametrize(
    "pattern",
    [
        nested_regex(12, "{100}"),
        nested_regex(12, "{100,}"),
        nested_regex(12, "{100,200}?"),
        nested_regex(3, "{0000000000000100}"),
        nested_regex(2, "{" + "9" * 5000 + "}"),
        nested_regex(30, "+"),
        nested_regex(30, "{1,2}", group="("),
        nested_regex(3, "{100}", piece="[)(]"),
        nested_regex(3, "{100}", piece="[]()]"),
        nested_regex(3, "{100}", piece="\\("),
        nested_regex(3, "(?#c){100}"),
        nested_regex(3, "(?i){100}"),
        "(?x)" + nested_regex(3, " { 1 0 0 }"),
        "a{10000000}",
    ],
)
def test_refuses_what_is_huge_when_its_counts_are_written_out(pattern: str) -> None:
    """Twelve levels of {100} are 109 characters, and took more memory than there is."""
    messages = [message for _, message in matcher_problems({"a": {"$regex": pattern}})]
    messages += [message for _, message in schema_problems({"pattern": pattern})]
    messages += [message for _, message in schema_problems({"patternProperties": {pattern: {}}})]
    assert len(messages) == 3
    assert all("repeats too much" in message for message in messages)


IPV6 = "([0-9a-f]{1,4}:){7,7}[0-9a-f]{1,4}|" + "|".join(
    f"([0-9a-f]{{1,4}}:){{1,{n}}}(:[0-9a-f]{{1,4}}){{1,{7 - n}}}" for n in range(1, 7)
)


@pytest.mark.parametrize(
    "pattern",
    [
        IPV6,
        r"^[\s\S]{0,65536}$",
        r"^(?:[^,]{2,64},){100}$",
        r"^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2}(?:\.\d+)?)(([+-]\d{2}:\d{2})|Z)?$",
        r"^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z]+)*@(?:[a-z](?:[a-z-]*[a-z])?\.)+[a-z]{2,}$",
        r"^\{[a-z]+\}$",
        r"[^[\]]+",
        "[[:alpha:]]+",
        "(?i)a(?#not here: ()b",
        "(?x) [a-z ]{2} # two of (\n b",
        "(?V1)[[a-z]--[aeiou]]+",
        "(?:paris){e<=1}",
        "|".join(f"word{number}" for number in range(5000)),
    ],
)
def test_accepts_patterns_as_people_write_them(pattern: str) -> None:
    assert list(matcher_problems({"a": {"$regex": pattern}})) == []


def test_reports_every_problem() -> None:
    params = {"a": {"$regx": "a"}, "b": {"$regex": "["}, "c": {"$approx": {"valeu": 1, "abs": 1}}}

    paths = [path for path, _ in matcher_problems(params)]

    assert paths == [("a", "$regx"), ("b", "$regex"), ("c", "$approx", "valeu"), ("c", "$approx")]


def test_plain_strings_are_patterns_only_under_regex_scoring() -> None:
    params = {"city": "(", "raw": {"$exact": "("}}

    assert list(matcher_problems(params)) == []
    assert [path for path, _ in matcher_problems(params, param_scoring="regex")] == [("city",)]


@pytest.mark.parametrize("key", ["$exact", "$any_of", "plain"])
def test_refuses_what_is_nested_too_deeply(key: str) -> None:
    value: Any = "x"
    for _ in range(3000):
        value = [value]

    problems = list(matcher_problems({"a": {key: [value]}}))

    assert len(problems) == 1
    assert "nested deeper than 100 levels" in problems[0][1]


@given(JSON_VALUES)
def test_never_raises(value: Any) -> None:
    for path, message in matcher_problems({"p": value}):
        assert path[0] == "p"
        assert message


def test_the_key_of_a_matcher() -> None:
    assert matcher_key({"$regex": "a"}) == "$regex"
    assert matcher_key({"a": 1}) is None
    assert matcher_key(["$regex"]) is None


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no BFCL data in {DATA}; set TOOLEVAL_BFCL_DATA")
def test_accepts_all_of_bfcl() -> None:
    files = sorted(DATA.glob("*.tooleval.json"))
    assert files
    for file in files:
        for case in json.loads(file.read_text("utf-8"))["test_cases"]:
            for call in case["expected_calls"]:
                assert list(matcher_problems(call["params"])) == []
