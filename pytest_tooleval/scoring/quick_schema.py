"""A fast check for the plain JSON Schemas that most tools have.

jsonschema takes longer to validate the arguments of one call than all the rest of its scoring
takes. Schemas made only of the keywords below are turned into closures that give the same verdict;
for any other schema `compile_schema` returns None and jsonschema decides.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from functools import reduce
from typing import Any

from ..record.calls import is_number

Check = Callable[[Any], bool]

_CHECKED = {"type", "properties", "required", "enum", "items", "additionalProperties"}
_ANNOTATIONS = {
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "$comment",
}
_KNOWN = _CHECKED | _ANNOTATIONS
_MAX_DEPTH = 30


def _is_integer(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: Mapping[str, Check] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def compile_schema(schema: Any, depth: int = 0) -> Check | None:
    """A function that tells whether a JSON value is valid; None when the schema is not a plain one."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH or not schema.keys() <= _KNOWN:
        return None
    checks: list[Check] = []
    for keyword, compile_keyword in _KEYWORDS:
        if keyword in schema:
            check = compile_keyword(schema, depth)
            if check is None:
                return None
            checks.append(check)
    return reduce(_both, checks) if checks else _accept


def _accept(value: Any) -> bool:
    return True


def _both(first: Check, second: Check) -> Check:
    return lambda value: first(value) and second(value)


def _type(schema: dict[str, Any], depth: int) -> Check | None:
    names = schema["type"]
    if isinstance(names, str):
        return _TYPES.get(names)
    if not isinstance(names, list) or not all(isinstance(n, str) and n in _TYPES for n in names):
        return None
    checks = [_TYPES[name] for name in names]
    return lambda value: any(check(value) for check in checks)


def _enum(schema: dict[str, Any], depth: int) -> Check | None:
    values = schema["enum"]
    # Strings and null have no second spelling; numbers, lists and objects are jsonschema's.
    if not isinstance(values, list) or not all(v is None or isinstance(v, str) for v in values):
        return None
    allowed = frozenset(values)
    return lambda value: (value is None or isinstance(value, str)) and value in allowed


def _object(schema: dict[str, Any], depth: int) -> Check | None:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return None
    checks: dict[str, Check] = {}
    for name, subschema in properties.items():
        check = compile_schema(subschema, depth + 1)
        if check is None:
            return None
        checks[name] = check

    def check_members(value: Any) -> bool:
        if isinstance(value, dict):
            for name, member in value.items():
                check = checks.get(name)
                if check is not None and not check(member):
                    return False
        return True

    return check_members


def _required(schema: dict[str, Any], depth: int) -> Check | None:
    names = schema["required"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    required = frozenset(names)
    return lambda value: not isinstance(value, dict) or required <= value.keys()


def _additional(schema: dict[str, Any], depth: int) -> Check | None:
    allowed = schema["additionalProperties"]
    if allowed is True:
        return _accept
    properties = schema.get("properties", {})
    if allowed is not False or not isinstance(properties, dict):
        return None
    known = properties.keys()
    return lambda value: not isinstance(value, dict) or value.keys() <= known


def _items(schema: dict[str, Any], depth: int) -> Check | None:
    check = compile_schema(schema["items"], depth + 1)
    if check is None:
        return None

    def check_members(value: Any) -> bool:
        if isinstance(value, list):
            for member in value:
                if not check(member):
                    return False
        return True

    return check_members


_KEYWORDS: tuple[tuple[str, Callable[[dict[str, Any], int], Check | None]], ...] = (
    ("type", _type),
    ("enum", _enum),
    ("required", _required),
    ("additionalProperties", _additional),
    ("properties", _object),
    ("items", _items),
)
