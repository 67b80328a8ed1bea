"""Reads conversations that mix chat messages with the formats of other APIs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .blocks import has_blocks, read_blocks
from .builder import EXTENSIONS, ChatBuilder
from .parts import has_parts, read_parts
from .responses import ItemReader


def reply_fields(values: Iterable[Any]) -> dict[str, Any]:
    """A single answer's contents besides text: its calls and the fields of `EXTENSIONS`, if any."""
    return contents_of(read_messages(values))


def contents_of(chat: ChatBuilder) -> dict[str, Any]:
    """The contents of all its messages besides text."""
    contents: dict[str, Any] = {}
    for message in chat.messages:
        for field in ("tool_calls", *EXTENSIONS):
            if message.get(field):
                contents[field] = [*contents.get(field, ()), *message[field]]
    return contents


def read_messages(values: Iterable[Any]) -> ChatBuilder:
    """The chat messages of a conversation. Values that are not objects stay unchanged."""
    chat = ChatBuilder()
    items = ItemReader(chat)
    for value in values:
        if not isinstance(value, Mapping):
            chat.messages.append(value)
        elif value.get("role") is None and value.get("type") is not None:
            items.read(value)
        elif has_parts(value):
            read_parts(chat, value)
        elif has_blocks(value):
            read_blocks(chat, value)
        else:
            chat.add(value)
    return chat
