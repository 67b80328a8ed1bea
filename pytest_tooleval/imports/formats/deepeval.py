"""Goldens and test cases of DeepEval: `input` and `expected_tools`, which may also be names alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record.untrusted import as_mapping, as_text
from ..conversation import Expected, Item
from ..format import EachRecord, Format
from ..records import Record, UnusableError


def _expected(value: Any) -> Any:
    found = as_mapping(value)
    return found.get("expected_tools", found.get("expectedTools"))


def _holds(value: Any) -> bool:
    return isinstance(as_mapping(value).get("input"), str) and isinstance(_expected(value), list)


def _read(record: Record) -> Iterator[Item]:
    calls = []
    for each in _expected(record.value):
        tool = {"name": each} if isinstance(each, str) else as_mapping(each)
        given = tool.get("inputParameters", tool.get("input_parameters"))
        calls.append((as_text(tool.get("name")), given if isinstance(given, dict) else None))
    if any(not name for name, _ in calls):
        raise UnusableError("expected_tools: a tool without a name")
    prompt = [{"role": "user", "content": record.value["input"]}]
    yield Expected(record.problem(), prompt, calls)


FORMAT = Format(
    title="goldens of DeepEval",
    recognised="`input` and `expected_tools`",
    tools="never recorded",
    expectations="calls, with arguments if given",
    example="goldens.json",
    holds=_holds,
    read=EachRecord(_read),
    is_strict=True,
    over=("openai",),
)
