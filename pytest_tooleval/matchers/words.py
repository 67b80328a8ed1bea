"""Values from a model in the reasons why they do not match."""

from __future__ import annotations

from typing import Any

from ..record.calls import is_number
from ..text import json_text

_TYPE_NAMES = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a string",
    "list": "a list",
    "object": "an object",
}


def type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, (list, tuple)) else "object"


def shown(value: Any) -> str:
    kind = type_of(value)
    if kind in ("list", "object"):
        return _TYPE_NAMES[kind]
    text = json_text(value, 30)
    return f"the {kind} {text}" if kind in ("string", "number") else text


def is_not_of(actual: Any, kind: str) -> str:
    """`is the string "7", not a number`."""
    return f"is {shown(actual)}, not {_TYPE_NAMES[kind]}"
