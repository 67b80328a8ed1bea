from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bfcl_data import bfcl_suite_file
from jsonschema import Draft202012Validator

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.schema import suite_schema
from pytest_tooleval.suite.types import SCHEMA_ID

ROOT = Path(__file__).parents[3]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}

VALID: list[dict[str, Any]] = [
    {"expected_tool": None, "$comment": ["No tool", "fits."]},
    {"expected_tool": "f", "expected_params": None, "expected_calls": None},
    {"expected_tool": ["f"], "expected_params": {"a": {"b": [1, "x", None, True, {"c": {}}]}}},
    {"expected_tool": "*", "id": "größe 1 (a/b)", "tags": ["größe", "v1.2", "a-b+c", "x_y"]},
    {"expected_calls": [], "tools": []},
    {
        "expected_calls": [
            {"tool": ["f"], "params": {"a": {"$optional": {"$any_of": [1, {"$exact": 2}]}}}}
        ]
    },
    {"expected_tool": "f", "expected_params": {"a": {"$approx": {"value": 1, "rel": 0.1}}, "$odd": 1}},
    {
        "expected_tool": "f",
        "expected_params": {"a": {"$regex": "^x"}, "b": {"$schema": {"type": "string"}}},
    },
    {"expected_tool": "f", "expected_params": {"a": {"$contains": ["x"]}}},
    {
        "expected_tool": "f",
        "expected_params": {
            "a": {"$all_of": [{"$gte": 1}, {"$lt": 5}]},
            "b": {"$unordered": [{"$not": "x"}, {"$type": ["integer", "null"]}]},
            "c": {"$len": {"$lte": 3}},
            "d": {"$date": "2026-03-02T10:00Z"},
            "e": {"$optional": {"$len": 2}},
        },
    },
    {"expected_tool": "f", "prompt": [{"role": "user", "content": "x", "name": "me"}]},
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$sequence": [1]}}},
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$when": [{"answer": None}]}}},
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$exact": {"$mcp": 1}}}},
    {"expected_tool": "f", "skip": "why", "xfail": {"reason": "x", "strict": True}, "weight": 0.5},
    {
        "expected_tool": "f",
        "thresholds": {"overall": 0, "tool_selection": 1},
        "temperature": 2,
        "trials": 3,
    },
]
INVALID: list[dict[str, Any]] = [
    {},
    {"expected_calls": None},
    {"expected_tool": "f", "expected_calls": []},
    {"expected_calls": [], "expected_params": {}},
    {"expected_calls": [{"params": {}}]},
    {"expected_tool": ""},
    {"expected_tool": []},
    {"expected_tool": "f", "expected_parms": {}},
    {"expected_tool": "f", "expected_params": {"a": {"$regx": "x"}}},
    {"expected_tool": "f", "expected_params": {"a": {"$regex": "x", "b": 1}}},
    {"expected_tool": "f", "expected_params": {"a": [{"$approx": {"value": 1}}]}},
    {"expected_tool": "f", "expected_params": {"a": {"$gte": "1"}}},
    {"expected_tool": "f", "expected_params": {"a": {"$len": -1}}},
    {"expected_tool": "f", "expected_params": {"a": {"$all_of": []}}},
    {"expected_tool": "f", "expected_params": {"a": {"$type": "text"}}},
    {"expected_tool": "f", "prompt": "  "},
    {"expected_tool": "f", "prompt": []},
    {"expected_tool": "f", "prompt": [{"role": "system", "content": "x"}]},
    {"expected_tool": "f", "prompt": [{"role": "usr", "content": "x"}]},
    {"expected_tool": "f", "id": ""},
    {"expected_tool": "f", "id": "a::b"},
    {"expected_tool": "f", "id": "a[b]"},
    {"expected_tool": "f", "id": " a"},
    {"expected_tool": "f", "tags": ["a b"]},
    {"expected_tool": "f", "tags": ["a", "a"]},
    {"expected_tool": "f", "temperature": 3},
    {"expected_tool": "f", "thresholds": {"overall": 2}},
    {"expected_tool": "f", "weight": 0},
    {"expected_tool": "f", "xfail": {"reson": "x"}},
    {"expected_tool": "f", "tools": [{"name": "f", "input_schema": {}}]},
    {
        "expected_tool": "f",
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}],
    },
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$sequence": []}}},
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$mcp": 1}}},
    {"expected_tool": "f", "multi_turn": True, "mock_responses": {"f": {"$when": [{"params": {}}]}}},
]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(suite_schema())


def suite(case: dict[str, Any]) -> dict[str, Any]:
    return {"name": "s", "tools": [TOOL], "test_cases": [{"prompt": "x", **case}]}


def test_the_schema_is_one() -> None:
    schema = suite_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == SCHEMA_ID
    assert schema["title"] == "pytest-tooleval suite"


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for member in schema.values():
            yield from objects(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from objects(member)


def test_every_field_is_described() -> None:
    schema = suite_schema()
    for definition in [schema, *schema["$defs"].values()]:
        for name, field in definition.get("properties", {}).items():
            assert field.get("description"), name


def test_no_editor_has_to_fetch_anything() -> None:
    references = [found["$ref"] for found in objects(suite_schema()) if "$ref" in found]
    assert references
    assert all(reference.startswith("#/$defs/") for reference in references)


@pytest.mark.parametrize("case", VALID)
def test_valid_suites(validator: Draft202012Validator, case: dict[str, Any]) -> None:
    data = suite(case)
    validator.validate(data)
    parse_suite(json.dumps(data))


@pytest.mark.parametrize("case", INVALID)
def test_invalid_suites(validator: Draft202012Validator, case: dict[str, Any]) -> None:
    data = suite(case)
    assert not validator.is_valid(data)
    with pytest.raises(SuiteError):
        parse_suite(json.dumps(data))


def test_the_fields_of_the_suite(validator: Draft202012Validator) -> None:
    whole = {"$schema": SCHEMA_ID, "system_prompt": "x", "metadata": {"a": 1}, "max_tokens": 5}
    assert validator.is_valid({**suite({"expected_tool": "f"}), **whole})
    assert not validator.is_valid({"name": "s"})
    assert not validator.is_valid({"name": "s", "test_cases": [], "expected_tool": "f"})


@pytest.mark.parametrize("part", ["irrelevance", "live_simple", "parallel_multiple"])
def test_real_suites(validator: Draft202012Validator, part: str) -> None:
    data = json.loads(bfcl_suite_file(part).read_text(encoding="utf-8"))
    data["test_cases"] = data["test_cases"][::5]
    validator.validate(data)
