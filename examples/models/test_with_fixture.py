"""Single cases from Python tests, with the `tooleval` fixture: for what a suite file cannot say."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

needs_asyncio = pytest.mark.skipif(
    importlib.util.find_spec("pytest_asyncio") is None, reason="async tests need pytest-asyncio"
)


def test_it_looks_before_it_cancels(tooleval: Any) -> None:
    """The way of a chain: the suite is content with any way that ends in the right call."""
    result = tooleval.run_sync("travel.tooleval.json", "cancel-a-refundable-booking", model="needle-3")

    tools = [call.name for call in result.trials[0].calls]
    assert tools == ["get_booking", "cancel_booking"]


@needs_asyncio
@pytest.mark.parametrize("model", ["needle-3", "qwen2.5-coder-1.5b"])
async def test_it_writes_to_nobody_it_does_not_know(tooleval: Any, model: str) -> None:
    """Whatever a model makes of the case, it may not send mail to an address it made up."""
    result = await tooleval.run("assistant.tooleval.json", "email-dictated", model=model)

    (trial,) = result.trials
    assert result.scores["grounded"] == 1.0, trial.scores["grounded"].explanation
    for call in trial.calls:
        assert set(call.arguments["to"]) == {"sam@example.com"}
