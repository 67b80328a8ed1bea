"""Parts of Gemini's generateContent, in camel case as in its API, or in snake case as in its library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import unread_fields
from .builder import ChatBuilder

_CAPITAL = re.compile(r"(?<=[a-z])([A-Z])")
_ABOUT = frozenset("thought thought_signature part_metadata media_resolution video_metadata".split())
_FILES = ("inline_data", "file_data")


def has_parts(message: Mapping[str, Any]) -> bool:
    """Whether a message is from generateContent, whose parts have no type."""
    parts = objects_in(message.get("parts"))
    return bool(parts) and "content" not in message and not any("type" in part for part in parts)


def read_parts(chat: ChatBuilder, message: Mapping[str, Any]) -> None:
    """Read a message of generateContent."""
    is_reply = message.get("role") == "model"
    said: list[dict[str, Any]] = []
    for item in as_list(message.get("parts")):
        part = {"text": item} if isinstance(item, str) else item
        if not isinstance(part, Mapping):
            chat.keep({"part": part}, replies=is_reply)
            continue
        fields = {_snake(key): value for key, value in part.items() if value is not None}
        kinds = [key for key in fields if key not in _ABOUT]
        kind = kinds[0] if kinds else "thought"
        for other in kinds[1:]:
            chat.keep({other: fields[other]}, replies=is_reply)
        held = as_mapping(fields.get(kind))
        tool = as_text(held.get("toolType") or held.get("tool_type")).lower()
        id, name = held.get("id"), held.get("name") or tool
        if kind in ("function_call", "tool_call") and held:
            chat.call(id or name, name, held.get("args", {}), hosted=kind == "tool_call")
        elif kind in ("function_response", "tool_response"):
            chat.answer(id or name, held.get("response"))
        elif kind == "executable_code":
            chat.program(id, held.get("code"))
        elif kind == "code_execution_result":
            chat.result(id, held.get("output"))
        elif kind == "text":
            if is_reply and not fields.get("thought"):
                chat.say(as_text(fields[kind]))
            elif not is_reply:
                said.append({"type": "text", "text": as_text(fields[kind])})
        elif kind in _FILES and not is_reply and (file := _file(held)):
            said.append(file)
        elif kind != "thought":
            chat.keep(part, replies=is_reply)
    for field in unread_fields({key: value for key, value in message.items() if key != "parts"}):
        chat.keep(field, replies=is_reply)
    if is_reply and message.get("tool_calls"):
        chat.keep({"tool_calls": message["tool_calls"]}, replies=True)
    if said:
        is_text = all(part["type"] == "text" for part in said)
        content = "\n".join(part["text"] for part in said) if is_text else said
        chat.add({"role": message.get("role"), "content": content})


def _file(file: Mapping[str, Any]) -> dict[str, Any] | None:
    """A file as a part of the chat API; None if it has no such part, as for most at an address."""
    kind = as_text(file.get("mimeType") or file.get("mime_type"))
    address = as_text(file.get("fileUri") or file.get("file_uri"))
    data = f"data:{kind};base64,{file['data']}" if isinstance(file.get("data"), str) else ""
    if kind.startswith("image/") and (data or address):
        return {"type": "image_url", "image_url": {"url": data or address}}
    if kind.startswith("audio/") and data:
        audio = {"data": file["data"], "format": kind.removeprefix("audio/")}
        return {"type": "input_audio", "input_audio": audio}
    return {"type": "file", "file": {"file_data": data, "filename": "file"}} if data else None


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match[1].lower()}", name)
