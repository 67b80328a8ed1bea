"""Dates and times in ISO 8601, with or without seconds and zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Literal
from typing import NamedTuple

Kind = Literal["date", "date-time", "time"]

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|z|[+-][0-9]{2}(:?[0-9]{2})?)?"
# pydantic alone would also accept a string of digits, as seconds since 1970.
_FORMS: dict[Kind, re.Pattern[str]] = {
    "date": re.compile(_DAY),
    "date-time": re.compile(f"{_DAY}[Tt ]{_CLOCK}"),
    "time": re.compile(_CLOCK),
}


class Written(NamedTuple):
    """A date, date-time or time; dates are at midnight, times on 2000-01-01."""

    kind: Kind
    at: datetime


def read_date(text: object) -> Written | None:
    """The date, date-time or time in a value; None if it is none of them."""
    if isinstance(text, str):
        for kind, form in _FORMS.items():
            if form.fullmatch(text):
                return _read(kind, text)
    return None


def _read(kind: Kind, text: str) -> Written | None:
    if kind == "time":
        text = f"2000-01-01T{text}"
    if kind != "date" and text[-3] in "+-":
        text += ":00"  # the minutes of the zone
    try:
        return Written(kind, _datetime()(text))
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _datetime() -> Callable[[str], datetime]:
    from pydantic import TypeAdapter

    return TypeAdapter(datetime).validate_python
