"""The rows of a parametrized case, in the suite or in a CSV or JSONL file beside it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Problem, os_reason
from ..explain import describe, listing, show
from ..findings import Finding, Loc

MAX_ROWS = 10_000
_RESERVED = "now"  # a column of this name could not be told from the date


@dataclass
class Rows:
    """Rows with the same columns, and what is wrong in their file."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _complain: Callable[[str, str], None] | None = None

    def complain(self, column: str, message: str) -> None:
        """Report what is wrong with a column."""
        if self._complain is not None:
            self._complain(column, f"{show(column)}: {message}")


def read_rows(given: Any, at: Loc, folder: Path, findings: list[Finding]) -> Rows:
    """Read rows. What is wrong in the suite goes into `findings`; other types are left to its model."""
    if isinstance(given, list):
        return _from_suite(given, at, findings)
    if not isinstance(given, str) or not given:
        return Rows()
    path = folder / given
    read = _READERS.get(path.suffix.lower())
    if read is None:
        findings.append(Finding(at, f"{show(given)}: expected a file that ends in .csv or .jsonl"))
        return Rows()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
        findings.append(Finding(at, f"{show(given)}: cannot be read: {why}"))
        return Rows()
    return read(text, str(path))


def _from_suite(given: list[Any], at: Loc, findings: list[Finding]) -> Rows:
    rows = Rows()

    def complain(column: str, message: str) -> None:
        findings.append(Finding((*at, 0, column), message, at_key=True))

    rows._complain = complain
    if not given:
        findings.append(Finding(at, "no rows; write at least one, or remove parametrize"))
    if len(given) > MAX_ROWS:
        findings.append(Finding(at, f"{len(given)} rows; at most {MAX_ROWS} are allowed"))
        return rows
    for index, each in enumerate(given):
        if not isinstance(each, dict) or not each:
            expected = 'an object of columns and values, such as {"city": "Paris"}'
            findings.append(Finding((*at, index), f"expected {expected}, got {describe(each)}"))
        elif rows.columns and each.keys() != set(rows.columns):
            findings.append(Finding((*at, index), _other_columns(each, rows.columns)))
        else:
            rows.columns = rows.columns or list(each)
            rows.rows.append(each)
    _check_columns(rows)
    return rows


def _from_csv(text: str, path: str) -> Rows:
    """Read a CSV file, whose first line names the columns. Cells are texts: `01234` stays as it is."""
    rows = Rows()
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)

    def complain(column: str, message: str) -> None:
        place = text.split("\n", 1)[0].find(column) + 1
        rows.problems.append(Problem(path, 1, max(place, 1), "", message))

    rows._complain = complain
    try:
        header = next(reader, [])
        rows.columns = list(dict.fromkeys(header))
        if len(rows.columns) < len(header) or not all(header):
            complain("", "each column needs a name of its own in the first line")
            return rows
        for cells in reader:
            if not cells:
                continue  # an empty line
            if len(cells) != len(header):
                message = f"{len(cells)} cells, but {len(header)} columns"
                rows.problems.append(Problem(path, reader.line_num, 1, "", message))
            else:
                rows.rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        rows.problems.append(Problem(path, reader.line_num, 1, "", f"not CSV: {error}"))
    return _checked(rows, path)


def _from_jsonl(text: str, path: str) -> Rows:
    """Read a JSONL file, with an object on each line."""
    rows, first = Rows(), 1

    def complain(column: str, message: str) -> None:
        line = text.splitlines()[first - 1]
        rows.problems.append(Problem(path, first, line.find(json.dumps(column)) + 1, "", message))

    rows._complain = complain
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            each = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            column = getattr(error, "colno", 1)
            rows.problems.append(Problem(path, number, column, "", f"not JSON: {error}"))
            continue
        if not isinstance(each, dict) or not each:
            message = f"expected an object of columns and values, got {describe(each)}"
            rows.problems.append(Problem(path, number, 1, "", message))
        elif rows.columns and each.keys() != set(rows.columns):
            message = _other_columns(each, rows.columns)
            rows.problems.append(Problem(path, number, 1, "", message))
        else:
            if not rows.columns:
                rows.columns, first = list(each), number
            rows.rows.append(each)
    return _checked(rows, path)


_READERS: dict[str, Callable[[str, str], Rows]] = {".csv": _from_csv, ".jsonl": _from_jsonl}


def _checked(rows: Rows, path: str) -> Rows:
    if not rows.rows and not rows.problems:
        rows.problems.append(Problem(path, 1, 1, "", "no rows; write at least one"))
    if len(rows.rows) > MAX_ROWS:
        message = f"{len(rows.rows)} rows; at most {MAX_ROWS} are allowed"
        rows.problems.append(Problem(path, 1, 1, "", message))
        rows.rows = []
    _check_columns(rows)
    return rows


def _check_columns(rows: Rows) -> None:
    for column in rows.columns:
        if column.strip() == _RESERVED:
            rows.complain(column, "no column may have this name, which is the date's; choose another")
        elif column != column.strip() or not column or set("{}") & set(column):
            rows.complain(column, "a column's name has no braces, and no spaces around it")


def _other_columns(found: Iterable[str], columns: Sequence[str]) -> str:
    return f"the columns are {listing(list(found))}, but those of the first row {listing(columns)}"


def _refuse(number: str) -> Any:
    raise ValueError(f"{number} is not a finite number")
