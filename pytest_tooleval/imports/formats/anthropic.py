"""Messages of Anthropic's API, with or without an answer beside them."""

from __future__ import annotations

from typing import Any

from ...record.untrusted import as_list, as_mapping, objects_in
from ..chats import ANSWER_KEYS, OTHER_SYSTEM, conversation_reader, request_parts
from ..format import Format
from ..records import decoded

_BLOCKS = ("tool_use", "tool_result")


def _holds(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    parts = list(request_parts(value))
    messages = [each for part in parts for each in objects_in(decoded(part.get("messages")))]
    tools = [each for part in parts for each in as_list(decoded(part.get("tools")))]
    blocks = [block for each in messages for block in objects_in(each.get("content"))]
    return bool(messages) and (
        any("input_schema" in as_mapping(tool) for tool in tools)
        or any(block.get("type") in _BLOCKS for block in blocks)
        or any(_is_answer(value.get(key)) for key in ANSWER_KEYS)
    )


def _is_answer(value: Any, depth: int = 0) -> bool:
    found = as_mapping(decoded(value))
    if found.get("type") == "message" and "stop_reason" in found:
        return True
    return depth < 2 and any(_is_answer(found.get(key), depth + 1) for key in ("body", "string"))


FORMAT = Format(
    title="Anthropic messages",
    recognised="`messages` with blocks such as `tool_use`, or tools with `input_schema`; a request and "
    "its answer",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(system=OTHER_SYSTEM),
    over=("openai",),
)
