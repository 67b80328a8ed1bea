"""The text of a suite file: bytes to JSON data, and from a value's path back to its line and column.

Reading is one pass of the standard library's scanner. Positions are looked up afterwards, and only
for what has a problem: the containers on the way to it are scanned again, key by key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import NamedTuple
from typing import NoReturn

from ..errors import Problem
from ..errors import SuiteError
from .explain import explain_syntax
from .explain import field_path
from .explain import show
from .explain import show_number

Loc = tuple["str | int", ...]
Member = tuple[int, int]  # the offsets of a key and of its value; in a list both are the value's

MAX_DEPTH = 100
MAX_PROBLEMS = 50

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?Infinity|NaN|-?[0-9][-+.0-9eE]*")
# Escapes are matched as units, so that what follows a backslash never ends a string.
_QUOTE_OR_BRACKET = re.compile(r'\\.|["\[\]{}]', re.DOTALL)
_QUOTE_OR_NUMBER = re.compile(rf'\\.|"|{_NUMBER.pattern}', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)

_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_BOM = "the file begins with a byte order mark (BOM); save it as UTF-8 without BOM"
_EMPTY = 'the file is empty; a suite is an object: {"name": "...", "tools": [...], "test_cases": [...]}'


class Finding(NamedTuple):
    """Something wrong at a path in the data; `at_key` points at the key and not at its value."""

    loc: Loc
    message: str
    at_key: bool = False


Findings = Iterator[Finding]


@dataclass
class Document:
    """A suite file as it was read: its data, and where each case begins in its text."""

    path: str
    text: str
    data: Any
    case_offsets: list[int]
    repeating: list[Loc]  # the parts in which some object repeats a key
    _members: dict[int, dict[str | int, Member]] = field(default_factory=dict)

    def case_lines(self) -> list[int]:
        """The line, from 1, on which each case begins."""
        lines, line, last = [], 1, 0
        for offset in self.case_offsets:
            line += self.text.count("\n", last, offset)
            last = offset
            lines.append(line)
        return lines

    def problems(
        self, findings: Iterable[Finding], *, limit: int | None = MAX_PROBLEMS
    ) -> list[Problem]:
        """Findings as problems in the order of the file; one more stands for those beyond the limit."""
        placed = sorted(
            (self._offset(found.loc, at_key=found.at_key), index, found)
            for index, found in enumerate(findings)
        )
        problems = []
        line, last = 1, 0
        for offset, _, found in placed[:limit]:
            line += self.text.count("\n", last, offset)
            column, last = offset - self.text.rfind("\n", 0, offset), offset
            problems.append(Problem(self.path, line, column, field_path(found.loc), found.message))
        if limit is not None and len(placed) > limit:
            line, column = line_and_column(self.text, placed[limit][0])
            more = f"and {len(placed) - limit} more problems from here on"
            problems.append(Problem(self.path, line, column, "", more))
        return problems

    def line(self, loc: Loc) -> int:
        """The line of a value, from 1."""
        return line_and_column(self.text, self._offset(loc, at_key=False))[0]

    def repeated_keys(self) -> list[Finding]:
        """Every key that stands twice in one object, each with the line of the first."""
        findings: list[Finding] = []
        for loc in self.repeating:
            self._repeated_under(loc, self._offset(loc, at_key=False), findings)
        return findings

    def _offset(self, loc: Loc, *, at_key: bool) -> int:
        """Where a value begins, or what encloses it when it is not in the file."""
        offset = _skip_space(self.text, 0)
        if len(loc) > 1 and loc[0] == "test_cases" and isinstance(loc[1], int):
            offset, loc = self.case_offsets[loc[1]], loc[2:]
        for index, part in enumerate(loc):
            member = self._members_at(offset).get(part)
            if member is None:
                break
            offset = member[0] if at_key and index == len(loc) - 1 else member[1]
        return offset

    def _members_at(self, offset: int) -> dict[str | int, Member]:
        if offset not in self._members:
            found: dict[str | int, Member] = {}

            def visit(key: str | int, key_at: int, value_at: int) -> int:
                found[key] = (key_at, value_at)
                return _DECODE(self.text, value_at)[1]

            scan_container(self.text, offset, visit)
            self._members[offset] = found
        return self._members[offset]

    def _repeated_under(self, loc: Loc, offset: int, findings: list[Finding]) -> int:
        first: dict[str | int, int] = {}

        def visit(key: str | int, key_at: int, value_at: int) -> int:
            if key in first:
                line = line_and_column(self.text, first[key])[0]
                message = (
                    f"the key {show(key)} stands twice in this object, first on line {line}; keep one"
                )
                findings.append(Finding((*loc, key), message, at_key=True))
            first.setdefault(key, key_at)
            if not loc:  # the file's outermost object: what it holds is listed by itself
                return _DECODE(self.text, value_at)[1]
            return self._repeated_under((*loc, key), value_at, findings)

        if self.text[offset] in "{[":
            return scan_container(self.text, offset, visit)
        return _DECODE(self.text, offset)[1]


def decode_bytes(raw: bytes, path: str) -> str:
    """UTF-8 bytes as text; SuiteError with line and column for anything else."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            _refuse(path, 1, 1, f"the file is encoded in {encoding}; save it as UTF-8")
    if raw.startswith(b"\xef\xbb\xbf"):
        _refuse(path, 1, 1, _BOM)
    if b"\x00" in raw[:4]:
        _refuse(path, 1, 1, "the file begins with NUL bytes, so it is not UTF-8 text; save it as UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line_start = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, error.start) + 1
        column = len(raw[line_start : error.start].decode("utf-8")) + 1
        byte = raw[error.start]
        _refuse(path, line, column, f"the byte 0x{byte:02x} is not valid UTF-8; save the file as UTF-8")


def read_document(text: str, path: str) -> Document:
    """Parse the text of a suite; SuiteError where it is not JSON, or nested too deeply."""
    return _Reader(text, path).read()


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The place of a character; both count from 1, columns in characters."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def scan_container(text: str, offset: int, visit: Callable[[str | int, int, int], int]) -> int:
    """Walk the members of the object or list at `offset`, and return the offset behind it.

    `visit` gets the key (or index) and the offsets of key and value, and returns where the value
    ends. A scalar has no members. JSONDecodeError as `json` raises it.
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


class _NotFiniteError(ValueError):
    """NaN, an infinity, or a number too large for a float."""


class _Reader:
    """One pass over the text that keeps the offset of each case and which parts repeat a key."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.loc: Loc = ()  # what is being decoded,
        self.offset = 0  # and where it begins
        self.repeats = False
        self.repeating: list[Loc] = []
        self.case_offsets: list[int] = []
        self.data: dict[str, Any] = {}
        self.raw_decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=_not_finite, parse_float=_finite
        ).raw_decode

    def read(self) -> Document:
        self._check_characters()
        start = _skip_space(self.text, 0)
        if start == len(self.text):
            _refuse(self.path, 1, 1, _EMPTY)
        data: Any = self.data
        try:
            if self.text[start] == "{":
                end = scan_container(self.text, start, self._suite_member)
            else:
                data, end = self._decode((), start)
            end = _skip_space(self.text, end)
            if end < len(self.text):
                raise json.JSONDecodeError("Extra data", self.text, end)
        except json.JSONDecodeError as error:
            offset, message = explain_syntax(self.text, error.pos, error.msg)
            self._refuse(offset, message)
        except RecursionError:
            self._refuse_depth(self.offset, len(self.text), 0)
        except _NotFiniteError:
            self._refuse_number(_is_not_finite, "is not a finite number; JSON has only finite ones")
        except ValueError:  # int() refuses thousands of digits
            self._refuse_number(_is_too_long, "is too long a number to be read; write it as a string")
        return Document(self.path, self.text, data, self.case_offsets, self.repeating)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            self.repeats = True
        return made

    def _suite_member(self, key: str | int, key_at: int, value_at: int) -> int:
        name = str(key)
        if name in self.data and () not in self.repeating:
            self.repeating.append(())
        if name == "test_cases" and self.text[value_at : value_at + 1] == "[":
            cases: list[Any] = []
            # A second list replaces the first, as in any JSON object that repeats a key.
            self.case_offsets = []
            self.repeating = [loc for loc in self.repeating if loc[:1] != ("test_cases",)]

            def visit(index: str | int, _: int, case_at: int) -> int:
                self.case_offsets.append(case_at)
                case, end = self._decode(("test_cases", index), case_at)
                cases.append(case)
                return end

            end = scan_container(self.text, value_at, visit)
            self.data[name] = cases
        else:
            self.data[name], end = self._decode((name,), value_at)
        return end

    def _decode(self, loc: Loc, offset: int) -> tuple[Any, int]:
        self.loc, self.offset = loc, offset
        value, end = self.raw_decode(self.text, offset)
        brackets = self.text.count("{", offset, end) + self.text.count("[", offset, end)
        if brackets + len(loc) > MAX_DEPTH:
            self._check_depth(offset, end, len(loc))
        if self.repeats:
            self.repeating.append(loc)
            self.repeats = False
        self.loc = loc[:-1]
        return value, end

    def _check_characters(self) -> None:
        """Refuse what JSON can spell and UTF-8 cannot hold: half of a surrogate pair."""
        if self.text.startswith("\ufeff"):
            _refuse(self.path, 1, 1, _BOM)
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            self._refuse_surrogate(error.start, ord(self.text[error.start]))
        if not _SURROGATE_ESCAPE.search(self.text):
            return
        waiting, unit_before = -1, 0  # where the low half must follow
        high_at = 0
        for match in _ESCAPE.finditer(self.text):
            unit = int(match[1], 16) if match[1] else 0
            is_low = 0xDC00 <= unit <= 0xDFFF
            follows = waiting == match.start()
            if waiting >= 0 and not (follows and is_low):
                self._refuse_surrogate(high_at, unit_before)
            if is_low and not follows:
                self._refuse_surrogate(match.start(), unit)
            waiting = -1
            if 0xD800 <= unit <= 0xDBFF:
                waiting, high_at, unit_before = match.end(), match.start(), unit
        if waiting >= 0:
            self._refuse_surrogate(high_at, unit_before)

    def _refuse_surrogate(self, offset: int, unit: int) -> NoReturn:
        self._refuse(offset, f"\\u{unit:04x} is half of a surrogate pair and no character; remove it")

    def _check_depth(self, start: int, end: int, depth: int) -> None:
        in_string = False
        for match in _QUOTE_OR_BRACKET.finditer(self.text, start, end):
            found = match[0]
            if found == '"':
                in_string = not in_string
            elif in_string or found[0] == "\\":
                continue
            elif found in "[{":
                depth += 1
                if depth > MAX_DEPTH:
                    self._refuse(match.start(), _TOO_DEEP)
            else:
                depth -= 1

    def _refuse_depth(self, start: int, end: int, depth: int) -> NoReturn:
        self._check_depth(start, end, depth)
        self._refuse(start, _TOO_DEEP)

    def _refuse_number(self, is_wrong: Callable[[str], bool], message: str) -> NoReturn:
        in_string = False
        for match in _QUOTE_OR_NUMBER.finditer(self.text, self.offset):
            found = match[0]
            if found == '"':
                in_string = not in_string
            elif not in_string and found[0] != "\\" and is_wrong(found):
                self._refuse(match.start(), f"{show_number(found)} {message}")
        self._refuse(self.offset, f"a number here {message}")

    def _refuse(self, offset: int, message: str) -> NoReturn:
        line, column = line_and_column(self.text, offset)
        _refuse(self.path, line, column, message, field_path(self.loc))


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; make it flatter"
_DECODE = json.JSONDecoder().raw_decode


def _skip_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise _NotFiniteError(number)
    return value


def _not_finite(name: str) -> NoReturn:
    raise _NotFiniteError(name)


def _is_not_finite(number: str) -> bool:
    if not set(number) & set(".eEIN"):
        return False  # an integer, however long
    try:
        return not math.isfinite(float(number))
    except ValueError:
        return False


def _is_too_long(number: str) -> bool:
    try:
        int(number)
    except ValueError:
        return number.lstrip("-").isdigit()
    return False


def _refuse(path: str, line: int, column: int, message: str, field: str = "") -> NoReturn:
    raise SuiteError([Problem(path, line, column, field, message)])
