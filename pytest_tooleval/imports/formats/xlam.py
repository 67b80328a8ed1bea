"""Questions with the calls that answer them: xLAM's and APIGen's `query`, `answers` and `tools`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record.untrusted import as_mapping
from ..conversation import Expected, Item
from ..format import EachRecord, Format
from ..records import Record, UnusableError, decoded
from ..tool_dialects import tool_values


def _holds(value: Any) -> bool:
    is_record = isinstance(value, dict) and {"query", "answers", "tools"} <= value.keys()
    return is_record and isinstance(decoded(value["answers"]), list)


def _read(record: Record) -> Iterator[Item]:
    value = record.value
    if not isinstance(value["query"], str):
        raise UnusableError("the query is no text: a conversation may end with words of the assistant")
    calls = []
    for call in map(as_mapping, decoded(value["answers"])):
        arguments = decoded(call.get("arguments", call.get("parameters")))
        name = call.get("name", call.get("tool"))
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise UnusableError("answers: expected calls with a name and arguments")
        calls.append((name, arguments))
    prompt = [{"role": "user", "content": value["query"]}]
    tools = tool_values(value["tools"])
    yield Expected(record.problem(), prompt, calls, tools)


FORMAT = Format(
    title="xLAM questions",
    recognised="`query`, `answers` and `tools`, as xLAM and APIGen have them",
    expectations="calls with arguments",
    example="train.jsonl",
    holds=_holds,
    read=EachRecord(_read),
    is_strict=True,
)
