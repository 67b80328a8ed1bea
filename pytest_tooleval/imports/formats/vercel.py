"""Messages of Vercel's AI SDK: as it sends them (ModelMessage), or as it shows them (UIMessage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...engine.protocols.builder import as_content
from ...record.status import APPROVED
from ...record.transcript import Message
from ...record.untrusted import as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..records import objects_of

_ENDED = ("result", "output-available", "output-error", "output-denied", "approval-requested")
_STATES = {"output-denied": "refused", "approval-requested": "waiting"}
_NO_PART = ("step-start", "reasoning", "source", "source-url", "source-document")
_SILENT = ("reasoning", "tool-approval-request", "tool-approval-response")


def is_sdk_message(message: Mapping[str, Any]) -> bool:
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
    parts = [part for each in messages for part in objects_in(as_mapping(each).get("content"))]
    granted = [
        part.get("approvalId")
        for part in parts
        if part.get("type") == "tool-approval-response" and part.get("approved") is True
    ]
    requests = [part for part in parts if part.get("type") == "tool-approval-request"]
    approved = [each.get("toolCallId") for each in requests if each.get("approvalId") in granted]
    for message in messages:
        if not isinstance(message, Mapping):
            yield message
        elif message.get("parts") or message.get("toolInvocations"):
            yield from _shown(message)
        else:
            yield from _sent(message, approved)


def _sent(message: Mapping[str, Any], approved: Sequence[Any]) -> Iterator[Message]:
    """A ModelMessage, or a CoreMessage of version 4. The calls with these ids were approved."""
    content = message.get("content")
    if not isinstance(content, list):
        yield dict(message)
        return
    parts = [part for part in objects_of(content, "content") if part.get("type") not in _SILENT]
    if message.get("role") == "tool":
        yield from (_answer(part, part.get("toolCallId") in approved) for part in parts)
    else:
        yield {**message, "content": [_block(part) for part in parts]}


def _block(part: Message) -> Message:
    kind = part.get("type")
    if kind == "tool-result":  # of a tool that the provider runs
        answer = _answer(part)
        return {"type": f"{_name(part)}_tool_result", "tool_use_id": answer["tool_call_id"], **answer}
    return _use(part) if kind == "tool-call" else part


def _use(call: Mapping[str, Any]) -> Message:
    kind = "server_tool_use" if call.get("providerExecuted") is True else "tool_use"
    arguments = call.get("input", call.get("args"))
    return {"type": kind, "id": call.get("toolCallId"), "name": _name(call), "input": arguments}


def _name(call: Mapping[str, Any]) -> str:
    return as_text(call.get("toolName")) or as_text(call.get("type")).removeprefix("tool-")


def _answer(call: Mapping[str, Any], is_approved: bool = False) -> Message:
    """The answer to a call, or that it waits for an approval."""
    output = call.get("output", call.get("result"))
    typed = as_mapping(output)
    kind = as_text(typed.get("type"))
    if "value" in typed or kind == "execution-denied":
        output = typed.get("value", typed.get("reason"))
    answer = {"role": "tool", "tool_call_id": call.get("toolCallId")}
    answer["content"] = as_content(call.get("errorText", output))
    status = "refused" if kind == "execution-denied" else _STATES.get(as_text(call.get("state")))
    if call.get("isError") is True or "errorText" in call or kind.startswith("error"):
        answer["is_error"] = True
    elif status is not None:
        answer["status"] = status
    return {**answer, APPROVED: True} if is_approved else answer


def _shown(message: Mapping[str, Any]) -> Iterator[Message]:
    """A UIMessage, in which a reply and the answers to its calls stand together."""
    parts = objects_of(message.get("parts"), "parts")
    if not parts:  # version 4, where the text is that of the last reply
        calls = objects_of(message.get("toolInvocations"), "toolInvocations")
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
                is_approved = as_mapping(call.get("approval")).get("approved") is True
                answers.append(_answer(call, is_approved))
        elif kind not in _NO_PART and not kind.startswith("data-"):
            said.append(dict(part))
    yield from _turn(said, answers)


def _turn(said: list[Message], answers: list[Message]) -> Iterator[Message]:
    if said:
        yield {"role": "assistant", "content": said}
    yield from answers


def _holds(value: Any) -> bool:
    return any(map(is_sdk_message, objects_in(as_mapping(value).get("messages"))))


def _convert(value: Any) -> Any:
    messages = value.get("messages")
    return {**value, "messages": [*chat_messages_of(messages)]} if isinstance(messages, list) else value


FORMAT = Format(
    title="messages of the AI SDK",
    recognised="`messages` with parts such as `tool-call` or `tool-NAME`, or with `toolInvocations`",
    calls="of each reply",
    example="chat.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic"),
)
