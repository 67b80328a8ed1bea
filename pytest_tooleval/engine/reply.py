"""From a provider's message to a `Reply`: finding the calls in it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from ..results import CallFormat
from ..results import Message
from ..results import Reply
from ..results import ToolCall
from .client import ChatAnswer


def read_reply(
    answer: ChatAnswer, tool_names: Collection[str], tool_choice: str | None, *, cached: bool
) -> Reply:
    """Read an answer whose message may hold anything.

    Calls that a model wrote as text are recovered, unless it was told to call nothing.
    """
    data, calls, format = _calls(dict(answer.message), tool_names, tool_choice)
    return Reply(
        message=Message(data),
        calls=calls,
        format=format,
        tool_choice=tool_choice,
        finish_reason=answer.finish_reason,
        latency_s=answer.latency_s,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=answer.cost_usd,
        cached=cached,
    )


def _calls(
    data: dict[str, Any], tool_names: Collection[str], tool_choice: str | None
) -> tuple[dict[str, Any], tuple[ToolCall, ...], CallFormat]:
    raw = data.get("tool_calls")
    if isinstance(raw, list) and raw:
        if not all(isinstance(call, Mapping) and call.get("id") for call in raw):
            # Every call must be answered by its id; some local servers give none.
            raw = [
                {**call, "id": call.get("id") or f"call_{i}"} if isinstance(call, Mapping) else call
                for i, call in enumerate(raw)
            ]
            data["tool_calls"] = raw
        calls = tuple(_native(call) for call in raw)
        return _repaired(data, calls, tool_names)
    function = data.get("function_call")
    if isinstance(function, Mapping):  # the chat API's older spelling
        return data, (_native({"id": None, "function": function}),), "native"
    content = data.get("content")
    if tool_choice != "none" and isinstance(content, str) and content.strip():
        from ..scoring.recovery import recover_calls

        recovered = recover_calls(content, tool_names)
        if recovered:
            return data, recovered, "recovered"
    return data, (), "native"


def _native(call: object) -> ToolCall:
    if not isinstance(call, Mapping):
        return ToolCall.parse("", call)
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    name, id = function.get("name"), call.get("id")
    return ToolCall.parse(
        name if isinstance(name, str) else "",
        function.get("arguments"),
        id if isinstance(id, str) else None,
    )


def _repaired(
    data: dict[str, Any], calls: tuple[ToolCall, ...], tool_names: Collection[str]
) -> tuple[dict[str, Any], tuple[ToolCall, ...], CallFormat]:
    """Some local models write the whole call into the function's name."""
    if not any(call.name.lstrip().startswith("{") for call in calls):
        return data, calls, "native"
    from ..scoring.recovery import repair_call

    repaired = tuple(repair_call(call, tool_names) or call for call in calls)
    return data, repaired, "native" if repaired == calls else "recovered"
