"""Messages of Vercel's AI SDK: as it sends them (ModelMessage), or as it shows them (UIMessage)."""

from __future__ import annotations

from typing import Any

from ...record.untrusted import as_mapping, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..vercel_messages import chat_messages_of, is_message


def _holds(value: Any) -> bool:
    return any(map(is_message, objects_in(as_mapping(value).get("messages"))))


def _convert(value: Any) -> Any:
    messages = value.get("messages")
    return {**value, "messages": [*chat_messages_of(messages)]} if isinstance(messages, list) else value


FORMAT = Format(
    title="messages of the AI SDK",
    recognised="`messages` with parts such as `tool-call` or `tool-NAME`, or with `toolInvocations`",
    tools="recorded, from another file, else made of the calls",
    calls="of each reply",
    example="chat.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic"),
    lacks_tools=True,
)
