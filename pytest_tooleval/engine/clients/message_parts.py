"""Parts of chat messages, for protocols with their own kinds of parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import ModelError
from ...record.calls import ToolCall
from ...record.images import in_words, is_image

_INTRODUCTION = {"type": "text", "text": "The images in the answers above, in order:"}
_DATA = re.compile(r"data:([^;,]+)[^,]*;base64,(.*)", re.DOTALL)


def parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message's content, without empty texts, which providers refuse."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return [part for part in parts if part.get("type") != "text" or str(part.get("text")).strip()]


def images_apart(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The messages, with images in tools' answers in a message of the user's after them.

    This is for APIs whose tools answer only in text.
    """
    images: list[Mapping[str, Any]] = []
    for message in (*messages, None):
        if images and (message is None or message.get("role") != "tool"):
            yield {"role": "user", "content": [_INTRODUCTION, *images]}
            images = []
        if message is None:
            return
        words = in_words(message)
        images += filter(is_image, () if words is message else message["content"])
        yield words


def data_in(part: Mapping[str, Any]) -> tuple[str, str] | str:
    """The type and data of an image or a file, or its URL. Raises ModelError for other parts."""
    data = part.get(str(part.get("type")))
    if isinstance(data, Mapping):
        data = data.get("url") or data.get("file_data")
    if part.get("type") not in ("image_url", "file") or not isinstance(data, str):
        raise ModelError(
            f"a part of the type {part.get('type')!r} cannot be sent to this model by our own client; "
            'set api = "litellm" in the model\'s table',
            kind="bad_request",
        )
    match = _DATA.match(data)
    return (match[1], match[2]) if match else data


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without null fields, which strict servers refuse in later requests."""
    return {name: each for name, each in value.items() if each is not None}


def chat_of(
    model: object, message: dict[str, Any], reason: object, usage: object, service_tier: object = None
) -> dict[str, Any]:
    """The chat API's document with one answer."""
    choice = {"message": message, "finish_reason": reason}
    return {"model": model, "choices": [choice], "usage": usage, "service_tier": service_tier}


def input_of(call: ToolCall) -> object:
    """A call's arguments for protocols with objects. Invalid arguments stay a text."""
    return call.arguments if call.arguments is not None else call.raw_arguments or {}


def chat_call(id: object, name: object, input: object) -> dict[str, Any]:
    """The chat API's call for one from a protocol with objects as arguments."""
    arguments = json.dumps(input, ensure_ascii=False)
    function = {"name": str(name or ""), "arguments": arguments}
    return {"id": str(id or ""), "type": "function", "function": function}
