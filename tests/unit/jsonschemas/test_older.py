"""Keywords of older drafts and of OpenAPI 3.0."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from pytest_tooleval.jsonschemas.parameters import extra_paths
from pytest_tooleval.jsonschemas.validation import is_valid
from pytest_tooleval.jsonschemas.values import required_values

NAMES = st.sampled_from("abc")
LEAVES = st.sampled_from([{}, True, False, {"type": "integer"}, {"type": "string"}, {"required": ["b"]}])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "dependencies": st.dictionaries(NAMES, inner | st.lists(NAMES, unique=True, max_size=2)),
            # jsonschema cannot handle additionalItems beside a boolean.
            "items": st.lists(inner, max_size=3) | inner.filter(lambda each: isinstance(each, dict)),
            "additionalItems": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "type": st.sampled_from(["object", "array"]),
        },
    )


SCHEMAS = st.recursive(LEAVES, _schemas, max_leaves=6)
VALUES = st.recursive(
    st.sampled_from([1, "x", None]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_they_mean_what_draft_7_says(schema: Any, value: Any) -> None:
    assert is_valid(schema, value) is Draft7Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "string", "nullable": True}, None, 1),
        ({"type": ["string", "integer"], "nullable": True}, None, True),
        ({"type": "string", "enum": ["a"], "nullable": True}, None, "b"),
        ({"enum": ["a"], "nullable": True}, None, "b"),
        ({"const": "a", "type": "string", "nullable": True}, None, "b"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}, "nullable": True}, None, 1),
        ({"type": "string", "nullable": False}, "a", None),
        ({"properties": {"a": {"type": "string", "nullable": True}}}, {"a": None}, {"a": 1}),
        ({"items": [{"type": "string", "nullable": True}]}, [None], [1]),
        ({"anyOf": [{"type": "object", "nullable": True}]}, None, 1),
    ],
)
def test_nullable(schema: Any, right: Any, wrong: Any) -> None:
    assert is_valid(schema, right)
    assert not is_valid(schema, wrong)


def test_what_is_made_of_them() -> None:
    pair = {"type": "array", "items": [{"const": 1}, {"type": "boolean"}]}
    schema = {"properties": {"a": pair}, "required": ["a"], "dependencies": {"a": {}}}
    assert required_values(schema) == {"a": [1, True]}
    assert extra_paths(schema, {"x": 1}) == []  # the dependency might declare it
    assert extra_paths({**schema, "dependencies": {"a": ["b"]}}, {"x": 1}) == [("x",)]
