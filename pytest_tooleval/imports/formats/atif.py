"""Runs of agents in ATIF, the interchange format that Harbor writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.untrusted import as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..items import call_message, reply
from ..records import objects_of

_KNOWN = frozenset(
    "step_id timestamp source model_name message reasoning_content reasoning_effort tool_calls "
    "observation metrics".split()
)


def _holds(value: Any) -> bool:
    fields = as_mapping(value)
    return as_text(fields.get("schema_version")).startswith("ATIF") or (
        "agent" in fields and any("source" in step for step in objects_in(fields.get("steps")))
    )


def _messages(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role = {"agent": "assistant"}.get(as_text(step.get("source")), step.get("source"))
    calls = objects_of(step.get("tool_calls"), "tool_calls")
    fields = ("tool_call_id", "function_name", "arguments")
    chat_calls = [call_message(*(each.get(name) for name in fields)) for each in calls]
    others = {key: value for key, value in step.items() if key not in _KNOWN}
    yield {**reply(step.get("message"), chat_calls, **others), "role": role}
    results = objects_of(as_mapping(step.get("observation")).get("results"), "observation")
    for number, result in enumerate(results):
        call_id = calls[number].get("tool_call_id") if number < len(calls) else None
        id = result.get("source_call_id") or call_id
        if chat_calls:
            yield {"role": "tool", "tool_call_id": id, "content": result.get("content") or ""}
        elif result.get("content"):
            yield {"role": "user", "content": result["content"]}


def _convert(value: Any) -> Any:
    agent = as_mapping(value.get("agent"))
    steps = objects_of(value.get("steps"), "steps")
    about = {"id": as_text(value.get("session_id")), "model": as_text(agent.get("model_name"))}
    tools = {"tools": agent["tool_definitions"]} if agent.get("tool_definitions") else {}
    return {**about, **tools, "messages": [message for step in steps for message in _messages(step)]}


FORMAT = Format(
    title="runs of ATIF",
    recognised="`schema_version` `ATIF-...`, or `agent` and `steps` with a `source`",
    calls="of each step of the agent",
    example="run.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai",),
)
