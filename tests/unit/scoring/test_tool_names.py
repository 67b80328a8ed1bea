"""Names of tools ignore case, but not between two offered tools that differ in nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import call, score, tool

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


def test_a_forbidden_tool_is_forbidden_in_every_spelling_that_runs() -> None:
    case: dict[str, Any] = {"expected_tool": "other", "forbidden_calls": ["get_x"]}

    tools = [*ONE, tool("other")]
    assert score([call("GET_X")], tools, **case, param_scoring="bfcl").failure == "forbidden_call"


def test_only_the_tool_that_is_meant_is_forbidden() -> None:
    case: dict[str, Any] = {"expected_tool": "get_x", "forbidden_calls": ["GET_X"]}

    assert score([call("get_x")], BOTH, **case).passed
    assert score([call("GET_X")], BOTH, **case).failure == "forbidden_call"
    assert score([call("get_x")], ONE, **{**case, "expected_tool": None}).failure == "forbidden_call"
