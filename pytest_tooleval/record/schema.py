"""The published JSON Schema of the result document, made from its types."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from .document import Document

SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/results.schema.json"
)


def results_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the file that `--tooleval-json` writes."""
    (root,), definitions = msgspec.json.schema_components([Document], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "pytest-tooleval results",
        **root,
        "$defs": definitions,
    }


def results_schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(results_schema(), indent=2, ensure_ascii=False) + "\n"
