"""The published JSON Schemas (draft 2020-12) of the record, made from its types."""

from __future__ import annotations

import inspect
import json
from typing import Any

import msgspec

from .document import Document
from .events import Event

_RESULTS = "results.schema.json"
_PUBLISHED = "https://raw.githubusercontent.com/pytest-tooleval/pytest-tooleval/main/docs/"


def results_schema() -> dict[str, Any]:
    """The schema of the file that `--tooleval-json` writes."""
    return _schema(Document, _RESULTS, "pytest-tooleval results")


def events_schema() -> dict[str, Any]:
    """The schema of a line that `--tooleval-events` writes. It refers to the other one."""
    text = json.dumps(_schema(Event, "events.schema.json", "pytest-tooleval event"))
    known = results_schema()["$defs"]
    for name in known:
        text = text.replace(f'"#/$defs/{name}"', f'"{_RESULTS}#/$defs/{name}"')
    schema: dict[str, Any] = json.loads(text)
    schema["$defs"] = {name: own for name, own in schema["$defs"].items() if name not in known}
    return schema


def _schema(type: object, file: str, title: str) -> dict[str, Any]:
    (root,), definitions = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        # Python leaves the indentation in docstrings until 3.13.
        definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _PUBLISHED + file,
        "title": title,
        **root,
        "$defs": definitions,
    }


def schema_text(schema: dict[str, Any]) -> str:
    """A schema as the text of its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
