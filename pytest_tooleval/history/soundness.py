"""Whether a store holds what this package writes.

A history is a file like any other: it may lie in a repository that somebody cloned, and its ids become
names of files, its texts and numbers what a terminal or a page shows. So everything is checked when it
is read, documents by the schema that is published for them. Not by jsonschema, which takes 30 times as
long: two runs of a thousand cases could not be compared within a second.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Set
from functools import cache
from typing import Any

from ..reports.schema import Schema
from ..reports.schema import results_schema
from ..rows import BULKY
from ..text import json_text
from .codec import timestamp

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LAST_MOMENT = 2.5e11  # in the year 9892; in 10000 `datetime` ends
# Far beyond any number of ours, and still a float when it is squared, or summed with others.
_LARGEST = 1e100
# Of what JSON makes, so that neither True is a number nor a subclass needs a look.
_TYPES: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "null": frozenset({type(None)}),
}
_HEAD: dict[str, tuple[str, ...]] = {
    "id": ("string",),
    "started": ("number",),
    "updated": ("number",),
    "duration_s": ("number", "null"),
    "finished": ("integer",),
    "exitstatus": ("integer", "null"),
    "host": ("string",),
    "commit_id": ("string", "null"),
    "branch": ("string", "null"),
    "dirty": ("integer", "null"),
    "gates_passed": ("integer",),
    "gates_failed": ("integer",),
}
_HEAD_TYPES = [frozenset().union(*(_TYPES[name] for name in names)) for names in _HEAD.values()]

# What a listing does not read, what is computed, and what was not written from the beginning: a field
# that is added to the schema belongs here, or what was kept before it could not be read any more.
_MAY_LACK = {"Run": ("partial", "total"), "Trial": BULKY, "ComparedMetric": ("suite",)}

# What is wrong with a value, and where in it; nothing if it is sound.
Check = Callable[[Any], "str | None"]


class DamageError(Exception):
    """What was read was not written by this package. The message says where, not in which file."""

    def __init__(self, message: str, cure: str = "move the file away, and a new one is made") -> None:
        super().__init__(message)
        self.cure = cure


def is_run_id(id: object) -> bool:
    """Whether this can be the id of a run, which is the name of a file, too."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None


def _is_number(value: object) -> bool:
    return type(value) in _TYPES["number"] and -_LARGEST <= value <= _LARGEST  # type: ignore[operator]


def _is_moment(value: object) -> bool:
    return _is_number(value) and 0 <= value <= _LAST_MOMENT  # type: ignore[operator]


def _is_iso(value: object) -> bool:
    try:
        return isinstance(value, str) and _is_moment(timestamp(value))
    except (ValueError, OverflowError):
        return False


def check_heads(connection: sqlite3.Connection) -> None:
    """The columns of all runs, but for their documents. Raises DamageError."""
    for row in connection.execute(f"SELECT {', '.join(_HEAD)} FROM runs"):
        for number, types in enumerate(_HEAD_TYPES):
            if type(row[number]) not in types:
                name = [*_HEAD][number]
                raise DamageError(f"runs.{name}{_wrong(' or '.join(_HEAD[name]), row[number])}")
        id, started, updated, duration_s, *_ = row
        if not is_run_id(id):
            raise DamageError(f"runs.id{_wrong('letters, digits and . _ -', id)}")
        for name, moment in (("started", started), ("updated", updated)):
            if not 0 <= moment <= _LAST_MOMENT:
                raise DamageError(f"runs.{name}{_wrong('a time', moment)}")
        if duration_s is not None and not _is_number(duration_s):
            raise DamageError(f"runs.duration_s{_wrong('number', duration_s)}")


def check_texts(*values: object) -> None:
    """Columns of cases and suites that are texts. Raises DamageError."""
    for value in values:
        if not isinstance(value, str):
            raise DamageError(f"cases: expected a text, got {json_text(value, 60)}")


def check_numbers(*values: object) -> None:
    """Sums over columns of cases. Raises DamageError."""
    for value in values:
        if not _is_number(value):
            raise DamageError(f"cases: expected a number, got {json_text(value, 60)}")


def read_json(text: object, place: str) -> Any:
    """A stored value; numbers that JSON does not have are null. Raises DamageError."""
    try:
        return json.loads(text, parse_constant=lambda name: None)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise DamageError(f"{place}: is not JSON: {error}") from None


def check_part(kind: str, value: object, place: str) -> None:
    """Compare a value with what the schema says of a `kind`, such as `Gate`. Raises DamageError.

    More fields than the schema has are fine, they are a newer version's. A `Trial` may lack what is
    kept apart from it, which is a `Bulk`.
    """
    wrong = _named(kind)(value)
    if wrong is not None:
        raise DamageError(f"{place}{wrong}")


@cache
def _definitions() -> dict[str, Schema]:
    definitions: dict[str, Schema] = results_schema()["$defs"]
    bulk = {name: definitions["Trial"]["properties"][name] for name in BULKY}
    return {**definitions, "Bulk": {"type": "object", "properties": bulk, "required": BULKY}}


@cache
def _named(kind: str) -> Check:
    return _check(_definitions()[kind], _MAY_LACK.get(kind, ()))


def _check(schema: Schema, optional: Collection[str] = ()) -> Check:
    if "$ref" in schema:
        return _named(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        inner = _check(schema["anyOf"][0])
        return lambda value: None if value is None else inner(value)
    if "enum" in schema:
        return _check_word(schema["enum"])
    if schema.get("format") == "date-time":
        return lambda value: None if _is_iso(value) else _wrong("an ISO 8601 time", value)
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if "items" in schema:
        return _check_members(_check(schema["items"]), list)
    if "properties" in schema:
        fields = {name: _check(field) for name, field in schema["properties"].items()}
        return _check_fields(fields, {name for name in schema["required"] if name not in optional})
    if isinstance(schema.get("additionalProperties"), Mapping):
        return _check_members(_check(schema["additionalProperties"]), dict)
    return _check_type(names, schema.get("minimum", -_LARGEST))


def _wrong(expected: str, value: object) -> str:
    return f": expected {expected}, got {json_text(value, 60)}"


def _check_word(words: Collection[object]) -> Check:
    expected = " or ".join(str(word) for word in words if word is not None)

    def check(value: Any) -> str | None:
        sound = (value is None or isinstance(value, str)) and value in words
        return None if sound else _wrong(expected, value)

    return check


def _check_type(names: Collection[str], least: float) -> Check:
    types = frozenset().union(*(_TYPES[name] for name in names))
    expected = " or ".join(names)

    def check(value: Any) -> str | None:
        if type(value) not in types:
            return _wrong(expected, value)
        if type(value) in _TYPES["number"] and not least <= value <= _LARGEST:
            return _wrong(f"{expected}, not below {least} or above {_LARGEST}", value)
        return None

    return check


def _check_members(inner: Check, holder: type[list[Any]] | type[dict[str, Any]]) -> Check:
    (expected,) = (name for name, types in _TYPES.items() if holder in types)

    def check(value: Any) -> str | None:
        if type(value) is not holder:
            return _wrong(expected, value)
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            wrong = inner(item)
            if wrong is not None:
                return f"[{json_text(name, 60)}]{wrong}"
        return None

    return check


def _check_fields(fields: Mapping[str, Check], required: Set[str]) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is not dict:
            return _wrong("object", value)
        if not required <= value.keys():
            return f".{min(required - value.keys())}: is missing"
        for name, inner in fields.items():
            wrong = inner(value[name]) if name in value else None
            if wrong is not None:
                return f".{name}{wrong}"
        return None

    return check
