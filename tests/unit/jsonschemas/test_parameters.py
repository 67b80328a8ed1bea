from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.jsonschemas.parameters import allows_others, described, undeclared

X: dict[str, Any] = {"x": {"type": "integer"}}
XY = {**X, "y": {}}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"properties": X}, "x"),
        ({"properties": X, "additionalProperties": False}, "x"),
        ({"properties": X, "unevaluatedProperties": False}, "x"),
        ({"properties": {}}, ""),
        ({"properties": {}, "anyOf": [{"properties": XY}]}, "xy"),
        ({"properties": X, "anyOf": [{"properties": {"y": {}}}, {"required": ["x"]}]}, "xy"),
        ({"properties": X, "allOf": [True, {"properties": {"z": {}}}]}, "xz"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": X}}}, "x"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": XY}}}, "xy"),
        ({"properties": X, "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}}, "x"),
        ({"properties": X, "oneOf": [{"$ref": "#"}, {"required": ["x"]}]}, "x"),
    ],
)
def test_schemas_that_say_which_parameters_there_are(schema: dict[str, Any], names: str) -> None:
    assert described(schema) == [*names]
    assert not allows_others(schema)
    assert undeclared(schema, {"x": 1, "y": 2, "z": 3}) == [name for name in "xyz" if name not in names]


def test_what_is_required_is_declared() -> None:
    schema = {"properties": X, "required": ["y"]}

    assert described(schema) == ["x"]
    assert undeclared(schema, {"x": 1, "y": 2, "z": 3}) == ["z"]


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"unevaluatedProperties": {}},
        {"patternProperties": {"^y": {}}},
        {"dependentSchemas": {"x": {"properties": {"y": {}}}}},
        {"if": {}, "then": {"properties": {"y": {}}}},
        {"allOf": [{"additionalProperties": True}]},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#anchor"},
    ],
)
@pytest.mark.parametrize("properties", [{}, X])
def test_schemas_that_allow_others(more: dict[str, Any], properties: dict[str, Any]) -> None:
    schema = {"properties": properties, **more}

    assert allows_others(schema)
    assert undeclared(schema, {"x": 1, "y": 2}) == []


def test_a_schema_that_says_nothing_is_no_list_of_parameters() -> None:
    assert undeclared({}, {"x": 1}) == []
    assert described({}) == []
    assert not allows_others({})
