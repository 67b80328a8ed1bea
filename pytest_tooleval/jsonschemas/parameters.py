"""The parameters that a tool's schema declares, and whether it allows others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..record.untrusted import as_list, as_mapping, as_text
from .older import modern
from .subschemas import COMBINED, referred

# With one of these, a schema may accept more than the parameters that it declares.
_OPEN = (
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "dependentSchemas",
    "$dynamicRef",
    "if",
)
_ELSEWHERE = {"additionalProperties": True}  # another document may allow anything


def undeclared(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments that a schema neither declares nor allows.

    A schema without `properties` and `required` allows all; an empty `properties` declares none.
    """
    if arguments.keys() <= as_mapping(schema.get("properties")).keys():
        return []
    parts = _in_place(schema)
    required = {name for part in parts for name in as_list(part.get("required"))}
    says = required or any("properties" in part for part in parts)
    if not says or _is_open(parts):
        return []
    declared = required.union(_described(parts))
    return [name for name in arguments if name not in declared]


def described(schema: Mapping[str, Any]) -> list[str]:
    """Return the parameters that have a schema."""
    return _described(_in_place(schema))


def taken(schema: Mapping[str, Any]) -> set[str] | None:
    """Return the parameters that a tool with this schema takes; None if it takes any."""
    parts = _in_place(schema)
    return None if _is_open(parts) else set(_described(parts))


def allows_others(schema: Mapping[str, Any]) -> bool:
    """True if a schema explicitly allows parameters that it does not declare."""
    return _is_open(_in_place(schema))


def _in_place(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schema, and those for the same value that it combines or refers to."""
    found: dict[int, Mapping[str, Any]] = {}
    waiting: list[Any] = [schema]
    for given in waiting:
        if not isinstance(given, dict) or id(given) in found:
            continue
        found[id(given)] = part = modern(given)
        waiting += [member for keyword in COMBINED for member in as_list(part.get(keyword))]
        if target := as_text(part.get("$ref")):
            inner = referred(schema, target)
            waiting.append(_ELSEWHERE if inner is None else inner)
    return [*found.values()]


def _is_open(parts: Iterable[Mapping[str, Any]]) -> bool:
    return any(part.get(keyword, False) is not False for part in parts for keyword in _OPEN)


def _described(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [name for part in parts for name in as_mapping(part.get("properties"))]
