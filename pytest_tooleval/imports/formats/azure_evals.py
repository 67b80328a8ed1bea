"""Rows of Azure AI evaluation: a query, the messages of the response, and the tools."""

from __future__ import annotations

from typing import Any

from ...engine.protocols.builder import as_content
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..items import call_message
from ..records import decode_text


def _holds(value: Any) -> bool:
    fields = as_mapping(value)
    is_row = all(isinstance(fields.get(key), (str, list)) for key in ("query", "response"))
    return is_row and not {"answers", "messages", "request"} & fields.keys()


def _message(message: Any) -> Any:
    """The message as in the chat API, whose calls and answers of tools are parts here."""
    fields = dict(as_mapping(message))
    parts = objects_in(fields.get("content"))
    calls = [part for part in parts if part.get("type") == "tool_call"]
    results = [part for part in parts if part.get("type") == "tool_result"]
    if results:
        fields["content"] = as_content(results[0].get("tool_result"))
    elif calls:
        inner = [as_mapping(part.get("tool_call")) or part for part in calls]
        fields["content"] = [part for part in parts if part not in calls] or None
        fields["tool_calls"] = [
            {**call, "id": call.get("id")}
            if "function" in call
            else call_message(call.get("tool_call_id"), call.get("name"), call.get("arguments"))
            for call in inner
        ]
    return fields or message


def _messages(value: Any, role: str) -> list[Any]:
    content = decode_text(value)
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    return [_message(each) for each in as_list(content)]


def _convert(value: Any) -> Any:
    tools = decode_text(value.get("tool_definitions"))
    messages = [*_messages(value["query"], "user"), *_messages(value["response"], "assistant")]
    calls = value.get("tool_calls")
    about = {"id": as_text(value.get("id")), **({"tool_calls": calls} if calls else {})}
    return {**about, **({"tools": tools} if tools else {}), "messages": messages}


FORMAT = Format(
    title="rows of Azure AI evaluation",
    recognised="`query` and `response`, texts or lists of messages, and `tool_definitions`",
    calls="of each message of the response",
    example="rows.jsonl",
    holds=_holds,
    read=conversation_reader(_convert),
    is_strict=True,
    over=("openai", "anthropic", "tools"),
)
