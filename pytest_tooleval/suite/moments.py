"""`now`: the instant from which relative dates count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..matchers.dates import DateKind, read_date

NOW = "now"
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_OF_DAYS = ("weeks", "days")
# Codes that mean the same on each system; those of names are in English, whatever the locale.
_CODE = re.compile(r"%(.?)")
_PLAIN = "dHIjmMpSUuVWwyYGfzZ%"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Moment(NamedTuple):
    """An instant or a day, as the suite writes it and as it is."""

    text: str
    kind: DateKind
    at: datetime

    def strftime(self, form: str) -> str | None:
        """The moment in a format of strftime, in the C locale; None if the format is not known."""
        unknown = False

        def code(match: re.Match[str]) -> str:
            nonlocal unknown
            letter = match[1]
            if letter in "aA":
                name = _DAYS[self.at.weekday()]
            elif letter in "bBh":
                name = _MONTHS[self.at.month - 1]
            elif letter == "p":
                return "AM" if self.at.hour < 12 else "PM"
            elif letter and letter in _PLAIN:
                return self.at.strftime(f"%{letter}")
            else:
                unknown = True
                return ""
            return name if letter in "AB" else name[:3]

        text = _CODE.sub(code, form)
        return None if unknown or not form else text

    def relative(self, value: Mapping[str, Any]) -> dict[str, Any] | None:
        """`{"$date": {"days": 1}}` as a date; None for anything else."""
        offset = value.get("$date") if len(value) == 1 else None
        if not isinstance(offset, dict) or not offset or not offset.keys() <= {*_UNITS}:
            return None
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in offset.values()):
            return None
        try:
            at = self.at + timedelta(**offset)
        except OverflowError:
            return None
        is_day = offset.keys() <= {*_OF_DAYS}
        return {"$date": at.date().isoformat() if is_day else at.isoformat()}


def read_moment(text: object) -> Moment | None:
    """Read `now`; None for anything but a date or date-time in ISO 8601."""
    date = read_date(text)
    return Moment(str(text), date.kind, date.at) if date and date.kind != "time" else None
