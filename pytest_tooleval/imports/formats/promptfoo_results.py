"""Results of promptfoo, as `promptfoo eval --output results.json` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversations
from ..format import EachRecord, Format
from ..items import Item
from ..records import Record, UnusableError, decode_text
from .promptfoo import tools_of


def _rows(value: Any) -> list[dict[str, Any]]:
    inner = as_mapping(as_mapping(value).get("results"))
    return [row for row in objects_in(inner.get("results")) if "prompt" in row and "vars" in row]


def _parts(record: Record) -> Iterator[Record]:
    config = as_mapping(record.value.get("config"))
    for number, row in enumerate(_rows(record.value)):
        yield record.inside({**row, "config": config}, f"results.results[{number}]")


def _read(record: Record) -> Iterator[Item]:
    """A row as a request and its answer, whose output is a text, calls, or what the provider gave."""
    row = record.value
    output = decode_text(as_mapping(row.get("response")).get("output"))
    if row.get("error") and not output:
        raise UnusableError("the answer is an error from the provider")
    raw = decode_text(as_mapping(row["prompt"]).get("raw"))
    messages = raw if isinstance(raw, list) else [{"role": "user", "content": as_text(raw)}]
    calls = objects_in(output)
    if calls and len(calls) == len(as_list(output)) and all("function" in each for each in calls):
        output = {"role": "assistant", "content": None, "tool_calls": calls}
    elif calls and all("type" in each and "role" not in each for each in calls):
        output = {"role": "assistant", "content": calls}  # Anthropic's blocks
    tools = tools_of(record.path.parent, row["config"])
    about = {} if tools is None else {"tools": tools}
    yield from conversations(record, {"messages": messages, "response": output, **about})


FORMAT = Format(
    title="results of promptfoo",
    recognised="`results` with `results` that have a `prompt` and `vars`",
    tools="of the provider in `config`",
    calls="of each output",
    example="results.json",
    holds=lambda value: bool(_rows(value)),
    read=EachRecord(_read, _parts),
    is_strict=True,
    over=("tools",),
)
