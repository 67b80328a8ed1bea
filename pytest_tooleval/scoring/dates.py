"""Whether two dates or times, as they are written, mean the same."""

from __future__ import annotations

from datetime import timedelta

from ..suite.dates import Written

_OTHER = {"date": "day", "date-time": "instant", "time": "time"}


def same_date(expected: Written, actual: Written) -> bool:
    """Whether it is the day, the instant or the time that is expected.

    A date-time falls on the day that it is written with. Without two zones, clocks compare.
    """
    if expected.kind == "date":
        return actual.kind != "time" and actual.at.date() == expected.at.date()
    if expected.kind != actual.kind:
        return False
    if expected.at.tzinfo is None or actual.at.tzinfo is None:
        return expected.at.replace(tzinfo=None) == actual.at.replace(tzinfo=None)
    apart = expected.at - actual.at
    return not (apart % timedelta(days=1) if expected.kind == "time" else apart)


def difference(expected: Written, actual: Written, text: str) -> str:
    """Why `actual`, written as `text`, is not the same."""
    if expected.kind == actual.kind or (expected.kind, actual.kind) == ("date", "date-time"):
        return f"another {_OTHER[expected.kind]}: {text}"
    return f"is a {actual.kind}, not a {expected.kind}"
