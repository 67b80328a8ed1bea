"""Conversations of LangChain and LangGraph."""

from __future__ import annotations

from typing import Any

from ...record.untrusted import as_list, as_mapping
from ..chats import conversation_reader
from ..format import Format
from ..langchain_messages import chat_message, fields_of


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
    recognised="`messages` of `dumpd`, `messages_to_dict` or `model_dump`, also in a graph's state",
    tools="recorded, from another file, else made of the calls",
    calls="of each answer",
    example="thread.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic"),
    lacks_tools=True,
)
