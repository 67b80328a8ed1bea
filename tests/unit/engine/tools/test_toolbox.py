"""Calls that never reach a tool."""

from __future__ import annotations

import pytest
from builders import tool

from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.record.calls import ToolCall

from ..fakes import case_of

AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}}
MUCH = {"tool": "refund", "params": {"amount": {"$gt": 1000}}}


@pytest.mark.parametrize("mode", ["exact", "bfcl"])
@pytest.mark.parametrize("name", ["refund", "functions.refund"])
@pytest.mark.parametrize("amount", ["9000", '"9000"', '"9000", "amount": 1', '"9'])
async def test_a_forbidden_call_runs_no_tool(mode: str, name: str, amount: str) -> None:
    case = case_of(
        tool("refund", AMOUNT),
        turns=[{"prompt": "?"}],
        forbidden_calls=[MUCH],
        param_scoring=mode,
    )
    toolbox = Toolbox(case, allowed=["refund"])
    made = ToolCall.parse(name, f'{{"amount": {amount}}}')

    assert await toolbox.check_own(made) is None
    assert await toolbox.answer_calls([made]) is None
    assert await toolbox.answer_calls([ToolCall("refund", {"amount": "90"})]) is not None
