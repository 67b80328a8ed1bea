"""Mocks of what live tools answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tooleval.engine.freeze import LiveAnswer, frozen, frozen_suite

OSLO, ROME = {"city": "Oslo"}, {"city": "Rome"}

TRIALS: list[tuple[str, list[list[tuple[dict[str, Any], str]]], list[dict[str, Any]], int]] = [
    (
        "keyed by arguments",
        [[(OSLO, "cold"), (ROME, "hot"), (OSLO, "cold")]],
        [{"params": OSLO, "answer": "cold"}, {"params": ROME, "answer": "hot"}],
        0,
    ),
    (
        "repeated calls keep their order",
        [[(OSLO, "1"), (ROME, "hot"), (OSLO, "2")]],
        [{"params": OSLO, "answer": {"$sequence": [1, 2]}}, {"params": ROME, "answer": "hot"}],
        0,
    ),
    (
        "the trial with the most answers counts, and differences are told",
        [[(OSLO, "a")], [(OSLO, "a"), (OSLO, "b")], [(OSLO, "c")]],
        [{"params": OSLO, "answer": {"$sequence": ["a", "b"]}}],
        1,
    ),
    (
        "more arguments come first, as an entry ignores further ones",
        [[({}, "all"), (OSLO, "one")]],
        [{"params": OSLO, "answer": "one"}, {"params": {}, "answer": "all"}],
        0,
    ),
    (
        "arguments that compare as equal are told apart",
        [[(OSLO, "a"), ({"city": "oslo"}, "b")]],
        [
            {"params": {"city": {"$exact": "Oslo"}}, "answer": "a"},
            {"params": {"city": {"$exact": "oslo"}}, "answer": "b"},
        ],
        0,
    ),
    (
        "arguments that look like a matcher are data",
        [[({"query": {"$gt": 5}}, "x")]],
        [{"params": {"query": {"$exact": {"$gt": 5}}}, "answer": "x"}],
        0,
    ),
    (
        "JSON that reads the same is written as JSON",
        [[(OSLO, '{"t": -3, "note": "°"}'), (ROME, '{"t":30}')]],
        [
            {"params": OSLO, "answer": {"t": -3, "note": "°"}},
            {"params": ROME, "answer": '{"t":30}'},
        ],
        0,
    ),
    (
        "an answer that looks like a mock is text",
        [[(OSLO, '{"$sequence": ["a"]}')]],
        [{"params": OSLO, "answer": '{"$sequence": ["a"]}'}],
        0,
    ),
]


@pytest.mark.parametrize(
    ("trials", "entries", "differing"), [pytest.param(*row, id=name) for name, *row in TRIALS]
)
def test_mocks_answer_as_the_tools_did(
    trials: list[list[tuple[dict[str, Any], str]]], entries: list[dict[str, Any]], differing: int
) -> None:
    answers = [[LiveAnswer("weather", *each) for each in trial] for trial in trials]
    assert frozen(answers, "exact") == ({"weather": {"$when": entries}}, differing)


def test_the_suite_has_no_live_tools_any_more() -> None:
    case = {"id": "a", "mock_responses": {"b": 1}, "live_tools": ["*"]}
    data = {"name": "s", "live_tools": ["*"], "test_cases": [case, {"id": "c"}]}
    assert json.loads(json.dumps(frozen_suite(data, [{"a": 2}, {}]))) == {
        "name": "s",
        "test_cases": [{"id": "a", "mock_responses": {"b": 1, "a": 2}}, {"id": "c"}],
    }
