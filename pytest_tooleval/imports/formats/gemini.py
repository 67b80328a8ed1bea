"""Requests and answers of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..bodies import answer_parts, request_parts
from ..chats import OTHER_SYSTEM, conversation_reader
from ..format import Format

_CHOICES = {"ANY": "required", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}


def _request(value: Any) -> Mapping[str, Any] | None:
    parts = request_parts(value)
    return next((each for each in parts if isinstance(each.get("contents"), list)), None)


def _holds(value: Any) -> bool:
    if _request(value) is not None or _is_messages(value):
        return True
    parts = (as_mapping(value), *answer_parts(value))
    return any(isinstance(each.get("candidates"), list) for each in parts)


def _is_messages(value: Any) -> bool:
    """Whether it is a conversation whose messages have parts without a type."""
    messages = objects_in(as_mapping(value).get("messages"))
    parts = [part for message in messages for part in objects_in(message.get("parts"))]
    return bool(parts) and not any("type" in part for part in parts)


def convert(value: Any) -> Any:
    request = _request(value)
    if request is None:
        return value
    config = as_mapping(request.get("config") or request.get("generationConfig"))
    messages = [_message(each) for each in request["contents"]]
    body = {**value, **config, **request, "messages": messages}
    del body["contents"]
    mode = as_mapping(body.get("toolConfig") or body.get("tool_config"))
    calling = as_mapping(mode.get("functionCallingConfig") or mode.get("function_calling_config"))
    choice = _CHOICES.get(as_text(calling.get("mode")).upper())
    names = as_list(calling.get("allowedFunctionNames") or calling.get("allowed_function_names"))
    body["tool_choice"] = choice
    if names and choice == "required":
        body["tool_choice"] = {"mode": "required", "tools": [{"name": name} for name in names]}
    return body


def _message(content: Any) -> Any:
    if isinstance(content, str):
        return {"role": "user", "parts": [{"text": content}]}
    return {"role": "user", **content} if isinstance(content, dict) else content


FORMAT = Format(
    title="Gemini messages",
    recognised="`contents`, with `candidates`, one of them, or its content as the answer",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(convert, system=OTHER_SYSTEM),
    over=("openai", "tools"),
)
