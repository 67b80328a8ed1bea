"""Suites under another name, such as `suite.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..format import EachRecord, Format
from ..items import Item, WholeSuite
from ..records import Record


def _holds(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("test_cases"), list)


def _read(record: Record) -> Iterator[Item]:
    yield WholeSuite(record.location, record.value)


FORMAT = Format(
    title="a suite",
    recognised="a suite whose file has another name: anything with `test_cases`",
    tools="all",
    expectations="all",
    example="suite.json",
    holds=_holds,
    read=EachRecord(_read),
    is_strict=True,
    over=("openai", "tools"),
)
