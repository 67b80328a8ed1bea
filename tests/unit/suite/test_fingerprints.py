"""What makes a case another case."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.suite.fingerprints import fingerprint_of_case
from pytest_tooleval.suite.model import Suite

CASE: dict[str, Any] = {"id": "a", "prompt": "Weather in Paris?", "expected_tool": "get_weather"}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city"}}


def content(suite: dict[str, Any] | None = None, **fields: Any) -> str:
    made = Suite.model_validate(
        {"name": "s", "tools": [TOOL], "test_cases": [{**CASE, **fields}], **(suite or {})}
    )
    return fingerprint_of_case(made, made.test_cases[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "Weather in Rome?"},
        {"prompt": [{"role": "user", "content": "Weather in Paris?"}]},
        {"expected_tool": ["get_weather"]},
        {"expected_params": {}},
        {"expected_params": {"city": "Paris"}},
        {"param_scoring": "case_sensitive"},
        {"multi_turn": True, "mock_responses": {"get_weather": 5}},
    ],
)
def test_what_is_asked_and_expected_counts(fields: dict[str, Any]) -> None:
    assert content(**fields) != content()


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "b"},
        {"tags": ["x"]},
        {"trials": 5},
        {"pass": "all"},
        {"thresholds": {"overall": 0.5, "max_calls": 1}},
        {"param_scoring": "exact"},
        {"weight": 2.0},
        {"skip": "no"},
        {"metadata": {"a": 1}},
    ],
)
def test_where_and_how_often_it_is_asked_does_not(fields: dict[str, Any]) -> None:
    assert content(**fields) == content()


def test_what_a_turn_expects_counts() -> None:
    turn = {"prompt": "x", "max_calls": 1}
    different: tuple[dict[str, Any], ...] = (
        {},
        {"expected_tool": None},
        {"expected_tool": "get_weather"},
        {"results": True},
    )
    assert len({content(turns=[{**turn, **fields}]) for fields in different}) == len(different)
    assert content(turns=[turn], results=True) != content(turns=[turn])
    assert content(turns=[{**turn, "$comment": "x"}]) == content(turns=[turn])


def test_tools_and_the_system_prompt_are_what_runs_are_compared_for() -> None:
    function = {**TOOL["function"], "description": "Tells the weather"}  # type: ignore[dict-item]
    other = {"tools": [{"type": "function", "function": function}], "system_prompt": "Be brief."}
    assert content(other) == content()


def test_defaults_of_the_suite_count_like_those_of_the_case() -> None:
    assert content({"param_scoring": "bfcl"}) == content(param_scoring="bfcl") != content()


def test_a_new_optional_field_leaves_the_fingerprints_of_old_runs() -> None:
    """They are stored: who changes them makes every baseline incomparable."""
    assert content() == "7c746d44ecc4ec7e"
