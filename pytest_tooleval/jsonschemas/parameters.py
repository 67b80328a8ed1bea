"""The parameters that a tool's schema declares, and whether it allows others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..findings import Loc
from ..record.untrusted import as_list, as_mapping, as_text
from .older import modern
from .patterns import search
from .subschemas import COMBINED, ref_target

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


def extra_paths(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[Loc]:
    """Return the paths of keys that a schema neither declares nor allows, at any depth.

    A schema without `properties`, `patternProperties` and `required` allows all keys; an empty
    `properties` declares none. Raises CannotCompare for a pattern that cannot be searched for.
    """
    is_nested = any(isinstance(value, (dict, list)) for value in arguments.values())
    if not is_nested and arguments.keys() <= as_mapping(schema.get("properties")).keys():
        return []  # most calls
    paths: list[Loc] = []
    waiting: list[tuple[Loc, Any, list[Any]]] = [((), arguments, [schema])]
    while waiting:
        at, value, schemas = waiting.pop()
        by_schema = [_in_place(one, schema) for one in schemas]
        parts = [part for of_one in by_schema for part in of_one]
        # One of several schemas may be right without declaring anything.
        if isinstance(value, dict) and all(map(_says, by_schema)):
            paths += [(*at, name) for name in value if not _is_declared(name, parts)]
        within = _within(value, parts)
        waiting += [((*at, key), value[key], inner) for key, inner in within if inner]
    return sorted(paths, key=len)


def _within(value: Any, parts: Sequence[Mapping[str, Any]]) -> list[tuple[str | int, list[Any]]]:
    """Return the keys or indexes of a value's objects and lists, each with their schemas."""
    if isinstance(value, list):
        inside = [i for i, item in enumerate(value) if isinstance(item, (dict, list))]
        return [(i, _items(parts, i)) for i in inside]
    if isinstance(value, dict):
        names = [name for name, member in value.items() if isinstance(member, (dict, list))]
        return [(name, _members(parts, name)) for name in names]
    return []


def _says(parts: Sequence[Mapping[str, Any]]) -> bool:
    """True if these schemas for one value say which keys it has, and allow no others."""
    says = any("properties" in part or part.get("required") for part in parts)
    return (says or any("patternProperties" in part for part in parts)) and not _is_open(
        parts, but=("patternProperties",)
    )


def _is_declared(name: str, parts: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        name in as_mapping(part.get("properties"))
        or name in as_list(part.get("required"))
        or any(search(pattern, name) for pattern in as_mapping(part.get("patternProperties")))
        for part in parts
    )


def _members(parts: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the schemas of an object's member."""
    schemas = []
    for part in parts:
        declared = as_mapping(part.get("properties")).get(name)
        patterns = as_mapping(part.get("patternProperties"))
        matching = [inner for pattern, inner in patterns.items() if search(pattern, name)]
        others = [] if declared is not None or matching else [part.get("additionalProperties")]
        schemas += [inner for inner in (declared, *matching, *others) if isinstance(inner, dict)]
    return schemas


def _items(parts: Iterable[Mapping[str, Any]], index: int) -> list[Any]:
    """Return the schemas of a list's item."""
    schemas = []
    for part in parts:
        first = as_list(part.get("prefixItems"))
        schemas.append(first[index] if index < len(first) else part.get("items"))
    return [inner for inner in schemas if isinstance(inner, dict)]


def described_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the parameters that have a schema."""
    return _described(_in_place(schema))


def takes_null(schema: Mapping[str, Any], name: str) -> bool:
    """True if a parameter's own schema says that it may be null."""
    parts = [part for inner in _members(_in_place(schema), name) for part in _in_place(inner, schema)]
    return any("null" in (as_list(part.get("type")) or [part.get("type")]) for part in parts)


def parameters_of(schema: Mapping[str, Any]) -> set[str] | None:
    """Return the parameters that a tool with this schema takes; None if it takes any."""
    parts = _in_place(schema)
    return None if _is_open(parts) else set(_described(parts))


def allows_others(schema: Mapping[str, Any]) -> bool:
    """True if a schema explicitly allows parameters that it does not declare."""
    return _is_open(_in_place(schema))


def _in_place(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]]:
    """Return the schema, and those for the same value that it combines or refers to in its `root`."""
    root = schema if root is None else root
    parts: dict[int, Mapping[str, Any]] = {}
    waiting: list[Any] = [schema]
    for candidate in waiting:
        if not isinstance(candidate, dict) or id(candidate) in parts:
            continue
        parts[id(candidate)] = part = modern(candidate)
        waiting += [member for keyword in COMBINED for member in as_list(part.get(keyword))]
        if target := as_text(part.get("$ref")):
            inner = ref_target(root, target)
            waiting.append(_ELSEWHERE if inner is None else inner)
    return [*parts.values()]


def _is_open(parts: Iterable[Mapping[str, Any]], but: Collection[str] = ()) -> bool:
    keywords = [keyword for keyword in _OPEN if keyword not in but]
    return any(part.get(keyword, False) is not False for part in parts for keyword in keywords)


def _described(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [name for part in parts for name in as_mapping(part.get("properties"))]
