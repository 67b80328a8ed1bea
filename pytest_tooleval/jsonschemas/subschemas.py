"""The parts of a JSON Schema, and the targets of its references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from ..findings import Loc

# Keywords whose value is a schema, schemas by name, or a list of schemas.
ONE = (
    "items additionalProperties not if then else contains propertyNames contentSchema "
    "unevaluatedItems unevaluatedProperties additionalItems"
).split()
NAMED = "properties patternProperties dependentSchemas $defs definitions".split()
COMBINED = ("anyOf", "oneOf", "allOf")  # their schemas apply to the same value
LISTED = (*COMBINED, "prefixItems")

MISSING = object()


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[Loc, Any]]:
    """Yield the direct subschemas of a schema, each with its path."""
    for key, value in schema.items():
        # As in older drafts.
        if key == "items" and isinstance(value, list) and "prefixItems" not in schema:
            yield from (((key, index), inner) for index, inner in enumerate(value))
        elif key == "dependencies" and isinstance(value, dict):
            yield from (
                ((key, name), inner) for name, inner in value.items() if not isinstance(inner, list)
            )
        elif key in ONE:
            yield (key,), value
        elif key in NAMED and isinstance(value, dict):
            for name, inner in value.items():
                yield (key, name), inner
        elif key in LISTED and isinstance(value, list):
            for index, inner in enumerate(value):
                yield (key, index), inner


def parts(schema: Any, at: Loc = ()) -> Iterator[tuple[Loc, Any]]:
    """Yield a schema and all its subschemas, with their paths."""
    yield at, schema
    if isinstance(schema, dict):
        for inside, inner in subschemas(schema):
            yield from parts(inner, (*at, *inside))


def change_all(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return the schema with a change applied to it and all its subschemas."""

    def inside(key: str, value: Any) -> Any:
        if key in ONE and not isinstance(value, list):
            return change_all(value, change)
        if key in NAMED and isinstance(value, dict):
            return {name: change_all(inner, change) for name, inner in value.items()}
        if key in (*LISTED, "items") and isinstance(value, list):
            return [change_all(inner, change) for inner in value]
        return value

    if not isinstance(schema, dict):
        return schema
    return {key: inside(key, value) for key, value in change(schema).items()}


def references(schema: dict[str, Any] | bool) -> Iterator[tuple[Loc, str]]:
    """Yield the path and the target of every `$ref` in a schema.

    Schemas with an `$id` are skipped, as their references are relative to another document.
    """
    elsewhere: Loc | None = None
    for at, part in parts(schema):
        if elsewhere is not None and at[: len(elsewhere)] == elsewhere:
            continue
        if isinstance(part, dict):
            # `parts` yields a schema right before everything in it.
            elsewhere = at if "$id" in part else None
            target = part.get("$ref")
            if isinstance(target, str) and elsewhere is None:
                yield (*at, "$ref"), target


def ref_target(schema: Any, target: str) -> Any:
    """Return the target of a `$ref` such as `#/$defs/city` or `#`; None if this schema lacks it."""
    start, slash, names = unquote(target).partition("/")
    subschema = pointer_target(schema, slash + names) if start == "#" else MISSING
    return None if subschema is MISSING else subschema


def recursion(schema: dict[str, Any]) -> Loc | None:
    """Return the path of a `$ref` that leads back to itself; None without one."""
    for at, target in references(schema):
        inside, seen = [target], set[str]()
        while inside:
            name = inside.pop()
            if name not in seen:
                seen.add(name)
                part = ref_target(schema, name)
                inside += (each for _, each in references(part)) if isinstance(part, dict) else ()
                if target in inside:
                    return at
    return None


def pointer_target(document: Any, pointer: str) -> Any:
    """Return the target of a JSON Pointer (RFC 6901); `MISSING` if there is none."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return MISSING
    return document
