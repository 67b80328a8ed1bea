"""Sessions of Gemini CLI, as it writes them below `~/.gemini/tmp`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...engine.protocols.builder import as_content
from ...record.transcript import text_of
from ...record.untrusted import as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..items import call_message, reply
from ..records import objects_of

_BESIDE = ("info", "error", "warning")  # what the program itself says
_STATUSES = {"error": "error", "cancelled": "refused"}


def _holds(value: Any) -> bool:
    messages = objects_in(as_mapping(value).get("messages"))
    return "sessionId" in as_mapping(value) and any(each.get("type") == "gemini" for each in messages)


def _messages(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind, content = as_text(message.get("type")), text_of(message)
    if kind in _BESIDE:
        return
    if kind != "gemini":
        yield {"role": kind, "content": content}
        return
    calls = objects_of(message.get("toolCalls"), "toolCalls")
    chat_calls = [call_message(each.get("id"), each.get("name"), each.get("args")) for each in calls]
    names = ("id", "timestamp", "type", "content", "toolCalls", "thoughts", "tokens", "model")
    others = {key: value for key, value in message.items() if key not in names}
    yield reply(content, chat_calls, **others)
    for call in calls:
        if call.get("result") is not None or call.get("status") in _STATUSES:
            status = _STATUSES.get(as_text(call.get("status")))
            answer = {"role": "tool", "tool_call_id": call.get("id"), "content": _result(call)}
            yield {**answer, **({"status": status} if status else {})}


def _result(call: Mapping[str, Any]) -> str:
    answers = [as_mapping(each.get("functionResponse")) for each in objects_in(call.get("result"))]
    responses = [as_mapping(each.get("response")) for each in answers]
    return "\n".join(as_text(each.get("output")) or str(as_content(each)) for each in responses)


def _convert(value: Any) -> Any:
    messages = objects_of(value.get("messages"), "messages")
    models = (as_text(each.get("model")) for each in messages)
    about = {"id": as_text(value.get("sessionId")), "model": next(filter(None, models), "")}
    return {**about, "messages": [message for each in messages for message in _messages(each)]}


FORMAT = Format(
    title="sessions of Gemini CLI",
    recognised="`sessionId` and `messages` of the type `gemini`, as below `~/.gemini/tmp`",
    tools="never recorded",
    calls="of each reply",
    example="session.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic", "bedrock", "langchain"),
)
