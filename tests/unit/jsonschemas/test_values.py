from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.jsonschemas.validation import errors
from pytest_tooleval.jsonschemas.values import required_values


def required(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def value_of(schema: Any, name: str = "value") -> Any:
    """The value for one required parameter, which must be valid under its schema."""
    parameters = required(**{name: schema})
    values = required_values(parameters)
    assert errors(parameters, values) == []
    return values[name]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 7, "default": 8}, 7),
        ({"type": "string", "examples": ["a", "b"], "default": "c"}, "a"),
        ({"type": "string", "default": "c", "enum": ["b", "c"]}, "c"),
        ({"type": "string", "default": None, "enum": ["b", "c"]}, "b"),
        ({"type": "string", "examples": [5, "fits"]}, "fits"),
        ({"type": "string", "description": "The zone (e.g., 'Europe/Paris', 'UTC')"}, "Europe/Paris"),
        ({"type": "string", "description": 'Such as "x"'}, "x"),
        ({"type": "string", "description": "e.g. 'long'", "maxLength": 2}, "ex"),
        ({"type": "integer", "description": "e.g. '5'"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "string", "format": "date"}, "2026-01-15"),
        ({"type": "string", "format": "email"}, "ada@example.com"),
        ({"type": "string", "format": "of my own"}, "example value"),
        ({"type": "string", "minLength": 20}, "example value example value"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3}, 2),
        ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "minimum": 1.5}, 1.5),
        ({"type": "number", "maximum": 0.3, "multipleOf": 0.1}, 0.3),
        ({"minimum": 2}, 2),
        ({}, "example value"),
        (True, "example value"),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array"}, ["example value"]),
        ({"type": "array", "minItems": 2, "uniqueItems": True}, ["example value", "example value 2"]),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "array", "minItems": 2.0, "items": {"type": "integer"}}, [1, 2]),
        ({"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}]}, [1, True]),
        ({"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        ({"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 1}, {"a": 1}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ({"anyOf": [{"type": "null"}]}, None),
        (
            {"allOf": [required(a={"const": 1}), required(b={"const": 2})]},
            {"a": 1, "b": 2},
        ),
        (
            {"type": "object", "properties": {"a": {"const": 1}}, "anyOf": [{"required": ["a"]}]},
            {"a": 1},
        ),
    ],
)
def test_values_come_from_the_schema_and_are_valid(schema: Any, value: Any) -> None:
    assert value_of(schema) == value


def test_names_make_the_stand_ins() -> None:
    assert value_of({"type": "string"}, "repoPath") == "example repo path"
    assert value_of({"type": "array", "items": {"type": "string"}}, "entities") == ["example entities"]
    assert value_of({"type": "array", "items": {"type": "string"}}, "file_names") == [
        "example file names"
    ]
    assert value_of({"type": "string"}, "address") == "example address"


def test_numbers_differ_so_that_a_mix_up_shows() -> None:
    assert required_values(required(a={"type": "number"}, b={"type": "number"})) == {"a": 1, "b": 2}


def test_references_are_followed() -> None:
    parameters = {
        **required(
            at={"$ref": "#/$defs/point%20a~1b"}, to={"$ref": "#/properties/at", "description": "x"}
        ),
        "$defs": {
            "point a/b": required(x={"$ref": "#/$defs/list/anyOf/0"}),
            "list": {"anyOf": [{"type": "integer"}]},
        },
    }
    assert required_values(parameters) == {"at": {"x": 1}, "to": {"x": 2}}


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/none", "#/x-note", "#/required/²", "https://example.com/schema", "#anchor", ""],
)
def test_references_that_lead_nowhere_are_taken_as_anything(reference: str) -> None:
    parameters = {**required(a={"$ref": reference}), "x-note": {"required": 5}}
    assert required_values(parameters) == {"a": "example a"}


NODE = required(
    name={"type": "string"},
    children={"type": "array", "items": {"$ref": "#/$defs/node"}},
    parent={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
)


def test_a_recursive_schema_gives_a_small_valid_value() -> None:
    parameters = {**required(root={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}}
    values = required_values(parameters)
    assert values == {"root": {"name": "example name", "children": [], "parent": None}}
    assert errors(parameters, values) == []


def bomb(width: int, depth: int) -> dict[str, Any]:
    """References of which each leads to many more: width ** depth values in all."""
    defs: dict[str, Any] = {
        f"d{level}": required(**{f"p{n}": {"$ref": f"#/$defs/d{level + 1}"} for n in range(width)})
        for level in range(depth)
    }
    defs[f"d{depth}"] = {"type": "string"}
    return {**required(start={"$ref": "#/$defs/d0"}), "$defs": defs}


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        required(a={"$ref": "#/properties/a"}),
        required(a={"$ref": "#"}),
        {
            **required(a={"$ref": "#/$defs/a"}),
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        },
        {**required(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 9}}},
        {**required(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 9}}},
        bomb(10, 10),
        {**required(), "allOf": [{"allOf": [{"allOf": [{}] * 500}] * 50}] * 50},
        required(**{f"p{number}": {"type": "string"} for number in range(5000)}),
        required(a={"type": "array", "minItems": 10**9, "items": {"type": "string"}}),
        required(a={"type": "string", "minLength": 10**9}),
        required(a={"type": "string", "default": "x" * 1_000_000}),
        required(a={"type": "integer", "minimum": 10**400}),
    ],
)
def test_hostile_schemas_cost_little(parameters: dict[str, Any]) -> None:
    started = time.process_time()
    values = required_values(parameters)
    assert time.process_time() - started < 10
    assert len(json.dumps(values)) < 200_000


def deep(levels: int, keyword: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = (
            {"properties": {"a": schema}, "required": ["a"]}
            if keyword == "properties"
            else {keyword: [schema]}
        )
    return required(a=schema)


@pytest.mark.parametrize("keyword", ["properties", "anyOf", "allOf"])
def test_a_deep_schema_is_not_followed_to_its_end(keyword: str) -> None:
    assert len(json.dumps(required_values(deep(90, keyword)))) < 2000


LEAF = st.one_of(
    st.builds(
        lambda low, size: {"type": "integer", "minimum": low, "maximum": low + size},
        st.integers(-100, 100),
        st.integers(0, 100),
    ),
    st.builds(
        lambda low, size: {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + size},
        st.integers(-100, 100),
        st.integers(1, 100),
    ),
    st.builds(
        lambda low, size: {"type": "string", "minLength": low, "maxLength": low + size},
        st.integers(0, 100),
        st.integers(0, 100),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.text(max_size=5), min_size=1, unique=True)),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"type": ["string", "null"]}]),
)
SCHEMA: st.SearchStrategy[dict[str, Any]] = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(
            lambda items, n: {"type": "array", "items": items, "minItems": n}, inner, st.integers(0, 4)
        ),
        st.builds(
            lambda properties, extra: {**required(**properties), "additionalProperties": extra},
            st.dictionaries(st.text(max_size=5), inner, max_size=4),
            st.booleans(),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), SCHEMA, max_size=4))
def test_values_are_valid_under_ordinary_schemas(properties: dict[str, Any]) -> None:
    parameters = required(**properties)
    assert errors(parameters, required_values(parameters)) == []
