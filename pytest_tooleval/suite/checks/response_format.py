"""Errors in the form that answers are asked to have."""

from __future__ import annotations

from ...findings import Finding, Findings, Loc
from ...jsonschemas.well_formed import json_schema_findings
from ..case import TestCase
from ..model import Suite
from ..response_format import EXAMPLE


def format_errors(holder: Suite | TestCase, at: Loc) -> Findings:
    """A form without its schema, or with one that is none."""
    form, at = holder.response_format, (*at, "response_format")
    if form is None:
        return
    schema = form.json_schema
    if form.type == "json_schema" and schema is None:
        yield Finding((*at, "type"), f"json_schema needs a schema; write {EXAMPLE}")
    elif form.type == "json_object" and schema is not None:
        message = 'the type json_object has no schema; write "type": "json_schema", or remove this'
        yield Finding((*at, "json_schema"), message, at_key=True)
    if schema is not None:
        yield from json_schema_findings(schema.schema_, (*at, "json_schema", "schema"))
