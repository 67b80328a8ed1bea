from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.suite.drafts import draft_case
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_suite

from ..jsonschemas.test_values import SCHEMA, required


def tool(
    parameters: Any = None, description: str | None = None, name: str = "get_weather"
) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name}
    if description is not None:
        function["description"] = description
    if parameters is not None:
        function["parameters"] = parameters
    return {"type": "function", "function": function}


def test_a_draft_says_what_to_edit_and_what_is_expected() -> None:
    parameters = required(city={"type": "string", "examples": ["Paris"]}, days={"type": "integer"})
    assert draft_case(tool(parameters, "Get the weather. It is current.\nReally.")) == {
        "id": "get_weather",
        "prompt": '[edit: say this as a user would] Get the weather, with city "Paris" and days 1.',
        "expected_tool": "get_weather",
        "expected_params": {"city": "Paris", "days": 1},
        "skip": "draft",
    }


@pytest.mark.parametrize(
    ("description", "request_"),
    [
        (None, "Use get_weather."),
        ("  ", "Use get_weather."),
        ("Reads e.g. a file. Then more.", "Reads e.g. a file."),
        ("Line one\ngoes on.\n\nThen more", "Line one goes on."),
        ("Args: `x`.", "Args: `x`."),
        ("天気を取得します。都市を指定。", "天気を取得します."),
        ("Really? Yes.", "Really."),
        ("Red\x1b[31m and\x00 \u202eback", "Red\\x1b[31m and\\x00 \\u202eback."),
        ("word " * 100, ("word " * 32)[:159] + "…."),
    ],
)
def test_the_prompt_is_made_of_the_first_sentence(description: str | None, request_: str) -> None:
    assert (
        draft_case(tool(description=description))["prompt"]
        == f"[edit: say this as a user would] {request_}"
    )


def test_a_tool_without_parameters_expects_none() -> None:
    assert draft_case(tool())["expected_params"] == {}
    assert draft_case(tool({"type": "object"}))["expected_params"] == {}


def test_only_required_parameters_are_expected_in_the_order_of_the_properties() -> None:
    parameters = {**required(b={"type": "string"}, a={"type": "string"}), "required": ["a", "b", "c"]}
    parameters["properties"]["optional"] = {"type": "string"}
    values = draft_case(tool(parameters))["expected_params"]
    assert list(values.items()) == [("b", "example b"), ("a", "example a"), ("c", "example c")]


def test_a_draft_for_thousands_of_parameters_is_small() -> None:
    many = required(**{f"p{number}": {"type": "string"} for number in range(5000)})
    assert len(json.dumps(draft_case(tool(many)))) < 200_000


def test_a_value_with_a_dollar_key_is_no_matcher() -> None:
    case = draft_case(tool(required(filter={"const": {"$gt": 5}}, **{"$top": {"type": "integer"}})))
    assert case["expected_params"] == {"filter": {"$exact": {"$gt": 5}}, "$top": 1}


@given(
    st.dictionaries(st.text("abc$_é\x1b", min_size=1, max_size=8), SCHEMA, max_size=4),
    st.text(max_size=50),
    st.booleans(),
)
def test_drafts_make_a_suite_without_complaints(
    properties: dict[str, Any], description: str, optional: bool
) -> None:
    schema = required(**properties) | ({"required": []} if optional else {})
    made = tool(schema, description)
    text = json.dumps({"name": "s", "tools": [made], "test_cases": [draft_case(made)]})
    suite = parse_suite(text)
    complaints = [problem.message for problem in lint_suite(suite)]
    # Whatever names and schemas a server has: not every provider takes them all.
    assert [message for message in complaints if not message.startswith("tool ")] == []
