"""Conversations of LangChain and LangGraph, written by `dumpd`, `messages_to_dict` or `model_dump`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text
from ..chats import conversation_reader
from ..error_texts import LANGCHAIN, with_statuses
from ..format import Format
from ..items import called
from ..records import objects_of

_ROLES = {
    "system": "system", "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant",
    "tool": "tool", "function": "tool", "developer": "system",
}  # fmt: skip
_CALLS = ("tool_calls", "invalid_tool_calls")
# The provider's own form of calls, which are in `tool_calls`, and its thoughts.
_OWN = ("tool_use", "function_call", "tool_call", "input_json_delta", "reasoning")


def fields_of(message: Any) -> Mapping[str, Any]:
    """The fields of a message, whatever is around them; empty if it is none of LangChain."""
    found = as_mapping(message)
    if found.get("lc") == 1 and isinstance(found.get("kwargs"), Mapping):
        names = found.get("id")
        kind = _kind(names[-1] if isinstance(names, list) and names else "")
        return {**found["kwargs"], "type": kind} if kind in _ROLES else {}
    if isinstance(found.get("data"), Mapping) and _kind(found.get("type")) in _ROLES:
        return {**found["data"], "type": _kind(found["type"])}
    is_own = _kind(found.get("type")) in _ROLES and "role" not in found and "content" in found
    return {**found, "type": _kind(found["type"])} if is_own else {}


def _kind(name: Any) -> str:
    return as_text(name).removesuffix("Chunk").removesuffix("Message").lower()


def chat_message(message: Any) -> Any:
    """The message as in the chat API; anything else as it is."""
    found = fields_of(message)
    if not found:
        return message
    made: dict[str, Any] = {"role": _ROLES[found["type"]], "content": found.get("content")}
    if made["role"] == "tool":
        made |= {"tool_call_id": found.get("tool_call_id"), "is_error": found.get("status") == "error"}
        return with_statuses([made], LANGCHAIN)[0]
    extra = as_mapping(found.get("additional_kwargs"))
    every = [each for key in _CALLS for each in objects_of(found.get(key), key)]
    made_calls = [called(each.get("id"), each.get("name"), each.get("args")) for each in every]
    if calls := made_calls or objects_of(extra.get("tool_calls"), "tool_calls"):
        made |= {"tool_calls": calls, "content": _without_calls(made["content"])}
    elif "function_call" in extra:
        made["function_call"] = extra["function_call"]
    about = as_mapping(found.get("response_metadata"))
    ended = about.get("finish_reason") or about.get("stop_reason")
    return {**made, "finish_reason": ended} if isinstance(ended, str) else made


def _without_calls(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [part for part in content if as_mapping(part).get("type") not in _OWN] or None


def _messages(value: Any) -> Any:
    """The messages of a record: its own, or those in the state of a graph."""
    found = as_mapping(value)
    for key in ("values", "output", "kwargs"):
        if "messages" not in found and isinstance(as_mapping(found.get(key)).get("messages"), list):
            return found[key]["messages"]
    return found.get("messages")


def _holds(value: Any) -> bool:
    return any(map(fields_of, as_list(_messages(value))))


def _convert(value: Any) -> Any:
    made = {key: value[key] for key in ("id", "case", "tools", "model") if key in as_mapping(value)}
    return {**made, "messages": [chat_message(each) for each in as_list(_messages(value))]}


FORMAT = Format(
    title="LangChain messages",
    recognised="`messages` of `dumpd`, `messages_to_dict` or `model_dump`, or a graph's state",
    calls="of each answer",
    example="thread.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic"),
)
