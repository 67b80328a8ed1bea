"""Events of OpenHands, alone or as the `history` of a run. Those of a call hold the model's reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...explain import describe, show
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversations
from ..format import EachFile, Format
from ..items import Item
from ..records import Record, UnusableError

# What the program does beside the conversation.
_BESIDE = ("system", "recall", "change_agent_state", "null")
_STATUSES = {"error": "error", "user_rejected": "refused"}


def _is_event(value: Any) -> bool:
    fields = as_mapping(value)
    return "source" in fields and (
        {"action", "args"} <= fields.keys() or {"observation", "content"} <= fields.keys()
    )


def _runs(records: list[Record]) -> list[Record]:
    """The events of the file, or those of each record."""
    if any(_is_event(each.value) for each in records):
        return [replace(records[0], value=[each.value for each in records])]
    return [replace(each, value=as_list(as_mapping(each.value).get("history"))) for each in records]


def _read(record: Record) -> Iterator[Item]:
    system = next((each for each in objects_in(record.value) if each.get("action") == "system"), {})
    tools = as_mapping(system.get("args")).get("tools")
    about = {"tools": tools} if isinstance(tools, list) else {}
    yield from conversations(record, {**about, "messages": [*_messages(record.value)]})


def _messages(events: Sequence[Any]) -> Iterator[Any]:
    seen: list[Any] = []  # several calls of one reply repeat it
    for event in events:
        if not _is_event(event):
            raise UnusableError(f"expected an event, got {describe(event)}")
        about, args = as_mapping(event.get("tool_call_metadata")), as_mapping(event.get("args"))
        action, content = event.get("action"), as_text(args.get("content"))
        if "observation" in event:
            if about:
                answer = {"role": "tool", "tool_call_id": about.get("tool_call_id")}
                status = _STATUSES.get(as_text(event["observation"]))
                yield {**answer, "content": event.get("content"), "status": status}
        elif reply := _reply(about):
            if about["model_response"] not in seen:
                seen.append(about["model_response"])
                yield reply
        elif action == "message" and event.get("source") in ("user", "agent"):
            images = [
                {"type": "image_url", "image_url": {"url": u}} for u in as_list(args.get("image_urls"))
            ]
            parts = [{"type": "text", "text": content}, *images] if images else content
            yield {"role": "user" if event["source"] == "user" else "assistant", "content": parts}
        elif action == "system":
            yield {"role": "system", "content": content}
        elif action not in _BESIDE:
            raise UnusableError(
                f"an event {show(action)} without the reply of the model that it is from"
            )


def _reply(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply of the model that holds the call of an event; empty if none does."""
    for choice in objects_in(as_mapping(about.get("model_response")).get("choices")):
        message = as_mapping(choice.get("message"))
        calls = objects_in(message.get("tool_calls"))
        if any(call.get("id") == about.get("tool_call_id") for call in calls):
            return message
    return {}


FORMAT = Format(
    title="events of OpenHands",
    recognised="`source` with an `action` or an `observation`, in a list or as the `history` of a run",
    tools="of the system event",
    calls="of each reply",
    example="trajectory.json",
    holds=lambda value: (
        _is_event(value) or any(map(_is_event, as_list(as_mapping(value).get("history"))))
    ),
    read=EachFile(_read, _runs),
)
