"""Did a search return the expected tool, and what the matrix makes of it if not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import call, tool

from pytest_tooleval import score_messages
from pytest_tooleval.record.call_pairs import CallPair
from pytest_tooleval.suite.load import parse_suite

FIND = {**tool("find", defer_loading=True), "namespace": "crm"}
TOOLS = [tool("pay"), tool("ship", defer_loading=True), FIND]


def found(expected: Any, *searched: Any, called: str = "pay", shown: bool = False) -> Any:
    case = {"prompt": "Go", **expected}
    spaces = {"crm": "Customers."}
    suite = parse_suite(
        json.dumps({"name": "s", "namespaces": spaces, "tools": TOOLS, "test_cases": [case]})
    )
    searches = [
        {"arguments": {"query": "q"}, "tools": names, "names_shown": shown} for names in searched
    ]
    message = {"role": "assistant", "tool_calls": [call(called)], "tool_searches": searches}
    return score_messages(suite, suite.test_cases[0], [message])


SHIP = {"expected_tool": "ship"}
BOTH = {"expected_calls": [{"tool": "ship"}, {"tool": "crm.find"}, {"tool": "pay"}]}


@pytest.mark.parametrize(
    ("expected", "searched", "shown", "value"),
    [
        (SHIP, [["ship", "find"]], False, 1.0),
        (SHIP, [["find"], ["SHIP"]], False, 1.0),
        (SHIP, [["find"]], False, 0.0),
        (SHIP, [[]], False, 0.0),
        (SHIP, [], False, None),
        (SHIP, [None], False, None),
        (SHIP, [["find"]], True, None),
        ({"expected_tool": "crm.find"}, [["crm.find"]], True, 1.0),
        ({"expected_tool": "crm.find"}, [["ship"]], True, 0.0),
        ({"expected_tool": "crm.find"}, [["find"]], False, 1.0),
        ({"expected_tool": ["ship", "pay"]}, [["find"]], False, None),
        ({"expected_tool": "pay"}, [["ship"]], False, None),
        ({"expected_tool": "*"}, [["ship"]], False, None),
        ({"expected_tool": None}, [["ship"]], False, None),
        (BOTH, [["ship"]], False, 0.5),
    ],
)
def test_what_was_found(expected: Any, searched: list[Any], shown: bool, value: float | None) -> None:
    assert found(expected, *searched, shown=shown).scores["tool_found"].value == value


def test_a_tool_that_no_search_returned_was_not_found() -> None:
    (choice,) = found(SHIP, ["find"]).call_pairs
    assert choice == CallPair(expected="ship", called="pay", not_found=True)
    (choice,) = found(SHIP, ["ship"]).call_pairs
    assert choice == CallPair(expected="ship", called="pay")
    score = found(SHIP, ["find"]).scores["tool_found"]
    assert score.explanation == "0 of 1 expected tool found; found crm.find"


def test_a_suite_without_deferred_tools_has_no_such_score() -> None:
    case = {"prompt": "Go", "expected_tool": "pay"}
    suite = parse_suite(json.dumps({"name": "s", "tools": [tool("pay")], "test_cases": [case]}))
    message = {"role": "assistant", "tool_calls": [call("pay")]}
    assert "tool_found" not in score_messages(suite, suite.test_cases[0], [message]).scores
