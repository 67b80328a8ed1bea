"""The rows of a parametrized case, in the suite or in a CSV or JSONL file beside it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Problem, os_reason
from ..explain import describe, listing, show
from ..findings import Finding, Loc

MAX_ROWS = 10_000
_RESERVED = "now"  # a column of this name could not be told from the date


@dataclass
class Rows:
    """Rows with the same columns, named at the place `first`, and what is wrong in their file."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    first: int = 0
    _complain: Callable[[str, str], None] | None = None

    def complain(self, column: str, message: str) -> None:
        """Report what is wrong with a column."""
        if self._complain is not None:
            self._complain(column, f"{show(column)}: {message}")


class _Wrong(NamedTuple):
    """The problem of a row of a file, and its place in the line."""

    message: str
    column: int = 1


# Yields the rows of a text, each after its line; may say itself which the columns are.
_Reader = Callable[[str, Rows], Iterator[tuple[int, Any]]]


def read_rows(source: Any, at: Loc, folder: Path, findings: list[Finding]) -> Rows:
    """Read rows. Problems in the suite go into `findings`; other types are left to its model."""
    rows = Rows()
    if isinstance(source, list):

        def in_suite(column: str, message: str) -> None:
            findings.append(Finding((*at, rows.first, column), message, at_key=True))

        def of_suite(index: int | None, wrong: _Wrong) -> None:
            findings.append(Finding(at if index is None else (*at, index), wrong.message))

        rows._complain = in_suite
        return _filled(rows, enumerate(source), of_suite)
    if not isinstance(source, str) or not source:
        return rows
    path = folder / source
    read = _READERS.get(path.suffix.lower())
    if read is None:
        findings.append(Finding(at, f"{show(source)}: expected a file that ends in .csv or .jsonl"))
        return rows
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        findings.append(Finding(at, f"{show(source)}: cannot be read: {why}"))
        return rows

    def in_file(column: str, message: str) -> None:
        line = text.splitlines()[rows.first - 1]
        start = max(line.find(json.dumps(column)), line.find(column) if read is _csv_rows else 0)
        rows.problems.append(Problem(str(path), rows.first, start + 1, "", message))

    def of_file(line: int | None, wrong: _Wrong) -> None:
        rows.problems.append(Problem(str(path), line or 1, wrong.column, "", wrong.message))

    rows._complain = in_file
    return _filled(rows, read(text, rows), of_file)


def _filled(
    rows: Rows, numbered: Iterable[tuple[int, Any]], report: Callable[[int | None, _Wrong], None]
) -> Rows:
    """Take the right rows, each with its number, and report what is wrong with the others."""
    complete = True
    for number, row in numbered:
        wrong = row if isinstance(row, _Wrong) else _problem(row, rows.columns)
        if wrong is None:
            if not rows.columns:
                rows.columns, rows.first = list(row), number
            rows.rows.append(row)
        else:
            complete = False
            report(number, wrong)
    if complete and not rows.rows:
        report(None, _Wrong("no rows; write at least one, or remove parametrize"))
    if len(rows.rows) > MAX_ROWS:
        report(None, _Wrong(f"{len(rows.rows)} rows; at most {MAX_ROWS} are allowed"))
        rows.rows = []
    for column in rows.columns:
        if column.strip() == _RESERVED:
            rows.complain(column, "no column may have this name, which is the date's; choose another")
        elif column != column.strip() or not column or set("{}") & set(column):
            rows.complain(column, "a column's name has no braces, and no spaces around it")
    return rows


def _problem(row: Any, columns: Sequence[str]) -> _Wrong | None:
    if not isinstance(row, dict) or not row:
        expected = 'an object of columns and values, such as {"city": "Paris"}'
        return _Wrong(f"expected {expected}, got {describe(row)}")
    if columns and row.keys() != set(columns):
        here, first = listing(list(row)), listing(columns)
        return _Wrong(f"the columns are {here}, but those of the first row {first}")
    return None


def _csv_rows(text: str, rows: Rows) -> Iterator[tuple[int, Any]]:
    """Read a CSV file, whose first line names the columns. Cells are texts: `01234` stays as it is."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if len({*header}) < len(header) or not all(header):
            yield 1, _Wrong("each column needs a name of its own in the first line")
            return
        rows.columns, rows.first = header, 1
        for cells in filter(None, reader):
            if len(cells) == len(header):
                yield reader.line_num, dict(zip(header, cells, strict=True))
            else:
                yield reader.line_num, _Wrong(f"{len(cells)} cells, but {len(header)} columns")
    except csv.Error as error:
        yield reader.line_num, _Wrong(f"not CSV: {error}")


def _jsonl_rows(text: str, rows: Rows) -> Iterator[tuple[int, Any]]:
    """Read a JSONL file, with an object on each line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line, parse_constant=_finite, parse_float=_finite)
            except (ValueError, RecursionError) as error:
                yield number, _Wrong(f"not JSON: {error}", getattr(error, "colno", 1))


_READERS: dict[str, _Reader] = {".csv": _csv_rows, ".jsonl": _jsonl_rows}


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is not a finite number")
    return value
