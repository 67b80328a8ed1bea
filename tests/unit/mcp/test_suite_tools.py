"""The tools of a suite's server on their way into the loader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tooleval.mcp.server import Transport
from pytest_tooleval.mcp.suite_tools import SuiteTools
from pytest_tooleval.suite.load import parse_document

from .servers import target

pytestmark = pytest.mark.slow

CHAIN = {
    "prompt": "Delete everything.",
    "multi_turn": True,
    "expected_tool": "get_weather",
    "valid_prerequisites": ["delete_all"],
}


@pytest.mark.parametrize(
    ("transport", "live", "allowed", "warned"),
    [
        ("http", ["delete_all"], ["delete_all"], True),
        ("http", ["delete_all"], ["*"], False),  # it does not run
        ("http", ["*", "get_weather"], ["*", "delete_all"], False),  # what runs changes nothing
        ("stdio", ["delete_all"], ["delete_all"], False),
    ],
)
def test_trials_that_share_a_server_are_warned_of(
    transport: Transport, live: list[str], allowed: list[str], warned: bool
) -> None:
    suite: dict[str, Any] = {
        "name": "S",
        "tools_from": {"mcp": {transport: target(transport, "good")}},
        "test_cases": [{**CHAIN, "live_tools": live}],
    }
    tools = SuiteTools(None, allowed)
    loaded, _ = parse_document(json.dumps(suite), fetch_tools=tools.fetch)
    shared = tools.shared_state(loaded)
    assert shared.startswith("live_tools: delete_all may change") is warned
    assert bool(shared) is warned
