"""The text of a suite file: bytes to JSON data, and from a value's path back to its line and column.

`json` does the parsing. Positions are looked up afterwards, and only for values with a problem, by
scanning the containers on their path again, key by key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import Problem, SuiteError
from ..explain import explain_syntax, field_path, show, show_number
from ..findings import Finding, Loc
from ..record.calls import is_nested_deeper

Member = tuple[int, int]  # the offsets of a key and of its value; in a list both are the value's

MAX_FILE_DEPTH = 100
MAX_PROBLEMS = 50
_TOO_DEEP = f"nested deeper than {MAX_FILE_DEPTH} levels; make it flatter"

_SPACE = re.compile(r"[ \t\n\r]*")
# Strings are matched whole, so that digits inside one are not taken for a number.
_STRING_OR_NUMBER = re.compile(r'"(?:\\.|[^"\\])*"|(-?Infinity|NaN|-?[0-9][-+.0-9eE]*)', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")

_BOM = "the file begins with a byte order mark (BOM); save it as UTF-8 without BOM"
_EMPTY = 'the file is empty; a suite is an object: {"name": "...", "tools": [...], "test_cases": [...]}'


@dataclass
class SuiteSource:
    """A suite file as it was read."""

    path: str
    text: str
    data: Any
    repeats_keys: bool = False  # whether some object repeats a key
    # The index in the file of each case, once rows have made several of one.
    places: list[int] | None = None
    _members: dict[int, dict[str | int, Member]] = field(default_factory=dict)

    def case_lines(self) -> list[int]:
        """The line on which each case begins, from 1."""
        lines, line, last = [], 1, 0
        cases = self._members_at(self._offset(("test_cases",), at_key=False))
        for offset, _ in cases.values():
            line += self.text.count("\n", last, offset)
            last = offset
            lines.append(line)
        return lines if self.places is None else [lines[index] for index in self.places]

    def in_file(self, loc: Loc) -> Loc:
        """The path in the file of a value of the suite."""
        if self.places is None or loc[:1] != ("test_cases",) or len(loc) < 2:
            return loc
        return (loc[0], self.places[int(loc[1])], *loc[2:])

    def problems(
        self, findings: Iterable[Finding], *, limit: int | None = MAX_PROBLEMS
    ) -> list[Problem]:
        """Return findings as problems in file order; a final one counts those beyond the limit."""
        # A problem in each case of several rows is reported once.
        once = dict.fromkeys(each._replace(loc=self.in_file(each.loc)) for each in findings)
        placed = sorted(
            (self._offset(finding.loc, at_key=finding.at_key), index, finding)
            for index, finding in enumerate(once)
        )
        problems = []
        line, last = 1, 0
        for offset, _, finding in placed[:limit]:
            line += self.text.count("\n", last, offset)
            column, last = offset - self.text.rfind("\n", 0, offset), offset
            problems.append(Problem(self.path, line, column, field_path(finding.loc), finding.message))
        if limit is not None and len(placed) > limit:
            line, column = line_and_column(self.text, placed[limit][0])
            more = f"and {len(placed) - limit} more problems from here on"
            problems.append(Problem(self.path, line, column, "", more))
        return problems

    def line(self, loc: Loc) -> int:
        """The line of a value, from 1."""
        return line_and_column(self.text, self._offset(self.in_file(loc), at_key=False))[0]

    def repeated_keys(self) -> list[Finding]:
        """Return every duplicate key in an object, each with the line of the first."""
        findings: list[Finding] = []
        if self.repeats_keys:
            self._repeated_under((), _skip_space(self.text, 0), findings)
        return findings

    def _offset(self, loc: Loc, *, at_key: bool) -> int:
        """The offset of a value, or of its nearest container if it is not in the file."""
        offset = _skip_space(self.text, 0)
        for index, part in enumerate(loc):
            member = self._members_at(offset).get(part)
            if member is None:
                break
            offset = member[0] if at_key and index == len(loc) - 1 else member[1]
        return offset

    def _members_at(self, offset: int) -> dict[str | int, Member]:
        if offset not in self._members:
            members: dict[str | int, Member] = {}

            def visit(key: str | int, key_at: int, value_at: int) -> int:
                members[key] = (key_at, value_at)
                return _DECODE(self.text, value_at)[1]

            scan_container(self.text, offset, visit)
            self._members[offset] = members
        return self._members[offset]

    def _repeated_under(self, loc: Loc, offset: int, findings: list[Finding]) -> int:
        first: dict[str | int, int] = {}

        def visit(key: str | int, key_at: int, value_at: int) -> int:
            if key in first:
                line = line_and_column(self.text, first[key])[0]
                message = f"duplicate key {show(key)}, first on line {line}; keep one"
                findings.append(Finding((*loc, key), message, at_key=True))
            first.setdefault(key, key_at)
            return self._repeated_under((*loc, key), value_at, findings)

        if self.text[offset] in "{[":
            return scan_container(self.text, offset, visit)
        return _DECODE(self.text, offset)[1]


def decode_bytes(raw: bytes, path: str) -> str:
    """Decode UTF-8 bytes. Raises SuiteError with line and column for anything else."""
    if raw.startswith(b"\xef\xbb\xbf"):
        _refuse(path, 1, 1, _BOM)
    if b"\x00" in raw[:4]:  # as in UTF-16 and UTF-32
        _refuse(path, 1, 1, "the file is not UTF-8 text; save it as UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line_start = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, error.start) + 1
        column = len(raw[line_start : error.start].decode("utf-8")) + 1
        byte = raw[error.start]
        _refuse(path, line, column, f"the byte 0x{byte:02x} is not valid UTF-8; save the file as UTF-8")


def read_source(text: str, path: str) -> SuiteSource:
    """Parse the text of a suite. Raises SuiteError if it is not JSON or nested too deeply."""
    document = SuiteSource(path, text, None)

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        document.repeats_keys = document.repeats_keys or len(members) < len(pairs)
        return members

    def refuse(offset: int, message: str) -> NoReturn:
        _refuse(path, *line_and_column(text, offset), message)

    if text.startswith("\ufeff"):
        refuse(0, _BOM)
    if not text.strip(" \t\n\r"):
        refuse(0, _EMPTY)
    try:
        document.data = json.loads(
            text, object_pairs_hook=make_object, parse_constant=_finite, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        refuse(*explain_syntax(text, error.pos, error.msg))
    except RecursionError:
        refuse(0, _TOO_DEEP)
    except ValueError:  # from `_finite`, or from int(), which rejects thousands of digits
        refuse(*_unreadable_number(text))
    if is_nested_deeper(document.data, MAX_FILE_DEPTH):
        refuse(0, _TOO_DEEP)
    if _SURROGATE.search(text):
        try:
            json.dumps(document.data, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            refuse(max(0, text.lower().find(half)), f"{half} is half of a character; remove it")
    return document


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _unreadable_number(text: str) -> tuple[int, str]:
    """The offset of the first number that is too long or not finite, and what is wrong with it."""
    for match in _STRING_OR_NUMBER.finditer(text):
        if match[1] and not math.isfinite(float(match[1])):
            return match.start(), f"{show_number(match[1])} is not a finite number that can be read"
    return 0, "a number is too long to be read"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The line and column of a character, both from 1; columns count characters."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def scan_container(text: str, offset: int, visit: Callable[[str | int, int, int], int]) -> int:
    """Walk the members of the object or list at `offset`, and return the offset after it.

    `visit` gets the key (or index) and the offsets of key and value, and returns where the value
    ends. A scalar has no members. Raises JSONDecodeError as `json` does.
    """
    if text[offset] not in "{[":
        return offset
    is_object, closing = (True, "}") if text[offset] == "{" else (False, "]")
    at, index = _skip_space(text, offset + 1), 0
    if text[at : at + 1] == closing:
        return at + 1
    while True:
        key_at = at
        key: str | int = index
        if is_object:
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting property name", text, at)
            key, at = _DECODE(text, at)
            at = _skip_space(text, at)
            if text[at : at + 1] != ":":
                raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
            at = _skip_space(text, at + 1)
        at = _skip_space(text, visit(key, key_at, at))
        if text[at : at + 1] == closing:
            return at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at, index = _skip_space(text, at + 1), index + 1


_DECODE = json.JSONDecoder().raw_decode


def _skip_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _refuse(path: str, line: int, column: int, message: str) -> NoReturn:
    raise SuiteError([Problem(path, line, column, "", message)])
