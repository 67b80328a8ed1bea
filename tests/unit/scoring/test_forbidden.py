"""Calls that a case forbids."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.record.calls import ToolCall

from .cases import call
from .cases import score
from .cases import score_live

PAY_NOTHING = {"tool": "b", "params": {"x": {"$any_of": [0, None]}}}

PAY_TWICE = {"tool": "b", "params": {"x": 0, "twice": {"$optional": True}}}


@pytest.mark.parametrize(
    ("forbidden", "made", "wrong"),
    [
        (["b"], [call("a"), call("B")], "called B, which is forbidden"),
        (["b"], [call("a"), call("c")], None),
        ("*", [call("a"), call("c")], "called c, which is forbidden"),
        ("*", [call("a"), call("zzz")], "called zzz, which is forbidden"),
        ("*", [call("A")], None),
        ([{"tool": ["b", "c"]}], [call("c")], "called c, which is forbidden"),
        ([PAY_NOTHING], [call("b", x=0, y=1)], "called b(x=0), which is forbidden"),
        ([PAY_NOTHING], [call("b", x=1)], None),
        ([PAY_NOTHING], [call("b")], None),
        ([PAY_TWICE], [call("b", x=0)], "called b(x=0), which is forbidden"),
        ([PAY_TWICE], [call("b", x=0, twice=False)], None),
        ([PAY_NOTHING], [ToolCall.parse("b", "{")], "called b, which is forbidden"),
    ],
)
def test_a_forbidden_call_fails_whatever_the_thresholds(
    forbidden: Any, made: list[ToolCall], wrong: str | None
) -> None:
    lenient = {"overall": 0.0, "no_extra_calls": None, "arguments_valid": None}

    result = score(made, expected_tool="a", forbidden_calls=forbidden, thresholds=lenient)

    assert result.passed is (wrong is None)
    assert result.failure == ("forbidden_call" if wrong else None)
    assert result.wrong == (wrong or "")


def test_a_chain_may_call_what_is_on_its_way() -> None:
    chain = {
        "expected_tool": "c",
        "multi_turn": True,
        "valid_prerequisites": ["a"],
        "forbidden_calls": "*",
    }

    assert score_live([[call("a")], [call("c")]], **chain).passed
    assert score_live([[call("a")], [call("b"), call("c")]], **chain).failure == "forbidden_call"
