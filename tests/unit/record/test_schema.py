"""The published schema of the result document is the one of its types, and has words for each field."""

from __future__ import annotations

from pathlib import Path

from jsonschema import Draft202012Validator

from pytest_tooleval.record.schema import results_schema
from pytest_tooleval.record.schema import results_schema_text

PUBLISHED = Path(__file__).parents[3] / "docs" / "results.schema.json"


def test_the_published_schema_is_fresh() -> None:
    published = PUBLISHED.read_text(encoding="utf-8")
    assert published == results_schema_text(), "write results_schema_text() to docs/results.schema.json"


def test_it_is_a_schema_and_describes_every_field() -> None:
    schema = results_schema()
    Draft202012Validator.check_schema(schema)
    for name, definition in schema["$defs"].items():
        assert definition.get("description"), name
        for field, value in definition["properties"].items():
            assert value.get("description"), f"{name}.{field}"
