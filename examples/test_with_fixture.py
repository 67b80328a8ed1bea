"""Single cases from Python tests, with the `tooleval` fixture: for what a suite file cannot say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import load_suite

needs_asyncio = pytest.mark.skipif(
    importlib.util.find_spec("pytest_asyncio") is None, reason="async tests need pytest-asyncio"
)


def test_the_baseline_knows_the_weather(tooleval: Any) -> None:
    result = tooleval.run_sync("weather.tooleval.json", "forecast-five-days", model="builtin/lexical")

    assert result.passed, result.reason
    assert result.scores["overall"] == 1.0


def test_it_looks_before_it_cancels(tooleval: Any) -> None:
    """The way of a chain: the suite is content with any way that ends in the right call."""
    result = tooleval.run_sync("travel.tooleval.json", "cancel-a-refundable-booking", model="needle-3")

    tools = [call.name for call in result.trials[0].calls]
    assert tools == ["get_booking", "cancel_booking"]


def test_a_case_written_in_python(tooleval: Any) -> None:
    """A suite need not be a file: take the tools of one and ask something else."""
    suite = load_suite(Path(__file__).with_name("weather.tooleval.json"))
    case = suite.case("forecast-five-days").model_copy(update={"thresholds": {"tool_selection": 1.0}})

    result = tooleval.run_sync(suite, case, model="my-agent")

    assert result.passed, result.reason


@needs_asyncio
@pytest.mark.parametrize("model", ["needle-3", "qwen2.5-coder-1.5b"])
async def test_it_writes_to_nobody_it_does_not_know(tooleval: Any, model: str) -> None:
    """Whatever a model makes of the case, it may not send mail to an address it made up."""
    result = await tooleval.run("assistant.tooleval.json", "email-dictated", model=model)

    (trial,) = result.trials
    assert result.scores["grounded"] == 1.0, trial.scores["grounded"].explanation
    for call in trial.calls:
        assert set(call.arguments["to"]) == {"sam@example.com"}
