"""Messages of Anthropic's API, with or without an answer beside them."""

from __future__ import annotations

from typing import Any

from ...record.untrusted import as_list, as_mapping, objects_in
from ..bodies import answer_parts, request_parts
from ..chats import OTHER_SYSTEM, conversation_reader
from ..format import Format
from ..records import decode_text

_BLOCKS = ("tool_use", "tool_result")


def _holds(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    parts = list(request_parts(value))
    messages = [each for part in parts for each in objects_in(decode_text(part.get("messages")))]
    tools = [each for part in parts for each in as_list(decode_text(part.get("tools")))]
    blocks = [block for each in messages for block in objects_in(each.get("content"))]
    return bool(messages) and (
        any("input_schema" in as_mapping(tool) for tool in tools)
        or any(block.get("type") in _BLOCKS for block in blocks)
        or any(part.get("type") == "message" and "stop_reason" in part for part in answer_parts(value))
    )


FORMAT = Format(
    title="Anthropic messages",
    recognised="`messages` with blocks such as `tool_use`, or tools with `input_schema`; a request and "
    "its answer",
    calls="of each answer",
    holds=_holds,
    read=conversation_reader(system=OTHER_SYSTEM),
    over=("openai",),
)
