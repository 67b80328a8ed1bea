"""Images in the answers of tools, which are parts of a message's content as in the chat API."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeGuard

from .untrusted import as_mapping, as_text, objects_in

# The content of a tool's message: a text, or parts with images.
Content: TypeAlias = str | list[dict[str, Any]]

MAX_IMAGE_BYTES = 5 * 1024 * 1024  # Anthropic's limit, the lowest
_KIND = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpeg>\xff\xd8\xff)|(?P<gif>GIF8[79]a)|(?P<webp>RIFF....WEBP)",
    re.DOTALL,
)
_DATA = re.compile(r"data:(image/\w+);base64,(.*)", re.DOTALL)


def image_part(data: str) -> dict[str, Any]:
    """The part for an image in Base64. Raises ValueError if no model takes it.

    Its bytes say what it is, whatever a server calls it.
    """
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        raise ValueError("not Base64") from None
    kind = _KIND.match(content)
    if kind is None:
        raise ValueError("not a PNG, JPEG, GIF or WebP")
    if len(content) > MAX_IMAGE_BYTES:
        raise ValueError(f"larger than {MAX_IMAGE_BYTES // 2**20} MiB")
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind.lastgroup};base64,{data}"}}


def is_image(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "image_url"


def has_images(content: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(content, list) and any(map(is_image, content))


def url_of(part: Mapping[str, Any]) -> str:
    """The address of an image; empty if it has none."""
    held = part.get("image_url")
    return as_text(held) or as_text(as_mapping(held).get("url"))


def image_problem(part: Mapping[str, Any]) -> str:
    """The problem of an image in a suite; empty if there is none."""
    url = url_of(part)
    if url.startswith("https://"):
        return ""
    match = _DATA.fullmatch(url)
    if match is None:
        return "expected a URL such as data:image/png;base64,... or https://..."
    try:
        right = url_of(image_part(match[2]))
    except ValueError as error:
        return f"the image is {error}"
    return "" if right == url else f"the image is of the type {right[len('data:') :].partition(';')[0]}"


def without_images(content: object) -> str:
    """The text of a content, with a word such as `[image: image/png, 12 kB]` for each image."""
    if not isinstance(content, list):
        return as_text(content)
    parts = (_note(part) if is_image(part) else part.get("text") for part in objects_in(content))
    return "\n".join(text for text in parts if isinstance(text, str))


def with_each_image(
    message: Mapping[str, Any], change: Callable[[Mapping[str, Any]], object]
) -> Mapping[str, Any]:
    """The message with something else in place of each image in its content."""
    content = message.get("content")
    if not has_images(content):
        return message
    return {**message, "content": [change(part) if is_image(part) else part for part in content]}


def in_words(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message, with words for the images if it is a tool's answer."""
    content = message.get("content")
    is_shown = message.get("role") == "tool" and has_images(content)
    return {**message, "content": without_images(content)} if is_shown else message


def _note(part: Mapping[str, Any]) -> str:
    url = url_of(part)
    match = _DATA.fullmatch(url)
    what = f"{match[1]}, {max(1, len(match[2]) * 3 // 4000)} kB" if match else url
    return f"[image: {what}]"
