"""Reads the chat API's document, any part of which may be malformed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ...record.endings import ending_of
from ..models.prices import ran_unpriced
from .base import ChatAnswer
from .transport import no_message


def read_chat(
    chat: Mapping[str, Any],
    document: Mapping[str, Any],
    price: Mapping[str, Any] | None,
    latency_s: float,
) -> ChatAnswer:
    """The answer in a chat document; `document` is the provider's original.

    `price` is the entry in litellm's list. Raises ModelError if there is no message.
    """
    ending = ending_of(chat) if chat is document else ending_of(chat, document)
    try:
        choice = chat["choices"][0]
        message = _without_nulls(choice["message"])
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise no_message(type(error).__name__) from None
    reason = _finish_reason(choice.get("finish_reason"), message)
    answer = ChatAnswer.from_chat(message, ending, reason, chat, latency_s, price)
    return structs.replace(answer, cost_at_least=ran_unpriced(document))


def _without_nulls(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without null fields, which strict servers refuse in later requests."""
    kept = {key: value for key, value in message.items() if value is not None}
    kept.setdefault("content", None)
    kept.setdefault("role", "assistant")
    calls = kept.get("tool_calls")
    if calls == []:
        del kept["tool_calls"]
    elif isinstance(calls, list):
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if value is not None}
            if isinstance(call, dict)
            else call
            for call in calls
        ]
    return kept


def _finish_reason(reason: object, message: Mapping[str, Any]) -> str:
    """The reason, but `tool_calls` if a server says `stop` after calls."""
    if reason in (None, "stop", ""):
        return "tool_calls" if message.get("tool_calls") else "stop"
    return str(reason)
