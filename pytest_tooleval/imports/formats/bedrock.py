"""Requests and answers of Bedrock's Converse, and its logs of invocations."""

from __future__ import annotations

import json
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..bodies import answer_parts, request_parts
from ..chats import OTHER_SYSTEM, conversation_reader
from ..format import Format
from ..records import decode_text

_BLOCKS = ("toolUse", "toolResult")
_ENDINGS = {"max_tokens": "length", "guardrail_intervened": "content_filter"}


def _holds(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("schemaType") == "ModelInvocationLog":
        return True
    parts = list(request_parts(value))
    if not any("messages" in part for part in parts):
        return False
    blocks = [block for part in parts for block in _blocks(part.get("messages"))]
    return any("toolConfig" in part for part in parts) or any(
        block.keys() == {"text"} or any(key in block for key in _BLOCKS) for block in blocks
    )


def _blocks(messages: Any) -> list[dict[str, Any]]:
    values = objects_in(decode_text(messages))
    return [block for message in values for block in objects_in(message.get("content"))]


def _convert(value: Any) -> Any:
    if value.get("schemaType") == "ModelInvocationLog":
        sent, answer = as_mapping(value.get("input")), as_mapping(value.get("output"))
        value = {"request": sent.get("inputBodyJson"), "response": answer.get("outputBodyJson")}
    requests = (dict(part) for part in request_parts(value) if "messages" in part)
    request = next(requests, {})
    config = as_mapping(request.get("toolConfig"))
    choices = as_mapping(config.get("toolChoice"))
    choice = next(iter(choices), "")
    body = {
        **request,
        "messages": [_message(each) for each in as_list(decode_text(request.get("messages")))],
    }
    if "tools" in config:
        body["tools"] = config["tools"]
    if choice == "tool":
        body["tool_choice"] = {"name": as_mapping(choices[choice]).get("name")}
    elif choice in ("auto", "any"):
        body["tool_choice"] = choice
    reply = _answer(value)
    return body if reply is None else {**body, "response": reply}


def _answer(value: Any) -> Any:
    """The answer as a chat completion, if it is one of Converse; else as it is."""
    parts = list(answer_parts(value))
    for part in parts:
        message = as_mapping(part.get("output")).get("message") or part.get("message")
        if isinstance(message, dict):
            ended = _ENDINGS.get(as_text(part.get("stopReason")))
            return {"choices": [{"message": _message(message), "finish_reason": ended}]}
    return next(filter(None, parts), None)


def _message(message: Any) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    return {**message, "content": [_block(block) for block in message["content"]]}


def _block(block: Any) -> Any:
    """A block as Anthropic has it."""
    if not isinstance(block, dict) or "type" in block:
        return block
    if isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if use := as_mapping(block.get("toolUse")):
        of_tool = {"type": "tool_use", "id": use.get("toolUseId")}
        return {**of_tool, "name": use.get("name"), "input": use.get("input")}
    if result := as_mapping(block.get("toolResult")):
        texts = [_text(each) for each in objects_in(result.get("content"))]
        answer = {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": texts}
        return {**answer, "is_error": True} if result.get("status") == "error" else answer
    if "reasoningContent" in block or "cachePoint" in block:
        return {"type": "thinking"}
    return block


def _text(part: dict[str, Any]) -> dict[str, Any]:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "json" in part:
        return {"type": "text", "text": json.dumps(part["json"], ensure_ascii=False)}
    return {"type": "text", "text": f"[{next(iter(part), '')}]"}


FORMAT = Format(
    title="Bedrock messages",
    recognised="`messages` with `toolUse` blocks, or `toolConfig`; logs of invocations",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(_convert, system=OTHER_SYSTEM),
    over=("openai", "tools"),
)
