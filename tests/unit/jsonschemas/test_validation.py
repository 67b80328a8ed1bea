from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_tooleval.errors import CannotCompare
from pytest_tooleval.jsonschemas import patterns
from pytest_tooleval.jsonschemas.validation import errors, is_valid, parameter_problem

NAMES = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5, "a", "b", "", 1e400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ENUMS = st.lists(st.sampled_from(["a", "b", None, "", 1, 1.0, True, False, 0]), min_size=1, max_size=3)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "enum": ENUMS,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "items": inner,
            "additionalProperties": st.booleans(),
            "description": st.just("a text"),
            "minimum": st.integers(-1, 1),
        },
    )


SCHEMAS = st.recursive(_schemas(st.just({})), _schemas, max_leaves=6)


@given(SCHEMAS, VALUES)
def test_the_verdict_agrees_with_jsonschema(schema: dict[str, Any], value: Any) -> None:
    right = Draft202012Validator(schema).is_valid(value)

    assert is_valid(schema, value) is right
    assert (errors(schema, value) == []) is right


@pytest.mark.parametrize(
    ("schema", "value", "right"),
    [
        ({"pattern": "^a+$"}, "aaa", True),
        ({"pattern": "^a+$"}, "b", False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": r"^\d$"}, "٣", False),
        ({"patternProperties": {"^a$": False}}, {"a\n": 1}, True),
        ({"patternProperties": {"^x": {"type": "string"}}}, {"x1": "a", "y": 1}, True),
        ({"patternProperties": {"^x": {"type": "string"}}}, {"x1": 1}, False),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"x1": 1}, True),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 1}, False),
        ({"additionalProperties": {"type": "string"}}, {"y": 1}, False),
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}], True),
        ({"uniqueItems": True}, [{"a": [1]}, {"a": [1.0]}], False),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 1, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^a$"}, "b", False),
        ({"unevaluatedProperties": False, "properties": {"a": {}}}, {"b": 1}, False),
        ({"multipleOf": 0.01}, 0.07, True),
        ({"multipleOf": 0.01}, 0.075, False),
        pytest.param({"multipleOf": 0.1}, 10**4000, True, id="4001 digits"),
        ({"multipleOf": 5e-324}, 1e308, True),
        ({"multipleOf": 3}, 1e308, False),
        ({"multipleOf": 0.01}, 1e400, False),
        ({"maximum": 1e23}, 10**23, True),
        ({"exclusiveMinimum": 10**23}, 1e23, False),
        ({"const": 10**23}, 1e23, True),
        ({"enum": [[1e23], 0.1]}, [10**23], True),
        ({"enum": [[1], {"a": 0}]}, [True], False),
        ({"uniqueItems": True}, [1e23, 10**23], False),
        (True, 1, True),
        (False, 1, False),
    ],
)
def test_keywords(schema: Any, value: Any, right: bool) -> None:
    assert is_valid(schema, value) is right


def test_errors_are_short_lines_with_a_place() -> None:
    schema = {"properties": {"to": {"items": {"type": "string"}}}, "required": ["x"]}

    assert errors(schema, {"to": ["a", 5]}) == [
        "to[1]: 5 is not of type 'string'",
        "'x' is a required property",
    ]


def test_a_value_of_an_enum_in_other_case_says_that_case_counts() -> None:
    schema = {"properties": {"units": {"enum": ["celsius", "fahrenheit", None]}}}

    (problem,) = errors(schema, {"units": "Fahrenheit"})
    assert problem.startswith("units: 'Fahrenheit' is not one of ")
    assert problem.endswith(": the schema's enum keeps case")
    assert all("keeps case" not in each for each in errors(schema, {"units": "kelvin"}))
    assert all("keeps case" not in each for each in errors(schema, {"units": 5}))


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, 3, None),
        (True, 3, None),
        (False, 3, "False schema does not allow 3"),
        ({"type": "integer"}, "3", 'expected type "integer"'),
        ({"enum": ["c", "f"]}, "k", 'expected one of ["c", "f"]'),
        ({"pattern": "^[cf]$"}, "k", "'k' does not match '^[cf]$'"),
        ({"minimum": 0.1}, 0, "0 is less than the minimum of 0.1"),
        ({"$ref": "#/$defs/n"}, "3", 'expected type "integer"'),
        (
            {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/$defs/n"}}]},
            [1, "3"],
            '[1]: expected type "integer"',
        ),
        ({"properties": {"a b": {"type": "null"}}}, {"a b": 1}, '["a b"]: expected type "null"'),
    ],
)
def test_the_best_reason_why_a_parameter_cannot_have_a_value(
    schema: Any, value: Any, problem: str | None
) -> None:
    parameters = {"properties": {"x": schema}, "required": ["y"], "$defs": {"n": {"type": "integer"}}}

    assert parameter_problem(parameters, "x", value) == problem
    assert parameter_problem(parameters, "y", value) is None


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"pattern": "^(a|aa)*$"}, "a" * 60 + "b", "ran longer than"),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "items": {"pattern": "(a|aa)*$"},
            },
            ["a" * 60 + "b"],
            "ran longer than",
        ),
        ({"patternProperties": {"^(a|aa)*$": {}}}, {"a" * 60 + "b": 1}, "ran longer than"),
        ({"$ref": "http://localhost:1/schema.json"}, {}, "target of a $ref"),
        ({"$ref": "file:///etc/passwd"}, {}, "target of a $ref"),
        ({"$ref": "other.json"}, {}, "target of a $ref"),
        ({"$ref": "#/$defs/none"}, {}, "target of a $ref"),
        ({"$ref": "#"}, {}, "refers to itself endlessly"),
        ({"type": "text"}, {}, "is not valid"),
        ({"required": 5}, {}, "is not valid"),
        ({"properties": []}, {}, "is not valid"),
        ({"multipleOf": 0}, 1, "is not valid"),
        (
            {"unevaluatedProperties": False, "patternProperties": {"a": {}}},
            {},
            "together with patternProperties",
        ),
    ],
)
def test_schemas_that_cannot_be_used(
    schema: Any, value: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if words == "ran longer than":  # the others must not depend on how quick the machine is
        monkeypatch.setattr(patterns, "MATCH_TIMEOUT_S", 0.1)
    with pytest.raises(CannotCompare) as raised:
        is_valid(schema, value)

    assert words in raised.value.message


def test_a_schema_that_multiplies_work_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MATCH_TIMEOUT_S", 0.2)
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for i in range(1, 40):
        ref = {"$ref": f"#/$defs/d{i - 1}"}
        defs[f"d{i}"] = {"anyOf": [ref, ref]}
    start = time.process_time()

    with pytest.raises(CannotCompare, match=r"took longer than 0\.2 s"):
        is_valid({"$ref": "#/$defs/d39", "$defs": defs}, 5)
    assert time.process_time() - start < 20


def test_a_machine_that_stands_still_stops_no_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stalls(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            time.sleep(0.3)
            return super().__contains__(key)

    monkeypatch.setattr(patterns, "MATCH_TIMEOUT_S", 0.2)
    assert errors({"properties": {"a": {"type": "integer"}}}, Stalls(a=1)) == []


def test_a_deep_instance_of_a_recursive_schema_is_the_models_mistake() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    deep: Any = {}
    for _ in range(5000):
        deep = {"next": deep}

    assert is_valid(schema, {"next": {"next": {}}})
    assert not is_valid(schema, deep)


def test_many_list_members_are_compared_in_bounded_time() -> None:
    start = time.process_time()

    assert is_valid({"uniqueItems": True}, [{"a": i} for i in range(20_000)])
    assert time.process_time() - start < 20
