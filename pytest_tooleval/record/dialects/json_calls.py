"""Calls as JSON: an object with a name and arguments, a list of them, or several in a row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..repeated_keys import Ambiguous
from .dialect import Broken, Cursor, Written

_NAME_KEYS = ("name", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters")
_OTHER_KEYS = {"type", "id", "tool_call_id"}
_SEPARATORS = re.compile(r"[;,]?\s*(?=[{\[])")


def in_tags(*closers: str) -> Callable[[Cursor, re.Match[str]], Iterator[Written]]:
    """Return a reader of JSON calls up to one of these closing tags; none: the JSON ends them."""

    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
        yield from read_values(cursor)
        cursor.skip("```")
        cursor.close(*closers)

    return read


def read_values(cursor: Cursor) -> Iterator[Written]:
    """Read JSON values as long as they follow each other. Raises Broken."""
    yield from calls_in_json(cursor.json())
    while cursor.match(_SEPARATORS):
        yield from calls_in_json(cursor.json())


def calls_in_json(value: Any) -> Iterator[Written]:
    """Yield the calls of a value. Raises Broken if it holds anything else."""
    members = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and set(value) == {"tool_calls"}:
        lists = [each if isinstance(each, list) else [None] for _, each in value.items()]
        members = [member for each in lists for member in each]
    for member in members:
        yield _call(member)


def _call(data: Any) -> Written:
    if isinstance(data, dict) and isinstance(data.get("function"), dict):
        data = data["function"]
    if not isinstance(data, dict):
        raise Broken("it is no object with a name and arguments")
    names = [key for key in _NAME_KEYS if isinstance(data.get(key), str)]
    keys = [key for key in _ARGUMENT_KEYS if key in data]
    if len(names) != 1:
        raise Broken("it has no name")
    name = data[names[0]]
    if len(keys) > 1 or set(data) - _OTHER_KEYS - {*names} != set(keys):
        raise Broken("it has more than a name and arguments", name)
    if isinstance(data, Ambiguous):
        return Written(name, f"(a key of the call appears twice) {json.dumps(data)}")
    return Written(name, data[keys[0]] if keys else None)
