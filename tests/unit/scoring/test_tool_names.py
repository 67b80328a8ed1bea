"""Names of tools ignore case, but not between two offered tools that differ in nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

from .cases import call, score, score_live, tool

ONE = [tool("get_x")]
BOTH = [
    tool("get_x", {"type": "object", "properties": {"a": {"type": "integer"}}}),
    tool("GET_X", {"type": "object", "properties": {"b": {"type": "integer"}}}),
]


@pytest.mark.parametrize(
    ("tools", "name", "failure"),
    [
        (ONE, "get_x", None),
        (ONE, "GET_X", None),
        (BOTH, "get_x", None),
        (BOTH, "GET_X", "wrong_tool"),
        (BOTH, "Get_X", "hallucinated_tool"),
    ],
)
def test_which_tool_a_call_means(tools: list[dict[str, Any]], name: str, failure: str | None) -> None:
    assert score([call(name)], tools, expected_tool="get_x").failure == failure
    assert score([call(name)], tools, expected_calls=[{"tool": "get_x"}]).failure == failure


def test_arguments_are_those_of_the_tool_that_is_meant() -> None:
    case = {"expected_calls": [{"tool": "GET_X", "params": {"b": 1}}, {"tool": "get_x"}]}

    assert score([call("get_x", a=1), call("GET_X", b=1)], BOTH, **case).passed
    assert not score([call("GET_X", a=1), call("get_x", b=1)], BOTH, **case).passed


def test_a_forbidden_tool_is_forbidden_in_every_spelling_that_runs() -> None:
    case: dict[str, Any] = {"expected_tool": "other", "forbidden_calls": ["get_x"]}

    tools = [*ONE, tool("other")]
    assert score([call("GET_X")], tools, **case, param_scoring="bfcl").failure == "forbidden_call"


def test_only_the_tool_that_is_meant_is_forbidden() -> None:
    case: dict[str, Any] = {"expected_tool": "get_x", "forbidden_calls": ["GET_X"]}

    assert score([call("get_x")], BOTH, **case).passed
    assert score([call("GET_X")], BOTH, **case).failure == "forbidden_call"
    assert score([call("get_x")], ONE, **{**case, "expected_tool": None}).failure == "forbidden_call"


def test_the_other_tool_on_the_way_is_a_detour_and_no_repeat() -> None:
    chain = {"expected_tool": "get_x", "multi_turn": True, "valid_prerequisites": [], "tools": BOTH}

    values = score_live([[call("GET_X")], [call("get_x")]], **chain).values

    assert values["completion"] == 1.0
    assert values["detour_penalty"] == 0.1
    assert values["redundancy_penalty"] == 0


def test_a_suite_may_name_each() -> None:
    mocks = {"get_x": 1, "GET_X": 2}
    case = {"prompt": "?", "expected_tool": "get_x", "multi_turn": True, "mock_responses": mocks}

    suite = parse_suite(json.dumps({"name": "s", "tools": BOTH, "test_cases": [case]}))

    assert suite.test_cases[0].mock_responses == mocks
    with pytest.raises(SuiteError, match='"Get_X" is not defined'):
        parse_suite(
            json.dumps({"name": "s", "tools": BOTH, "test_cases": [{**case, "expected_tool": "Get_X"}]})
        )


def test_new_tools_of_a_turn_are_the_ones_that_it_names() -> None:
    turns = [{"prompt": "1"}, {"prompt": "2", "new_tools": ["GET_X"]}]
    suite = Suite.model_validate(
        {"name": "s", "tools": BOTH, "test_cases": [{"turns": turns, "expected_text": ["x"]}]}
    )

    first, second = resolve(suite, suite.test_cases[0]).turns

    assert [tool.name for tool in first.tools] == ["get_x"]
    assert [tool.name for tool in second.tools] == ["get_x", "GET_X"]
