"""Files of records that other programs wrote: JSON or JSON lines, each record with its place."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import NoReturn

from ..errors import Problem
from ..errors import SuiteError
from ..record.calls import is_nested_deeper
from ..suite.explain import explain_syntax
from ..suite.explain import show_number
from ..suite.source import MAX_DEPTH
from ..suite.source import decode_bytes
from ..suite.source import line_and_column
from ..suite.source import scan_container

MAX_BYTES = 256 * 1024 * 1024

# A record lies some levels deep in a suite, whose own depth is limited.
_DEEPEST = MAX_DEPTH - 10
_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON value and where it stands: its line, from 1, and its path inside of a larger value."""

    line: int
    value: Any
    field: str = ""


class _UnreadableError(Exception):
    """A text that is not JSON, or JSON that no suite can hold."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


def read_records(path: Path) -> tuple[list[Record], list[Problem]]:
    """The records of a file, and what is wrong with those that cannot be read.

    In a file of JSON lines a record is a line; otherwise it is a member of the list that the file
    is, or the whole file. SuiteError when the file as a whole cannot be read.
    """
    text = decode_bytes(_read(path), str(path))
    if not text.strip(_SPACE):
        _refuse(path, "the file is empty")
    records: list[Record] = []
    problems: list[Problem] = []
    if not _is_lines(text):
        try:
            records = _members(text)
        except _UnreadableError as error:
            raise SuiteError([_problem(path, text, error)]) from None
        return records, problems
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(_SPACE):
            continue
        try:
            records.append(Record(number, _decode(line)))
        except _UnreadableError as error:
            problems.append(_problem(path, line, error, number))
    return records, problems


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                _refuse(path, "not a regular file")
            if status.st_size > MAX_BYTES:
                size, limit = status.st_size / 2**20, MAX_BYTES // 2**20
                _refuse(path, f"the file has {size:.0f} MiB, more than {limit} MiB; split it")
            return file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        _refuse(path, f"the file cannot be read: {reason or error}")


def _is_lines(text: str) -> bool:
    """Whether a first line is JSON by itself, and others follow."""
    first, _, rest = text.lstrip(_SPACE).partition("\n")
    if not rest.strip(_SPACE):
        return False
    try:
        json.loads(first)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _members(text: str) -> list[Record]:
    """The members of the list that a text is; else the one value that it is."""
    start = len(text) - len(text.lstrip(_SPACE))
    records: list[Record] = []
    line, last = 1, 0

    def visit(index: str | int, _: int, offset: int) -> int:
        nonlocal line, last
        line += text.count("\n", last, offset)
        last = offset
        value, end = _value_at(text, offset)
        records.append(Record(line, value))
        return end

    try:
        end = scan_container(text, start, visit) if text[start] == "[" else visit(0, start, start)
    except json.JSONDecodeError as error:
        raise _UnreadableError(*_syntax(text, error)) from None
    _check_end(text, end)
    return records


def _decode(text: str) -> Any:
    value, end = _value_at(text, len(text) - len(text.lstrip(_SPACE)))
    _check_end(text, end)
    return value


def _check_end(text: str, end: int) -> None:
    rest = text[end:].lstrip(_SPACE)
    if rest:
        message = "the JSON ends before this, but something follows"
        raise _UnreadableError(len(text) - len(rest), message)


def _value_at(text: str, offset: int) -> tuple[Any, int]:
    """The value at an offset, and where it ends."""
    try:
        value, end = _RAW_DECODE(text, offset)
    except json.JSONDecodeError as error:
        raise _UnreadableError(*_syntax(text, error)) from None
    except RecursionError:
        raise _UnreadableError(offset, _TOO_DEEP) from None
    except _NotFiniteError as error:
        raise _UnreadableError(offset, str(error)) from None
    except ValueError:  # int() refuses thousands of digits
        raise _UnreadableError(offset, "a number of thousands of digits cannot be read") from None
    if is_nested_deeper(value, _DEEPEST):
        raise _UnreadableError(offset, _TOO_DEEP)
    if _SURROGATE.search(text, offset, end):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _UnreadableError(offset, "half of a surrogate pair is no character") from None
    return value, end


_TOO_DEEP = f"nested deeper than {_DEEPEST} levels"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _NotFiniteError(ValueError):
    """NaN, an infinity, or a number too large for a float."""


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        _refuse_constant(digits)
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise _NotFiniteError(f"{show_number(name)} is not a finite number; JSON has only finite ones")


_RAW_DECODE = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).raw_decode


def _syntax(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    if not text[error.pos :].strip(_SPACE):
        return len(text.rstrip()), "the text ends before the JSON is complete; it looks cut off"
    return explain_syntax(text, error.pos, error.msg)


def _problem(path: Path, text: str, error: _UnreadableError, first_line: int = 1) -> Problem:
    line, column = line_and_column(text, error.offset)
    return Problem(str(path), first_line + line - 1, column, "", error.message)


def _refuse(path: Path, message: str) -> NoReturn:
    raise SuiteError([Problem(str(path), 1, 1, "", message)])
