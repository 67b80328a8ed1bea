"""Requests and answers of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..bodies import answer_parts, request_parts
from ..chats import OTHER_SYSTEM, conversation_reader
from ..format import Format

_CHOICES = {"ANY": "required", "AUTO": "auto", "NONE": "none", "VALIDATED": "auto"}
_CUT_OFF = {"MAX_TOKENS": "length"}
_TOLD = ("STOP", "FINISH_REASON_UNSPECIFIED", "", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")


def _request(value: Any) -> Mapping[str, Any] | None:
    parts = request_parts(value)
    return next((each for each in parts if isinstance(each.get("contents"), list)), None)


def _answer(value: Any) -> Mapping[str, Any] | None:
    parts = (as_mapping(value), *answer_parts(value))
    return next((each for each in parts if isinstance(each.get("candidates"), list)), None)


def _holds(value: Any) -> bool:
    request = _request(value)
    return request is not None or _answer(value) is not None or _is_messages(value)


def _is_messages(value: Any) -> bool:
    """Whether it is a conversation whose messages have parts without a type."""
    messages = objects_in(as_mapping(value).get("messages"))
    parts = [part for message in messages for part in objects_in(message.get("parts"))]
    return bool(parts) and not any("type" in part for part in parts)


def _convert(value: Any) -> Any:
    request, answer = _request(value), _answer(value)
    if request is None:
        return value
    config = as_mapping(request.get("config") or request.get("generationConfig"))
    made = {**config, **request, "messages": [_message(each) for each in request["contents"]]}
    mode = as_mapping(made.get("toolConfig") or made.get("tool_config"))
    calling = as_mapping(mode.get("functionCallingConfig") or mode.get("function_calling_config"))
    choice = _CHOICES.get(as_text(calling.get("mode")).upper())
    names = as_list(calling.get("allowedFunctionNames") or calling.get("allowed_function_names"))
    made["tool_choice"] = choice
    if names and choice == "required":
        made["tool_choice"] = {"mode": "required", "tools": [{"name": name} for name in names]}
    if answer is not None:
        made["response"] = {"choices": [_choice(each) for each in objects_in(answer["candidates"])]}
    return made


def _message(content: Any) -> Any:
    if isinstance(content, str):
        return {"role": "user", "parts": [{"text": content}]}
    return {"role": "user", **content} if isinstance(content, dict) else content


def _choice(candidate: dict[str, Any]) -> dict[str, Any]:
    reason = as_text(candidate.get("finishReason") or candidate.get("finish_reason"))
    ended = None if reason in _TOLD else _CUT_OFF.get(reason, "content_filter")
    return {"message": {"role": "model", **as_mapping(candidate.get("content"))}, "finish_reason": ended}


FORMAT = Format(
    title="Gemini messages",
    recognised="`contents`, with `candidates` as the answer",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(_convert, system=OTHER_SYSTEM),
    over=("openai", "tools"),
)
