"""Reads records from files of other programs: JSON or JSON lines, each record with its place."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from ..errors import Location, Problem, SuiteError, os_reason
from ..explain import describe, show
from ..record.calls import is_nested_deeper
from ..record.encoding import PYTHON
from ..secrets import redact
from ..suite.source import MAX_FILE_DEPTH, decode_bytes
from ..text import shown

# A suite, whose depth is limited, adds some levels around a record.
_DEEPEST = MAX_FILE_DEPTH - 10
_GZIP = b"\x1f\x8b"
_MOST_BYTES = 64 << 20  # of a body
_SHOWN_KEYS = 8
_LISTS_OF_TOOLS = ("tools", "functions")
_DEEP_TOOLS = 4  # objects around them
_JSON = (".json", ".jsonl", ".ndjson")
_NOT_READ = "cannot be read; expected JSON, JSON Lines or YAML (*.yaml), or a folder of such files"
_BETWEEN = re.compile(r"[\s,]*")
_DECODE = json.JSONDecoder().raw_decode


class UnusableError(Exception):
    """Something that cannot be imported; says why."""


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON value and its place: its file, its line, from 1, and its path inside a larger value."""

    path: Path
    line: int
    value: Any
    field: str = ""

    @property
    def location(self) -> Location:
        return Location(str(self.path), self.line, 1, self.field)

    def problem(self, message: str) -> Problem:
        return self.location.problem(redact(message))

    def inside(self, value: Any, field: str) -> Record:
        """A part of it."""
        return Record(self.path, self.line, value, field)


def read_records(
    path: Path, clean: Callable[[list[Any]], list[Any]] = lambda values: values, most: int | None = None
) -> tuple[list[Record], list[Problem]]:
    """The records of a file, each with its value cleaned, and the problems of those that cannot be read.

    In JSON lines, a record is a line, and at most the first `most` are read. Otherwise it is a member of
    the list in the file, or all of it. Raises SuiteError if the file as a whole cannot be read.
    """
    if path.suffix == ".py":
        raise SuiteError([Problem(str(path), 0, 0, "", PYTHON)])
    try:
        data = _bytes_of(path, most)
    except OSError as error:
        message = f"the file cannot be read: {os_reason(error)}"
        raise SuiteError([Problem(str(path), 1, 1, "", message)]) from None
    decode_bytes(data, str(path))
    if not data.strip():
        raise SuiteError([Problem(str(path), 1, 1, "", "the file is empty")])
    parts: Iterable[tuple[int, bytes]]
    try:
        parts = _lines(data) if _has_lines(data) else _members(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SuiteError([_problem(path, 1, data, error)]) from None
    records: list[Record] = []
    problems: list[Problem] = []
    lists_seen: dict[bytes, Any] = {}
    for line, part in parts:
        try:
            value = msgspec.json.decode(part)
            if is_nested_deeper(value, _DEEPEST):
                raise RecursionError
            records.append(Record(path, line, _shared(clean([value])[0], lists_seen)))
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(_problem(path, line, part, error))
    if not records and path.suffix not in _JSON and data.lstrip()[:1] not in (b"{", b"["):
        raise SuiteError([Problem(str(path), 0, 0, "", _NOT_READ)])
    return records, problems


def _bytes_of(path: Path, most: int | None) -> bytes:
    """The first lines of JSON Lines, without counting blank ones; else the whole file."""
    with path.open("rb") as file:
        head: list[bytes] = []
        while most and (line := file.readline()):
            head.append(line)
            most -= bool(line.strip())
        data = b"".join(head).removeprefix(codecs.BOM_UTF8)
        is_enough = data.strip() and _has_lines(data)
        return data if is_enough else (data + file.read()).removeprefix(codecs.BOM_UTF8)


def _shared(value: Any, lists_seen: dict[bytes, Any], depth: int = 0) -> Any:
    """The value, whose lists of tools are the same object as equal ones of other records."""
    if not isinstance(value, dict) or depth > _DEEP_TOOLS:
        return value
    for key, member in value.items():
        if key in _LISTS_OF_TOOLS and isinstance(member, list):
            value[key] = lists_seen.setdefault(msgspec.json.encode(member), member)
        else:
            _shared(member, lists_seen, depth + 1)
    return value


def read_yaml(path: Path) -> Any:
    """The JSON value of a YAML file. Raises SuiteError if it cannot be read, or has another value."""
    import yaml

    try:
        value = yaml.safe_load(path.read_bytes())
        return json.loads(json.dumps(value, allow_nan=False, default=_text_of_bytes))
    except (zlib.error, OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        message = f"no YAML that is JSON: {' '.join(str(error).split())}"
        raise SuiteError([Problem(str(path), 1, 1, "", message)]) from None


def _text_of_bytes(value: Any) -> Any:
    """The text of a body that a cassette has as bytes, perhaps compressed; an object if it is none."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no type of JSON")
    if value.startswith(_GZIP):
        value = zlib.decompressobj(wbits=31).decompress(value, _MOST_BYTES)
    try:
        return {"bytes": len(value)} if b"\0" in value else value.decode()
    except UnicodeDecodeError:
        return {"bytes": len(value)}


def decode_text(value: Any) -> Any:
    """The value, decoded if it is the JSON of an object or list as a string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            data = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return value
        return value if is_nested_deeper(data, MAX_FILE_DEPTH) else data
    return value


def looks_like(value: Any) -> str:
    """`an object with the keys a, b`."""
    if not isinstance(value, Mapping) or not value:
        return describe(value)
    keys = [shown(key, 40) for key in value]
    more = ", ..." if len(keys) > _SHOWN_KEYS else ""
    return f"an object with the keys {', '.join(keys[:_SHOWN_KEYS])}{more}"


def objects_of(values: Any, what: str) -> list[dict[str, Any]]:
    """The objects in a list; none for null. UnusableError for anything else, which may be a call."""
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise UnusableError(f"{what}: expected a list of objects, got {show(values)}")
    return values


def _has_lines(data: bytes) -> bool:
    """Whether there are several lines, and the first one is JSON."""
    lines = (line for _, line in _lines(data))
    first = next(lines)
    try:
        msgspec.json.decode(first if next(lines, None) is not None else b"")
    except RecursionError:
        return True
    except msgspec.DecodeError:
        return False
    return True


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, but for blank ones."""
    start = 0
    for number in count(1):
        end = data.find(b"\n", start)
        line = data[start:] if end < 0 else data[start:end]
        if line.strip():
            yield number, line
        if end < 0:
            return
        start = end + 1


def _members(data: bytes) -> list[tuple[int, bytes]]:
    """The members of the list in a file, with their lines, or else its single value."""
    value = data.strip()
    members = [value]
    if value.startswith(b"{"):
        try:
            msgspec.json.decode(value, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            texts, rest = _one_after_another(value.decode())
            members = members if rest else [text.encode() for text in texts]
    if value.startswith(b"["):
        members = [bytes(raw) for raw in msgspec.json.decode(value, type=list[msgspec.Raw])]
    numbered = []
    line, end = 1, 0
    for member in members:
        start = data.index(member, end)
        line += data.count(b"\n", end, start)
        numbered.append((line, member))
        line += member.count(b"\n")
        end = start + len(member)
    return numbered


def _one_after_another(text: str) -> tuple[list[str], str]:
    """The texts of the JSON values that a text begins with, and the rest of the text."""
    texts: list[str] = []
    start = len(text) - len(text.lstrip())
    with suppress(ValueError, RecursionError):
        while start < len(text):
            _, end = _DECODE(text, start)
            texts.append(text[start:end])
            space = _BETWEEN.match(text, end)
            start = space.end() if space else end
    return texts, text[start:]


def _problem(path: Path, line: int, text: bytes, error: Exception) -> Problem:
    """An error of msgspec about a text that begins on this line, at its place in the file."""
    if isinstance(error, RecursionError):
        return Problem(str(path), line, 1, "", f"nested deeper than {_DEEPEST} levels")
    message, _, offset = str(error).removeprefix("JSON is malformed: ").partition(" (byte ")
    before = text[: int(offset.rstrip(")") or 0)]
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    message = message.partition(" - at ")[0]
    line += before.count(b"\n")
    return Problem(str(path), line, column, "", f"invalid JSON: {message}")
