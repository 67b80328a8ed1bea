from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from pytest_tooleval.suite.explain import field_path
from pytest_tooleval.suite.tool_schemas import _OTHERS
from pytest_tooleval.suite.tool_schemas import _PLAIN
from pytest_tooleval.suite.tool_schemas import ToolSchemas


def found(schema: dict[str, Any]) -> dict[str, str]:
    return {field_path(f.loc): f.message for f in ToolSchemas().findings(schema, ())}


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
        {"patternProperties": {"^a": {"type": "array", "prefixItems": [{}], "uniqueItems": True}}},
    ],
)
def test_valid_schemas(schema: dict[str, Any]) -> None:
    assert found(schema) == {}


def test_every_keyword_is_judged_or_left_to_jsonschema() -> None:
    registry = importlib.import_module("jsonschema_specifications").REGISTRY
    base = "https://json-schema.org/draft/2020-12/meta/"
    parts = ("core", "applicator", "unevaluated", "validation", "meta-data", "content")
    keywords = {key for part in parts for key in registry.contents(base + part)["properties"]}
    free = {key for key in keywords if key not in _PLAIN and key not in _OTHERS}
    assert free == {"const", "default"}


@pytest.mark.parametrize(
    ("schema", "at", "message"),
    [
        ({"type": "string"}, "type", 'expected "object", got the string "string"'),
        ({"type": ["object", "null"]}, "type", 'expected "object", got the list'),
        ({"properties": {"a": {"type": "strin"}}}, "properties.a.type", 'did you mean "string"?'),
        ({"properties": {"a": {"type": "dict"}}}, "properties.a.type", 'did you mean "object"?'),
        ({"properties": {"a": {"required": True}}}, "properties.a.required", "stand in a list beside"),
        ({"properties": []}, "properties", "expected an object of names and schemas, got an empty list"),
        ({"properties": {"a": "string"}}, "properties.a", "expected a schema: an object, true or false"),
        ({"properties": {"a": {"items": [{}]}}}, "properties.a.items", "write prefixItems"),
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
            "refers to nothing in this schema",
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


def test_ordinary_schemas_do_not_need_jsonschema() -> None:
    code = (
        "import sys\n"
        "from pytest_tooleval.suite.tool_schemas import ToolSchemas\n"
        "schema = {'type': 'object', 'properties': {'a': {'type': 'string', 'enum': ['x']}}}\n"
        "assert not list(ToolSchemas().findings(schema, ()))\n"
        "assert 'jsonschema' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "object", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([key for key in KEYWORDS if key != "type"]), VALUES, max_size=3))
def test_the_quick_way_agrees_with_jsonschema(schema: dict[str, Any]) -> None:
    try:
        Draft202012Validator.check_schema(schema)
        is_valid = True
    except SchemaError:
        is_valid = False
    assert (not found(schema)) == is_valid
