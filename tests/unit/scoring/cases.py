"""Small suites for the tests of scoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_calls, score_trial
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

NAMES = (
    "get_weather",
    "search",
    "web_search",
    "book_flight",
    "search_flights",
    "get_availability",
    "a",
    "b",
    "c",
)


def tool(name: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def suite_of(tools: list[dict[str, Any]] | None = None, /, **case: Any) -> Suite:
    """A suite with one case, whose fields are the keyword arguments."""
    offered = [tool(name) for name in NAMES] if tools is None else tools
    test = {"id": "one", "prompt": "?", **case}
    return Suite.model_validate({"name": "suite", "tools": offered, "test_cases": [test]})


def resolved(tools: list[dict[str, Any]] | None = None, /, **case: Any) -> ResolvedCase:
    suite = suite_of(tools, **case)
    return resolve(suite, suite.test_cases[0])


def score(calls: Any, tools: list[dict[str, Any]] | None = None, /, **case: Any) -> TrialResult:
    """Score calls for a case with these fields."""
    suite = suite_of(tools, **case)
    return score_calls(suite, suite.test_cases[0], calls)


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments)


def live(*replies: list[ToolCall]) -> Transcript:
    """A transcript with one reply per list of calls."""
    message = {"role": "assistant", "content": None}
    return Transcript((), tuple(Reply(message=message, calls=tuple(calls)) for calls in replies))


def score_live(replies: list[list[ToolCall]], **case: Any) -> TrialResult:
    made = resolved(None, **case)
    return score_trial(made, live(*replies)).explain()
