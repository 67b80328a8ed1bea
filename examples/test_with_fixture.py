"""Single cases from Python tests, with the `tooleval` fixture: for what a suite file cannot say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tooleval import load_suite

WEATHER = Path(__file__).parent / "weather" / "weather.tooleval.json"


def test_the_baseline_knows_the_weather(tooleval: Any) -> None:
    result = tooleval.run_sync(WEATHER, "forecast-five-days", model="builtin/lexical")

    assert result.passed, result.reason
    assert result.scores["overall"] == 1.0


def test_a_case_written_in_python(tooleval: Any) -> None:
    """A suite need not be a file: take the tools of one and ask something else."""
    suite = load_suite(WEATHER)
    case = suite.case("forecast-five-days").model_copy(update={"thresholds": {"tool_selection": 1.0}})

    result = tooleval.run_sync(suite, case, model="my-agent")

    assert result.passed, result.reason
