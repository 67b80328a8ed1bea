"""Tests of an agent in Python, with the `tooleval` fixture. Each one that asks is a case of the run."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from my_agent import answer, answer_async

from pytest_tooleval import call, like

needs_asyncio = pytest.mark.skipif(
    importlib.util.find_spec("pytest_asyncio") is None, reason="async tests need pytest-asyncio"
)


def get_weather(city: str, units: str = "celsius") -> str:
    """Get current weather for a city."""
    raise AssertionError("tools= only describes it")


def get_forecast(city: str, days: int) -> str:
    """Get the forecast of several days for a city."""
    raise AssertionError("tools= only describes it")


@pytest.mark.parametrize("city", ["Paris", "Rio de Janeiro"])
def test_it_knows_the_weather(tooleval: Any, city: str) -> None:
    run = tooleval(f"What is the weather in {city}?", agent=answer, tools=[get_weather, get_forecast])

    assert run.calls == [call("get_weather", city=city)]


def test_it_counts_days(tooleval: Any) -> None:
    run = tooleval("The next 5 days in Oslo, please", agent=answer, tools=[get_weather, get_forecast])

    assert call("get_forecast", ..., days=like.gt(4)) in run.calls


def test_it_asks_for_the_city(tooleval: Any) -> None:
    run = tooleval("How will it be tomorrow?", agent=answer, tools=[get_weather])
    assert not run.calls
    assert "city" in run.text

    run.reply("I am in Rome, tell me in celsius")
    assert run.calls == [call("get_weather", city="Rome", units="celsius")]


@needs_asyncio
async def test_in_async_code(tooleval: Any) -> None:
    run = await tooleval.arun("What is the weather in Paris?", agent=answer_async, tools=[get_weather])

    assert run.calls == [call("get_weather", city="Paris")]
