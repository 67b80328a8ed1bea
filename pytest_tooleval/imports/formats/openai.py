"""Messages of OpenAI's APIs, with or without an answer beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..chats import ANSWER_KEYS, REQUEST_KEYS, conversations
from ..conversation import Item
from ..format import Format, each_record
from ..records import Record


def _holds(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("messages"), list) or isinstance(value.get("choices"), list):
        return True
    if value.get("object") == "response" or isinstance(value.get("body"), dict):
        return True
    return any(key in value for key in REQUEST_KEYS) and any(key in value for key in ANSWER_KEYS)


def _read(path: Path, record: Record) -> Iterator[Item]:
    yield from conversations(path, record)


FORMAT = Format(
    title="OpenAI messages",
    recognised="`messages` of the chat API; a request and its answer, of the chat or Responses API, as "
    "litellm, langfuse and VCR record them",
    tools="recorded",
    calls="of each answer",
    expectations="",
    holds=_holds,
    read=each_record(_read),
)
