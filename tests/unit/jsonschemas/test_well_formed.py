from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from pytest_tooleval.explain import field_path
from pytest_tooleval.jsonschemas.older import modern
from pytest_tooleval.jsonschemas.subschemas import change_all
from pytest_tooleval.jsonschemas.well_formed import schema_findings


def found(schema: dict[str, Any]) -> dict[str, str]:
    return {field_path(f.loc): f.message for f in schema_findings(schema, ())}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"a": True, "b": {}}},
        {"properties": {"type": {"type": ["string", "null"]}, "required": {"enum": [1, None]}}},
        {"properties": {"a": {"pattern": r"^\p{L}+$"}}},
        {"properties": {"a": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {"type": "integer"}}},
        {"properties": {"a": {"$ref": "#"}, "$ref": {"type": "string"}}},
        {"properties": {"a": {"const": {"$ref": "#/nowhere"}}, "x-unit": {"x-unit": "m"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": False},
        {"dependencies": {"a": ["b"], "b": {"required": ["c"]}, "c": False}},
        {"properties": {"a": {"items": [{}, True], "additionalItems": False, "nullable": True}}},
        {"patternProperties": {"^a": {"type": "array", "prefixItems": [{}], "uniqueItems": True}}},
    ],
)
def test_valid_schemas(schema: dict[str, Any]) -> None:
    assert found(schema) == {}


def test_every_keyword_is_judged() -> None:
    registry = importlib.import_module("jsonschema_specifications").REGISTRY
    base = "https://json-schema.org/draft/2020-12/meta/"
    for part in ("core", "applicator", "unevaluated", "validation", "meta-data"):
        for key in registry.contents(base + part)["properties"]:
            # `const` and `default` take any value; nobody uses vocabularies.
            judged = found({key: -1.5}) or found({key: "x"})
            assert judged or key in ("const", "default", "$vocabulary"), key


@pytest.mark.parametrize(
    ("schema", "at", "message"),
    [
        ({"type": "string"}, "type", 'expected "object", got the string "string"'),
        ({"type": ["object", "null"]}, "type", 'expected "object", got the list'),
        ({"properties": {"a": {"type": "strin"}}}, "properties.a.type", 'did you mean "string"?'),
        ({"properties": {"a": {"type": "dict"}}}, "properties.a.type", 'did you mean "object"?'),
        (
            {"properties": {"a": {"required": True}}},
            "properties.a.required",
            ("list the names of required properties"),
        ),
        ({"properties": []}, "properties", "expected an object of names and schemas, got an empty list"),
        ({"properties": {"a": "string"}}, "properties.a", "expected a schema: an object, true or false"),
        ({"properties": {"a": {"items": [{}, 1]}}}, "properties.a.items[1]", "expected a schema"),
        (
            {"properties": {"a": {"items": [{}], "prefixItems": [{}]}}},
            "properties.a.items",
            "expected a schema",
        ),
        ({"dependencies": {"a": "b"}}, "dependencies.a", "expected a schema"),
        ({"dependencies": {"a": ["b", 1]}}, "dependencies", "a list of names or a schema"),
        ({"properties": {"a": {"nullable": "yes"}}}, "properties.a.nullable", "expected true or false"),
        ({"properties": {"a": {"minimum": "3"}}}, "properties.a.minimum", "expected a number"),
        (
            {"properties": {"a": {"exclusiveMinimum": True}}},
            "properties.a.exclusiveMinimum",
            "not a flag",
        ),
        ({"properties": {"a": {"enum": "x"}}}, "properties.a.enum", "expected a list of values"),
        ({"properties": {"a": {"anyOf": []}}}, "properties.a.anyOf", "a non-empty list of schemas"),
        ({"properties": {"a": {"pattern": "("}}}, "properties.a.pattern", "does not compile"),
        ({"required": ["a", "a"]}, "required", "a list of different property names"),
        (
            {"properties": {"a": {"$ref": "#/$defs/x"}}},
            "properties.a.$ref",
            "does not exist in this schema",
        ),
    ],
)
def test_invalid_schemas(schema: dict[str, Any], at: str, message: str) -> None:
    messages = found(schema)
    assert list(messages) == [at]
    assert message in messages[at]


def test_a_hostile_schema_is_refused_and_nothing_else() -> None:
    schema: dict[str, Any] = {"$comment": 1}
    for _ in range(47):  # as deep as a file may be nested
        schema = {"properties": {"a": schema}, "$comment": "x"}
    assert set(found(schema)) <= {"", "properties.a." * 47 + "$comment"}
    assert found(schema)


KEYWORDS = [
    "type",
    "properties",
    "required",
    "enum",
    "items",
    "additionalProperties",
    "anyOf",
    "minimum",
    "minLength",
    "description",
    "format",
    "pattern",
    "uniqueItems",
    "$defs",
    "not",
    "x-unit",
    "prefixItems",
    "dependentRequired",
    "multipleOf",
    "if",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "object", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([key for key in KEYWORDS if key != "type"]), VALUES, max_size=3))
def test_the_verdict_agrees_with_jsonschema(schema: dict[str, Any]) -> None:
    try:
        Draft202012Validator.check_schema(change_all(schema, modern))
        is_valid = True
    except SchemaError:
        is_valid = False
    assert (not found(schema)) == is_valid
