from __future__ import annotations

import json
from typing import Any

from pytest_tooleval.engine.executors.mocks import Mocks
from pytest_tooleval.record.calls import ToolCall

from ..fakes import case_of
from ..fakes import tool


def mocks(**answers: Any) -> Mocks:
    tools = [tool(name) for name in ("book", "search", "other")]
    case = case_of(*tools, expected_tool="book", multi_turn=True, mock_responses=answers)
    return Mocks(case)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments)


def test_a_text_goes_as_it_is_and_anything_else_as_json() -> None:
    assert mocks(search="sunny, 20 °C").answer(call("search")) == "sunny, 20 °C"
    assert mocks(search={"t": "°"}).answer(call("search")) == '{"t": "°"}'
    assert mocks(search=None).answer(call("search")) == "null"


def test_names_compare_without_case() -> None:
    assert mocks(Search="x").answer(call("sEARCH")) == "x"


def test_a_sequence_goes_on_and_its_last_answer_repeats() -> None:
    mock = mocks(search={"$sequence": ["a", "b"]})
    assert [mock.answer(call("search")) for _ in range(4)] == ["a", "b", "b", "b"]


def test_each_tool_counts_for_itself() -> None:
    mock = mocks(search={"$sequence": ["a", "b"]}, other={"$sequence": ["c", "d"]})
    assert [mock.answer(call(name)) for name in ("search", "other", "search")] == ["a", "c", "b"]


def test_the_first_entry_that_matches_answers() -> None:
    mock = mocks(
        search={
            "$when": [
                {"params": {"city": "paris"}, "answer": "P"},
                {"params": {"city": {"$regex": "^L"}}, "answer": "L"},
                {"answer": "rest"},
            ]
        }
    )
    asked = ["Paris", "London", "Oslo"]
    assert [mock.answer(call("search", city=city)) for city in asked] == ["P", "L", "rest"]


def test_no_entry_matches() -> None:
    mock = mocks(search={"$when": [{"params": {"city": "Paris"}, "answer": "P"}]})
    assert "nothing is known" in json.loads(mock.answer(call("search", city="Oslo")))["error"]


def test_exact_data_that_looks_like_a_mock() -> None:
    answer = {"$sequence": ["a"]}
    assert json.loads(mocks(search={"$exact": answer}).answer(call("search"))) == answer


def test_what_cannot_be_answered_says_why() -> None:
    mock = mocks(search="x")
    assert "not available" in json.loads(mock.answer(call("other")))["error"]
    assert "there is no tool 'nonsense'" in json.loads(mock.answer(call("nonsense")))["error"]
    broken = ToolCall("search", None, "{")
    assert "not a JSON object" in json.loads(mock.answer(broken))["error"]
