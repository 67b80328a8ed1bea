"""A scripted server for Anthropic's protocol: the script is written for OpenAI's, and translated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]
_PREFIX = "mcp__suite__"


def respond_with(script: Callable[[Message], Message]) -> Callable[[str, Message], tuple[int, object]]:
    def respond(path: str, request: Message) -> tuple[int, object]:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": path}}
        tools = [{"function": {"name": each["name"].removeprefix(_PREFIX)}} for each in request["tools"]]
        said = script({"messages": list(_messages(request)), "tools": tools})
        return 200, b"".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            for event in _events(said, request)
        )

    return respond


def _messages(request: Message) -> Iterator[Message]:
    """The messages of OpenAI's protocol. Claude Code adds reminders of its own, as of the system."""
    yield {"role": "system", "content": str(request["system"])}
    for message in request["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                yield {"role": "tool", "content": str(block["content"])}
            elif block["type"] == "text" and "<system-reminder>" not in block["text"]:
                yield {"role": message["role"], "content": block["text"]}


def _events(said: Message, request: Message) -> Iterator[Message]:
    blocks: list[tuple[Message, Message]] = []
    if said.get("content"):
        delta = {"type": "text_delta", "text": said["content"]}
        blocks.append(({"type": "text", "text": ""}, delta))
    for call in said.get("tool_calls") or ():
        name = call["function"]["name"]
        own = any(tool["name"] == name for tool in request["tools"])
        use = {"type": "tool_use", "id": call["id"], "name": name if own else _PREFIX + name}
        delta = {"type": "input_json_delta", "partial_json": call["function"]["arguments"]}
        blocks.append(({**use, "input": {}}, delta))
    usage = {"input_tokens": 50, "output_tokens": 10}
    message: Message = {"id": f"msg_{len(request['messages'])}", "type": "message", "role": "assistant"}
    message |= {"model": request["model"], "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if said.get("tool_calls") else "end_turn"
    ending = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}
