from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.jsonschemas.parameters import allows_others, described_names, extra_paths

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
    assert described_names(schema) == [*names]
    assert not allows_others(schema)
    assert extra_paths(schema, {"x": 1, "y": 2, "z": 3}) == [
        (name,) for name in "xyz" if name not in names
    ]


def test_what_is_required_is_declared() -> None:
    schema = {"properties": X, "required": ["y"]}

    assert described_names(schema) == ["x"]
    assert extra_paths(schema, {"x": 1, "y": 2, "z": 3}) == [("z",)]


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"unevaluatedProperties": {}},
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
    assert extra_paths(schema, {"x": 1, "y": 2}) == []


def test_a_schema_that_says_nothing_is_no_list_of_parameters() -> None:
    assert extra_paths({}, {"x": 1}) == []
    assert described_names({}) == []
    assert not allows_others({})


ORDER = {"properties": {"id": {}, "lines": {"type": "array", "items": {"properties": {"sku": {}}}}}}


@pytest.mark.parametrize(
    ("inner", "value", "paths"),
    [
        (ORDER, {"id": 1, "x": 1}, [("a", "x")]),
        (
            ORDER,
            {"lines": [{"sku": 1}, {"sku": 1, "y": 2}], "x": {"z": 1}},
            [("a", "x"), ("a", "lines", 1, "y")],
        ),
        ({"type": "object"}, {"x": {"y": 1}}, []),
        ({**ORDER, "additionalProperties": True}, {"x": 1}, []),
        ({"additionalProperties": ORDER}, {"b": {"x": 1}}, [("a", "b", "x")]),
        ({"patternProperties": {"^x": ORDER}}, {"x1": {"id": 1}, "y": 1}, [("a", "y")]),
        ({"patternProperties": {"^x": ORDER}}, {"x1": {"y": 1}}, [("a", "x1", "y")]),
        ({"anyOf": [{"type": "null"}, ORDER]}, {"x": 1}, [("a", "x")]),
        ({"$ref": "#/$defs/order"}, {"x": 1}, [("a", "x")]),
        ({"items": False, "prefixItems": [ORDER]}, [{"x": 1}], [("a", 0, "x")]),
    ],
)
def test_keys_invented_inside_arguments(inner: Any, value: Any, paths: list[tuple[Any, ...]]) -> None:
    schema = {"properties": {"a": inner}, "$defs": {"order": ORDER}}
    assert extra_paths(schema, {"a": value}) == paths


def test_of_several_schemas_one_may_say_nothing() -> None:
    schema = {"anyOf": [{"properties": {"a": ORDER}}, {"properties": {"a": {"type": "object"}}}]}
    assert extra_paths(schema, {"a": {"x": 1}}) == []
    both = {"allOf": [{"properties": {"a": ORDER}}, {"properties": {"a": {"properties": {"x": {}}}}}]}
    assert extra_paths(both, {"a": {"x": 1, "y": 1}}) == [("a", "y")]


def test_keys_that_match_no_pattern() -> None:
    schema = {"properties": X, "patternProperties": {"^y": {}}}
    assert extra_paths(schema, {"x": 1, "y1": 2, "z": 3}) == [("z",)]
