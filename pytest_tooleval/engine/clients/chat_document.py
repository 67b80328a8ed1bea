"""Reads the chat API's document, any part of which may be malformed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...record.endings import ending_of
from ...record.untrusted import as_text
from ..models.prices import cost_usd
from ..models.prices import reasoning_tokens
from ..models.prices import reported_cost
from ..models.prices import token_count
from ..models.prices import usage_of
from .base import ChatAnswer
from .transport import no_message


def read_chat(
    chat: Mapping[str, Any],
    document: Mapping[str, Any],
    price: Mapping[str, Any] | None,
    latency_s: float,
) -> ChatAnswer:
    """The answer in a chat document; `document` is the provider's original.

    `price` is the entry of litellm's list. Raises ModelError when there is no message.
    """
    ending = ending_of(chat, document)
    try:
        choice = chat["choices"][0]
        message = _without_nulls(choice["message"])
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise no_message(type(error).__name__) from None
    reason = ending.reason if ending else choice.get("finish_reason")
    usage = usage_of(chat)
    return ChatAnswer(
        message=message,
        finish_reason=_finish_reason(reason, message),
        finish_message=ending.message if ending else None,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        reasoning_tokens=reasoning_tokens(usage),
        cost_usd=reported_cost(usage) or cost_usd(price, usage),
        latency_s=latency_s,
        served_model=as_text(chat.get("model")) or None,
        system_fingerprint=as_text(chat.get("system_fingerprint")) or None,
    )


def _without_nulls(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without null fields, which strict servers refuse when they are sent back."""
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
