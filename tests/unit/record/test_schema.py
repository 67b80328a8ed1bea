"""The published schemas of the record are those of its types, and have words for each field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from generated import events_schema, results_schema
from jsonschema import Draft202012Validator

SCHEMAS = pytest.mark.parametrize("make", [results_schema, events_schema])


@SCHEMAS
def test_it_is_a_schema_and_describes_every_field(make: Callable[[], dict[str, Any]]) -> None:
    schema = make()
    Draft202012Validator.check_schema(schema)
    for name, definition in schema["$defs"].items():
        assert definition.get("description"), name
        for field, value in definition["properties"].items():
            assert value.get("description") or field == "event", f"{name}.{field}"
