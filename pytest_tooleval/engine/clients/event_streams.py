"""Reads the documents in a stream of server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...record.untrusted import as_mapping

_LINE_END = re.compile(r"\r\n|\n|\r")
_FIELDS = ("data", "event", "id", "retry", "")  # a comment and a blank line have no field
DONE = "[DONE]"


def is_stream(text: str) -> bool:
    """Whether a body is a stream of events by its lines, whatever its content type says.

    Lines with other fields may be in it, if its data is JSON.
    """
    if "data:" not in text:
        return False
    fields = [line.partition(":")[::2] for line in _lines(text)]
    data = [value.strip() for name, value in fields if name == "data"]
    is_json = any(value.startswith(("{", "[")) for value in data)
    return is_json or (bool(data) and all(name in _FIELDS for name, _ in fields))


def events(text: str) -> Iterator[Any]:
    """The JSON value of each event. Raises ValueError for data that is not JSON.

    An error is an object with `error`, even if only the event's name says so.
    """
    name = ""
    lines: list[str] = []
    for line in [*_lines(text), ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield from _of_event(name, lines)
            name, lines = "", []
        elif field == "data":
            lines.append(value)
        elif field == "event":
            name = value
        elif line.startswith("{"):  # a gateway's error between the events
            yield json.loads(line)


def _lines(text: str) -> list[str]:
    """The lines behind a byte-order mark and blank ones. `splitlines` also splits inside texts."""
    return _LINE_END.split(text.lstrip("\ufeff \t\r\n"))


def _of_event(name: str, lines: Sequence[str]) -> Iterator[Any]:
    """The values of an event: of each line, if a recorder left out the blank ones between them."""
    texts = [line for line in lines if line.strip() not in ("", DONE)]
    try:
        values = [json.loads("\n".join(texts))] if texts else []
    except (ValueError, RecursionError):
        if name == "error":
            values = ["\n".join(texts)]
        elif len(texts) > 1:
            values = [json.loads(text) for text in texts]
        else:
            raise
    for value in values:
        is_named = name != "error" or as_mapping(value).get("error")
        yield value if is_named else {"error": value}
