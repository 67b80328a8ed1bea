"""Reads a provider's message as a `Reply`: finds the calls in it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from ..record.calls import ToolCall
from ..record.endings import no_answer
from ..record.transcript import CallFormat
from ..record.transcript import Message
from ..record.transcript import Reply
from ..record.transcript import Round
from ..record.transcript import Taken
from ..record.transcript import text_of
from ..record.untrusted import as_mapping
from ..record.untrusted import as_text
from .clients.base import ChatAnswer
from .clients.base import ChatRequest


def read_reply(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Reply:
    """Read an answer, whose message may contain anything.

    Calls that the model wrote as text are recovered, unless it was told not to call.
    """
    message = dict(answer.message)
    tool_names = [tool["function"]["name"] for tool in request.tools]
    asked = request.tool_choice if request.tools else None
    tool_choice = answer.fallbacks.get("tool_choice", asked)
    calls, format = _calls(message, tool_names, tool_choice)
    left_out = "temperature" in answer.fallbacks
    return Reply(
        message=message,
        calls=calls,
        format=format,
        tool_choice=tool_choice,
        temperature=None if left_out else request.sampling.get("temperature"),
        finish_reason=answer.finish_reason,
        cached=cached,
        no_answer=no_answer(calls, text_of(message), answer.finish_reason, answer.finish_message),
        **{name: getattr(answer, name) for name in Taken.__struct_fields__},
    )


def read_run(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Reply | tuple[Round, ...]:
    """A reply, or all rounds of an agent with its own loop."""
    if answer.earlier is None:
        return read_reply(answer, request, cached=cached)
    return tuple(
        Round(read_reply(each, request, cached=cached), each.answers, status=each.status)
        for each in answer.rounds
    )


def _calls(
    message: Message, tool_names: Collection[str], tool_choice: str | None
) -> tuple[tuple[ToolCall, ...], CallFormat]:
    raw = message.get("tool_calls")
    raw = [raw] if isinstance(raw, Mapping) and "function" in raw else raw
    if isinstance(raw, list) and raw:
        return _repaired(tuple(_native(call) for call in raw), tool_names)
    function = message.get("function_call")
    if isinstance(function, Mapping):  # the chat API's older field
        return _repaired((_native({"function": function}),), tool_names)
    text = text_of(message)
    if tool_choice != "none" and text.strip():
        from .recovery import recover_calls

        recovered = recover_calls(text, tool_names)
        if recovered:
            return recovered, "recovered"
    return (), "native"


def _native(call: object) -> ToolCall:
    if not isinstance(call, Mapping):
        return ToolCall.parse("", call)
    function = as_mapping(call.get("function"))
    name, id = as_text(function.get("name")), as_text(call.get("id")) or None
    return ToolCall.parse(name, function.get("arguments"), id)


def _repaired(
    calls: tuple[ToolCall, ...], tool_names: Collection[str]
) -> tuple[tuple[ToolCall, ...], CallFormat]:
    """Some local models write the whole call into the function's name."""
    if not any(call.name.lstrip().startswith("{") for call in calls):
        return calls, "native"
    from .recovery import repair_call

    repaired = tuple(repair_call(call, tool_names) or call for call in calls)
    return repaired, "native" if repaired == calls else "recovered"
