"""Messages of Vercel's AI SDK: as it sends them (ModelMessage), or as it shows them (UIMessage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.untrusted import as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format

Message = dict[str, Any]
_ENDED = ("result", "output-available", "output-error", "output-denied")
_NO_PART = ("step-start", "reasoning", "source", "source-url", "source-document")


def is_message(message: Mapping[str, Any]) -> bool:
    """Whether a message has parts or calls that only the SDK writes."""
    if isinstance(message.get("toolInvocations"), list):
        return True
    shown = objects_in(message.get("parts"))
    kinds = [as_text(part.get("type")) for part in (*shown, *objects_in(message.get("content")))]
    if any(kind in ("step-start", "dynamic-tool") or kind.startswith("tool-") for kind in kinds):
        return True
    return bool(shown) and all("type" in part and "content" not in part for part in shown)


def chat_messages_of(messages: list[Any]) -> Iterator[Message]:
    """The messages in order; one that the SDK shows may be several replies with their answers."""
    for message in messages:
        if not isinstance(message, Mapping):
            yield message
        elif message.get("parts") or message.get("toolInvocations"):
            yield from _shown(message)
        else:
            yield from _sent(message)


def _sent(message: Mapping[str, Any]) -> Iterator[Message]:
    """A ModelMessage, or a CoreMessage of version 4."""
    content = message.get("content")
    if not isinstance(content, list):
        yield dict(message)
        return
    blocks = [block for part in content if (block := _block(as_mapping(part))) is not None]
    role = message.get("role")
    yield {**message, "role": "user" if role == "tool" else role, "content": blocks}


def _block(part: Mapping[str, Any]) -> Message | None:
    kind = part.get("type")
    if kind == "tool-call":
        return _use(part)
    if kind == "tool-result":
        return _result(part)
    if kind == "tool-approval-response":
        return None
    return None if kind in ("reasoning", "tool-approval-request") else dict(part)


def _use(call: Mapping[str, Any]) -> Message:
    kind = "server_tool_use" if call.get("providerExecuted") is True else "tool_use"
    given = call.get("input", call.get("args"))
    return {"type": kind, "id": call.get("toolCallId"), "name": _name(call), "input": given}


def _name(call: Mapping[str, Any]) -> str:
    return as_text(call.get("toolName")) or as_text(call.get("type")).removeprefix("tool-")


def _result(call: Mapping[str, Any]) -> Message:
    output = call.get("output", call.get("result"))
    typed = as_mapping(output)
    failed = call.get("isError") is True or "errorText" in call
    if "value" in typed and "type" in typed:
        failed = failed or as_text(typed["type"]).startswith("error")
        output = typed["value"]
    output = call.get("errorText", output)
    made: Message = {"type": "tool_result", "tool_use_id": call.get("toolCallId"), "content": output}
    return {**made, "is_error": True} if failed else made


def _shown(message: Mapping[str, Any]) -> Iterator[Message]:
    """A UIMessage, in which a reply and the answers to its calls stand together."""
    parts = objects_in(message.get("parts"))
    if not parts:  # version 4, where the text is that of the last reply
        calls = objects_in(message.get("toolInvocations"))
        parts = [{"type": "tool-invocation", "toolInvocation": each} for each in calls]
        text = as_text(message.get("content"))
        parts += [{"type": "text", "text": text}] if text else []
    if message.get("role") != "assistant":
        yield {"role": message.get("role"), "content": parts}
        return
    said: list[Message] = []
    answers: list[Message] = []
    for part in parts:
        kind = as_text(part.get("type"))
        call = as_mapping(part.get("toolInvocation")) or part
        is_call = kind.startswith("tool-") or kind == "dynamic-tool"
        if answers and not is_call:
            yield from _turn(said, answers)
            said, answers = [], []
        if is_call:
            said.append(_use(call))
            if call.get("state") in _ENDED:
                answers.append(_result(call))
        elif kind not in _NO_PART and not kind.startswith("data-"):
            said.append(dict(part))
    yield from _turn(said, answers)


def _turn(said: list[Message], answers: list[Message]) -> Iterator[Message]:
    if said:
        yield {"role": "assistant", "content": said}
    if answers:
        yield {"role": "user", "content": answers}


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
