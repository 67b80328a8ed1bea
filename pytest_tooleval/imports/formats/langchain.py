"""Conversations of LangChain and LangGraph, written by `dumpd`, `messages_to_dict` or `model_dump`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text
from ..chats import conversation_reader
from ..error_texts import LANGCHAIN, with_statuses
from ..format import Format
from ..items import call_message
from ..records import objects_of

_ROLES = {
    "system": "system", "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant",
    "tool": "tool", "function": "tool", "developer": "system",
}  # fmt: skip
_CALLS = ("tool_calls", "invalid_tool_calls")
# The provider's own form of calls, which are in `tool_calls`, and its thoughts.
_OWN = ("tool_use", "function_call", "tool_call", "input_json_delta", "reasoning")


def message_fields(message: Any) -> Mapping[str, Any]:
    """The fields of a message, whatever is around them; empty if it is none of LangChain."""
    fields = as_mapping(message)
    if fields.get("lc") == 1 and isinstance(fields.get("kwargs"), Mapping):
        names = fields.get("id")
        kind = _kind(names[-1] if isinstance(names, list) and names else "")
        return {**fields["kwargs"], "type": kind} if kind in _ROLES else {}
    if isinstance(fields.get("data"), Mapping) and _kind(fields.get("type")) in _ROLES:
        return {**fields["data"], "type": _kind(fields["type"])}
    is_own = _kind(fields.get("type")) in _ROLES and "role" not in fields and "content" in fields
    return {**fields, "type": _kind(fields["type"])} if is_own else {}


def _kind(name: Any) -> str:
    return as_text(name).removesuffix("Chunk").removesuffix("Message").lower()


def as_chat(message: Any) -> Any:
    """The message as in the chat API; anything else as it is."""
    fields = message_fields(message)
    if not fields:
        return message
    chat: dict[str, Any] = {"role": _ROLES[fields["type"]], "content": fields.get("content")}
    if chat["role"] == "tool":
        chat |= {"tool_call_id": fields.get("tool_call_id"), "is_error": fields.get("status") == "error"}
        return with_statuses([chat], LANGCHAIN)[0]
    extra = as_mapping(fields.get("additional_kwargs"))
    every = [each for key in _CALLS for each in objects_of(fields.get(key), key)]
    own_calls = [call_message(each.get("id"), each.get("name"), each.get("args")) for each in every]
    if calls := own_calls or objects_of(extra.get("tool_calls"), "tool_calls"):
        chat |= {"tool_calls": calls, "content": _without_calls(chat["content"])}
    elif "function_call" in extra:
        chat["function_call"] = extra["function_call"]
    about = as_mapping(fields.get("response_metadata"))
    ended = about.get("finish_reason") or about.get("stop_reason")
    return {**chat, "finish_reason": ended} if isinstance(ended, str) else chat


def _without_calls(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [part for part in content if as_mapping(part).get("type") not in _OWN] or None


def _messages(value: Any) -> Any:
    """The messages of a record: its own, or those in the state of a graph."""
    fields = as_mapping(value)
    for key in ("values", "output", "kwargs"):
        if "messages" not in fields and isinstance(as_mapping(fields.get(key)).get("messages"), list):
            return fields[key]["messages"]
    return fields.get("messages")


def _holds(value: Any) -> bool:
    return any(map(message_fields, as_list(_messages(value))))


def _convert(value: Any) -> Any:
    about = {key: value[key] for key in ("id", "case", "tools", "model") if key in as_mapping(value)}
    return {**about, "messages": [as_chat(each) for each in as_list(_messages(value))]}


FORMAT = Format(
    title="LangChain messages",
    recognised="`messages` of `dumpd`, `messages_to_dict` or `model_dump`, or a graph's state",
    calls="of each answer",
    example="thread.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic"),
)
