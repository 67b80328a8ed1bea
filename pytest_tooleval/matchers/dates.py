"""Dates and times in ISO 8601, with or without seconds and zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from .compare import wrong_type_text
from .matcher import Matcher, Mismatch, matcher
from .modes import Mode

DateKind = Literal["date", "date-time", "time"]

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|z|[+-][0-9]{2}(:?[0-9]{2})?)?"
# pydantic alone would also read a string of digits as seconds since 1970.
_FORMS: dict[DateKind, re.Pattern[str]] = {
    "date": re.compile(_DAY),
    "date-time": re.compile(f"{_DAY}[Tt ]{_CLOCK}"),
    "time": re.compile(_CLOCK),
}


class WrittenDate(NamedTuple):
    """A date, date-time or time; dates are at midnight, times on 2000-01-01."""

    kind: DateKind
    at: datetime


def read_date(text: object) -> WrittenDate | None:
    """Read a date, date-time or time; None for anything else."""
    if isinstance(text, str):
        for kind, form in _FORMS.items():
            if form.fullmatch(text):
                return _read(kind, text)
    return None


def _read(kind: DateKind, text: str) -> WrittenDate | None:
    if kind == "time":
        text = f"2000-01-01T{text}"
    if kind != "date" and text[-3] in "+-":
        text += ":00"  # the minutes of the zone
    try:
        return WrittenDate(kind, _datetime()(text))
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _datetime() -> Callable[[str], datetime]:
    from pydantic import TypeAdapter

    return TypeAdapter(datetime).validate_python


@matcher
class Date(Matcher):
    types = ("string",)
    """Matches dates and times; a date-time is on the day that its text names, whatever its zone."""

    key = "$date"
    tier = "everyday"
    title = "is the date"
    example = '"2026-03-02"'
    says = (
        "the same day (a date, or a date-time on it), instant (`2026-03-02T10:00Z`) or time (`10:00`), "
        "in any form of ISO 8601 with hyphens and colons; zones count only if both have one"
    )
    expected = (
        "a date, date-time or time in ISO 8601, as a string; or, where `now` is set, such as "
        '{"days": 1}, in whole weeks, days, hours, minutes and seconds'
    )
    operand = {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "description": "How far from `now`.",
                "propertyNames": {"enum": ["weeks", "days", "hours", "minutes", "seconds"]},
                "additionalProperties": {"type": "integer"},
                "minProperties": 1,
            },
        ]
    }

    def takes(self, operand: Any) -> bool:
        return read_date(operand) is not None

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not isinstance(actual, str):
            return lambda: wrong_type_text(actual, "string")
        expected, written = read_date(operand), read_date(actual)
        if expected is None or written is None:
            return lambda: "is not a date or time such as 2026-03-02 or 2026-03-02T10:00Z"
        if expected.kind != written.kind and (expected.kind, written.kind) != ("date", "date-time"):
            return lambda: f"is a {written.kind}, not a {expected.kind}"
        if _is_same(expected, written):
            return None
        return lambda: f"different {_DIFFERENT[expected.kind]}: {actual}"


_DIFFERENT: dict[DateKind, str] = {"date": "day", "date-time": "instant", "time": "time"}


def _is_same(expected: WrittenDate, written: WrittenDate) -> bool:
    if expected.kind == "date":
        return written.at.date() == expected.at.date()
    if expected.at.tzinfo is None or written.at.tzinfo is None:
        return expected.at.replace(tzinfo=None) == written.at.replace(tzinfo=None)
    apart = expected.at - written.at
    return not (apart % timedelta(days=1) if expected.kind == "time" else apart)
