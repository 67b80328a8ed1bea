"""Messages of OpenAI's APIs, with or without an answer beside them."""

from __future__ import annotations

from typing import Any

from ..bodies import ANSWER_KEYS, REQUEST_KEYS
from ..chats import conversation_reader
from ..format import Format


def _holds(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("messages"), list) or isinstance(value.get("choices"), list):
        return True
    if value.get("object") == "response" or isinstance(value.get("body"), dict):
        return True
    return any(key in value for key in REQUEST_KEYS) and any(key in value for key in ANSWER_KEYS)


FORMAT = Format(
    title="OpenAI messages",
    recognised="`messages` of the chat API; a request and its answer, of the chat or Responses API, as "
    "litellm, langfuse and VCR record them",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(),
)
