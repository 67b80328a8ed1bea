"""Tools of every dialect become functions of the chat API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.files import tool_lists

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
UPPER = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
PYTHON = {"type": "dict", "properties": {"city": {"type": "str"}}, "required": ["city"]}
INLINE = {"type": "object", "properties": {"city": {"type": "string", "required": True}}}
FLAT = {
    "city": {"type": "str", "description": "City."},
    "n": {"type": "int, optional", "description": ""},
}
NAMED = {"name": "weather", "description": "It."}
OPENAPI = {
    "openapi": "3.0.0",
    "paths": {
        "/weather": {
            "parameters": [{"$ref": "#/components/parameters/city"}],
            "post": {
                "operationId": "weather",
                "summary": "It.",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Days"}}},
                },
            },
        }
    },
    "components": {
        "parameters": {
            "city": {"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}
        },
        "schemas": {
            "Days": {
                "properties": {"first": {"$ref": "#/components/schemas/Day"}},
                "required": ["first"],
            },
            "Day": {"properties": {"next": {"$ref": "#/components/schemas/Day"}}},
        },
    },
}


def lists(tmp_path: Path, value: Any) -> list[list[dict[str, Any]]]:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(value))
    return tool_lists(file)


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "function", "function": {**NAMED, "parameters": CITY}}],
        [{**NAMED, "input_schema": CITY}],
        [{**NAMED, "type": "custom", "input_schema": CITY}],
        {"tools": [{**NAMED, "inputSchema": CITY, "annotations": {"readOnlyHint": True}}]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**NAMED, "inputSchema": CITY}]}},
        [{"functionDeclarations": [{**NAMED, "parameters": UPPER}]}],
        {"tools": [{"function_declarations": [{**NAMED, "parametersJsonSchema": CITY}]}]},
        {"toolConfig": {"tools": [{"toolSpec": {**NAMED, "inputSchema": {"json": CITY}}}]}},
        {"weather": {"description": "It.", "parameters": CITY}},
        {"functions": [{**NAMED, "parameters": CITY}]},
        {"tools": json.dumps([{**NAMED, "parameters": CITY}])},
        [{**NAMED, "parameters": PYTHON}],
        [{**NAMED, "parameters": INLINE}],
    ],
)
def test_every_dialect(tmp_path: Path, value: Any) -> None:
    expected = {"type": "function", "function": {**NAMED, "parameters": CITY}}
    assert lists(tmp_path, value) == [[expected]]


def test_parameters_without_an_object(tmp_path: Path) -> None:
    ((tool,),) = lists(tmp_path, [{**NAMED, "parameters": FLAT}])
    schema = tool["function"]["parameters"]
    assert schema["required"] == ["city"]
    assert [each["type"] for each in schema["properties"].values()] == ["string", "integer"]


@pytest.mark.parametrize(
    "tool",
    [
        {"parameters": {**FLAT, "json": {**FLAT["n"], "type": "str"}}, "required": ["city"]},
        {"parameters": {**FLAT, "json": FLAT["city"], "city": {**FLAT["city"], "required": True}}},
    ],
)
def test_what_says_which_parameters_are_required(tmp_path: Path, tool: dict[str, Any]) -> None:
    ((made,),) = lists(tmp_path, [{**NAMED, **tool}])
    assert made["function"]["parameters"]["required"] == ["city"]
    assert {*made["function"]["parameters"]["properties"]} == {"city", "n", "json"}


def test_a_tool_of_the_provider_has_no_name(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match='the tool "googleSearch", which only its provider can run'):
        lists(tmp_path, {"tools": [{"googleSearch": {}}]})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("List[int]", {"type": "array", "items": {"type": "integer"}}),
        ("Optional[float]", {"type": "number"}),
        ("Tuple[int, int]", {"type": "array"}),
        ("any", {}),
    ],
)
def test_types_of_python(tmp_path: Path, kind: str, expected: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"x": {"type": kind}}}
    ((tool,),) = lists(tmp_path, [{**NAMED, "parameters": schema}])
    assert tool["function"]["parameters"]["properties"]["x"] == expected


def test_operations_of_openapi(tmp_path: Path) -> None:
    """Their references stay within the tool, even to themselves."""
    ((tool,),) = lists(tmp_path, OPENAPI)
    schema = tool["function"]["parameters"]
    day = {"$ref": "#/$defs/Day"}
    assert tool["function"]["name"] == "weather"
    assert schema["properties"] == {"city": {"type": "string"}, "first": day}
    assert schema["required"] == ["city", "first"]
    assert schema["$defs"] == {"Day": {"properties": {"next": day}}}


def test_a_property_may_be_called_type_or_required(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "required": {"type": "boolean"}},
    }
    ((tool,),) = lists(tmp_path, [{**NAMED, "parameters": schema}])
    assert tool["function"]["parameters"] == schema


@pytest.mark.parametrize("value", [{"messages": [{"role": "user", "content": "Hi"}]}, {"tools": 5}])
def test_no_tools(tmp_path: Path, value: Any) -> None:
    with pytest.raises(SuiteError):
        lists(tmp_path, value)
