"""Calls of tools that the provider runs itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval.record.calls import ToolCall

from .cases import call, score_live

RAN = structs.replace(call("code_interpreter", code="1"), hosted=True)
A = call("a")
CHAIN = {"expected_tool": "a", "multi_turn": True, "optimal_hops": 1}


@pytest.mark.parametrize(
    ("replies", "case", "failure"),
    [
        ([[RAN]], {"expected_tool": None}, None),
        ([[RAN, A]], {"expected_tool": "a"}, None),
        ([[RAN, A]], {"expected_tool": "a", "thresholds": {"max_calls": 1}}, None),
        ([[RAN, A, A]], {"expected_tool": "a"}, "surplus_call"),
        ([[RAN], [A]], CHAIN, None),
        ([[RAN]], CHAIN, "missing_call"),
        ([[RAN, A]], {"expected_tool": "a", "forbidden_calls": ["code_interpreter"]}, "forbidden_call"),
        ([[call("code_interpreter"), A]], {"expected_tool": "a"}, "hallucinated_tool"),
        ([[structs.replace(A, hosted=True)]], {"expected_tool": "a"}, None),
        ([[structs.replace(A, hosted=True)]], {"expected_tool": None}, "unexpected_call"),
    ],
)
def test_only_a_forbidden_one_counts_unless_it_is_offered(
    replies: list[list[ToolCall]], case: dict[str, Any], failure: str | None
) -> None:
    found = score_live(replies, **case)
    assert found.failure == failure
    assert found.transcript is not None
    assert len(found.transcript.calls) == sum(map(len, replies))
