"""`parametrize`: one case with placeholders becomes several, one for each row of values."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Problem
from ..explain import listing, nearest, show
from ..findings import Finding, Loc
from .case import APART, TestCase
from .moments import NOW, Moment, read_moment
from .rows import Rows, read_rows
from .slugs import all_different, with_ids

# The fields in which placeholders stand for values: all that make a case what it is, and two more.
_OF_CASES = [
    name for name in TestCase.model_fields if name not in {*APART, "parametrize"} - {"cluster", "weight"}
]
_OF_SUITES = ("system_prompt", "forbidden_calls", "policies", "world_args")
_LONGEST = 60  # characters of a row in an id
_TOKEN = re.compile(r"(\{\{\{\{|\{\{[^{}]*\}\})")
_NOT_IN_IDS = re.compile(r"[\[\]\s\x00-\x1f\x7f]+|::")


class ExpandedSuite(NamedTuple):
    """A suite's data with a case for each row.

    `places` has for each case its index in the file, and `bases` its id there; None for a case without
    rows. `findings` have paths in the file, `problems` places in files of rows.
    """

    data: dict[str, Any]
    places: list[int]
    bases: list[str | None]
    findings: list[Finding]
    problems: list[Problem]


def expand(data: dict[str, Any], folder: Path) -> ExpandedSuite:
    """Expand the cases of a suite's data. Files of rows are in `folder`."""
    expanded = ExpandedSuite(data, [], [], [], [])
    cases = data.get("test_cases")
    now = read_moment(data.get(NOW))
    if now is not None:
        fields = {name: data[name] for name in _OF_SUITES if name in data}
        data = {**data, **_Filling({}, now, None, expanded.findings).fill(fields, ())}
    if not isinstance(cases, list):
        return expanded._replace(data=data)
    every: list[Any] = []
    has_rows = any(isinstance(case, dict) and "parametrize" in case for case in cases)
    named = with_ids(data)["test_cases"] if has_rows else cases
    for index, case in enumerate(cases):
        rows = None
        if isinstance(case, dict) and case.get("parametrize") is not None:
            at = ("test_cases", index, "parametrize")
            rows = read_rows(case["parametrize"], at, folder, expanded.findings)
        moment = read_moment(case.get(NOW)) if isinstance(case, dict) and NOW in case else now
        base = named[index].get("id") if rows is not None else None
        for filled in _cases(case, ("test_cases", index), base, rows, moment, expanded.findings):
            every.append(filled)
            expanded.places.append(index)
            expanded.bases.append(base if isinstance(base, str) else None)
        if rows is not None:
            expanded.problems.extend(rows.problems)
    return expanded._replace(data={**data, "test_cases": every})


def _cases(
    case: Any, at: Loc, base: Any, rows: Rows | None, now: Moment | None, findings: list[Finding]
) -> Iterator[Any]:
    """Yield the cases that one case makes; with rows, its own id is `base`."""
    if rows is not None and not rows.rows and isinstance(case["parametrize"], list):
        # Its problems are reported.
        case = {name: value for name, value in case.items() if name != "parametrize"}
    if rows is None or not rows.rows:
        if isinstance(case, dict) and now is not None:
            fields = {name: case[name] for name in _OF_CASES if name in case}
            case = {**case, **_Filling({}, now, None, findings).fill(fields, at)}
        yield case
        return
    used: set[str] = set()
    fields = {name: case[name] for name in _OF_CASES if name in case}
    rest = {name: value for name, value in case.items() if name != "parametrize"}
    for number, (row, name) in enumerate(zip(rows.rows, all_different(_names(rows.rows)), strict=True)):
        # The problems of placeholders are the same in every row.
        filling = _Filling(row, now, rows.columns, findings if number == 0 else [])
        filled = {"cluster": base, **filling.fill(fields, at)}
        used |= filling.used
        if isinstance(filled.get("weight"), str):  # a cell of a CSV file
            filled["weight"] = _number(filled["weight"])
        yield {**rest, **filled, "id": f"{base}[{name}]" if isinstance(base, str) else base}
    for column in rows.columns:
        if column not in used and column != "id":
            unused = "no placeholder uses this column"
            rows.complain(column, f"{unused}; write {{{{{column}}}}}, or remove it")


def _names(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a name for each row: its `id`, else its values."""
    for number, row in enumerate(rows, 1):
        id = row.get("id")
        text = _text(id) if id is not None else "-".join(map(_text, row.values()))
        name = _NOT_IN_IDS.sub("-", text).strip("-") or str(number)
        if len(name) > _LONGEST:
            name = f"{name[: _LONGEST - 7]}-{zlib.crc32(text.encode('utf-8', 'replace')) & 0xFFFFFF:06x}"
        yield name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


class _Filling:
    """Puts the values of one row, and the moment `now`, in the place of placeholders.

    Without `columns`, only `now` means anything, and any other name is a mistake.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        now: Moment | None,
        columns: Sequence[str] | None,
        findings: list[Finding],
    ) -> None:
        self.used: set[str] = set()
        self._values = values
        self._now = now
        self._columns = columns
        self._findings = findings

    def fill(self, value: Any, at: Loc) -> Any:
        if isinstance(value, str):
            return self._filled(value, at) if "{{" in value else value
        if isinstance(value, list):
            return [self.fill(each, (*at, index)) for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if self._now is not None and (date := self._now.relative(value)) is not None:
            return date
        return {
            _text(self._filled(key, (*at, key))) if "{{" in key else key: self.fill(member, (*at, key))
            for key, member in value.items()
        }

    def _filled(self, text: str, at: Loc) -> Any:
        """The text with its placeholders replaced; a value with its type if the text is only that."""
        parts = _TOKEN.split(text)
        if len(parts) == 3 and not parts[0] and not parts[2] and parts[1] != "{{{{":
            return self._value(parts[1], at)
        return "".join(
            part if number % 2 == 0 else "{{" if part == "{{{{" else _text(self._value(part, at))
            for number, part in enumerate(parts)
        )

    def _value(self, token: str, at: Loc) -> Any:
        name = token[2:-2].strip()
        word, colon, form = name.partition(":")
        if word.strip() == NOW and self._now is not None:
            if not colon:
                return self._now.text
            text = self._now.strftime(form)
            if text is None:
                message = f"{show(form)} is no format of a date"
                codes = "use the codes of strftime, such as %A or %Y"
                self._findings.append(Finding(at, f"{message}; {codes}"))
            return text or token
        if name in self._values:
            self.used.add(name)
            return self._values[name]
        self._findings.append(Finding(at, self._unknown(name)))
        return token

    def _unknown(self, name: str) -> str:
        if name.partition(":")[0].strip() == NOW:
            return 'no date is set for {{now}}; add "now" to the case or the suite'
        if self._columns is None:
            only = f'{{{{{name}}}}} has no value: the case has "now", but no "parametrize"'
            return f"{only}; for two braces as they are, write four"
        near = nearest(name, self._columns)
        columns = listing(self._columns)
        hint = f", did you mean {{{{{near}}}}}?" if near else f"; there is {columns}"
        return f"there is no column {show(name)}{hint}; for two braces as they are, write four"
