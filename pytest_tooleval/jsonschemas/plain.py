"""Check the part of JSON Schema that most tools use, without jsonschema."""

from __future__ import annotations

from typing import Any

_TYPES = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_MARKS = {"title", "description", "default", "examples"}
_PLAIN = {"type", "enum", "items", "properties", "required", "additionalProperties"} | _MARKS


def is_plainly_valid(schema: Any, value: Any) -> bool:
    """True if a value is certainly valid; if False, jsonschema must decide.

    This is enough for most calls, and saves importing jsonschema, which takes longer than scoring.
    """
    if not isinstance(schema, dict) or not _PLAIN.issuperset(schema):
        return False
    if "type" in schema:
        kind = schema["type"]
        if not isinstance(kind, str) or type(value) not in _TYPES.get(kind, ()):
            return False
    if "enum" in schema:
        listed = schema["enum"]
        return isinstance(value, str) and isinstance(listed, list) and value in listed
    if isinstance(value, list):
        return "items" not in schema or all(is_plainly_valid(schema["items"], each) for each in value)
    if not isinstance(value, dict):
        return True
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    more = schema.get("additionalProperties", True) is True
    return all(isinstance(name, str) and name in value for name in required) and all(
        is_plainly_valid(properties[name], each) if name in properties else more
        for name, each in value.items()
    )
