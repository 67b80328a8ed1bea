"""Results of promptfoo, as `promptfoo eval --output results.json` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversations
from ..conversation import Item
from ..format import Format
from ..records import Record, UnusableError, decoded
from .promptfoo import tools_of


def _rows(value: Any) -> list[dict[str, Any]]:
    inner = as_mapping(as_mapping(value).get("results"))
    return [row for row in objects_in(inner.get("results")) if "prompt" in row and "vars" in row]


def _read_file(record: Record) -> Iterator[Item]:
    for number, row in enumerate(_rows(record.value)):
        place = record.inside(row, f"results.results[{number}]")
        try:
            if row.get("error") and not as_mapping(row.get("response")).get("output"):
                raise UnusableError("the answer is an error from the provider")
            config = as_mapping(record.value.get("config"))
            yield from conversations(place, _converted(row, config, record.path.parent))
        except UnusableError as error:
            yield place.problem(str(error))


def _converted(row: Mapping[str, Any], config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A row as a request and its answer, whose output is a text, calls, or what the provider gave."""
    raw = decoded(as_mapping(row["prompt"]).get("raw"))
    messages = raw if isinstance(raw, list) else [{"role": "user", "content": as_text(raw)}]
    output = decoded(as_mapping(row.get("response")).get("output"))
    calls = objects_in(output)
    if calls and len(calls) == len(as_list(output)) and all("function" in each for each in calls):
        output = {"role": "assistant", "content": None, "tool_calls": calls}
    elif calls and all("type" in each and "role" not in each for each in calls):
        output = {"role": "assistant", "content": calls}  # Anthropic's blocks
    tools = tools_of(folder, config)
    made = {"messages": messages, "response": output}
    return {**made, **({} if tools is None else {"tools": tools})}


FORMAT = Format(
    title="results of promptfoo",
    recognised="`results` with `results` that have a `prompt` and `vars`",
    tools="of the provider in `config`",
    calls="of each output",
    example="results.json",
    holds=lambda value: bool(_rows(value)),
    read=lambda sources: (
        item for source in sources for record in source.records for item in _read_file(record)
    ),
    over=("tools",),
)
