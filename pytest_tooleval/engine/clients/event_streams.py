"""Reads the documents in a stream of server-sent events, and joins their pieces to one answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in

Document = Mapping[str, Any]
_LINE_END = re.compile(r"\r\n|\n|\r")
ENDS = ("response.completed", "response.incomplete", "response.failed")


def is_stream(text: str) -> bool:
    """Whether a body is a stream of events, whatever its content type says."""
    return text.lstrip()[:6] in ("data: ", "event:", "data:{")


def events(text: str) -> Iterator[Any]:
    """The JSON value of each event. Raises ValueError for data that is not JSON."""
    lines: list[str] = []
    for line in [*_LINE_END.split(text), ""]:  # not `splitlines`, which also splits inside texts
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            data, lines = "\n".join(lines), []
            if data.strip() != "[DONE]":
                yield json.loads(data)


def joined_chat(chunks: Sequence[Document]) -> Document:
    """The chat API's document, joined from its chunks."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    places: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    reason = None
    for chunk in chunks:
        whole |= {name: chunk[name] for name in ("model", "usage", "error") if chunk.get(name)}
        choice = as_mapping(next(iter(as_list(chunk.get("choices"))), None))
        reason = choice.get("finish_reason") or reason
        delta = as_mapping(choice.get("delta") or choice.get("message"))
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if text := _text_in(delta.get(name)):
                message[name] = (message.get(name) or "") + text
        parts = as_list(delta.get("tool_calls"))
        if function := delta.get("function_call"):  # the older field
            parts = [*parts, {"function": function}]
        for place, part in enumerate(parts):
            _add_call(calls, places, as_mapping(part), place)
    if calls:
        message["tool_calls"] = calls
    return {**whole, "choices": [{"message": message, "finish_reason": reason}]}


def _text_in(content: object) -> str:
    """A text, or those of a list of parts."""
    return as_text(content) + "".join(as_text(part.get("text")) for part in objects_in(content))


def _add_call(
    calls: list[dict[str, Any]], places: dict[int, dict[str, Any]], part: Document, place: int
) -> None:
    """Add a part of a call. Another id at the same index begins a new call: some servers never count."""
    function, id = as_mapping(part.get("function")), part.get("id")
    index = _index(part, place)
    call = places.get(index)
    if call is None or (id and call["id"] and call["id"] != id):
        call = {"id": id, "type": "function", "function": {"name": "", "arguments": ""}}
        calls.append(call)
        places[index] = call
    call["id"] = call["id"] or id
    for name in ("name", "arguments"):
        call["function"][name] += as_text(function.get(name))


def _index(part: Document, place: int = 0) -> int:
    index = part.get("index")
    return index if isinstance(index, int) else place


def joined_responses(chunks: Sequence[Document]) -> Document:
    """The Responses API's document, which its last event contains as a whole."""
    ends = (as_mapping(each.get("response")) for each in chunks if each.get("type") in ENDS)
    return next(ends, chunks[-1] if chunks else {})


def joined_messages(chunks: Sequence[Document]) -> Document:
    """The Messages API's document, joined from its events."""
    whole: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        delta = as_mapping(chunk.get("delta"))
        if chunk.get("type") == "message_start":
            whole |= as_mapping(chunk.get("message"))
        elif chunk.get("type") == "content_block_start":
            blocks[_index(chunk)] = {**as_mapping(chunk.get("content_block"))}
        elif chunk.get("type") == "content_block_delta":
            _add_delta(blocks.setdefault(_index(chunk), {}), delta)
        elif chunk.get("type") == "message_delta":
            usage = {**as_mapping(whole.get("usage")), **as_mapping(chunk.get("usage"))}
            whole |= {**delta, "usage": usage}
        elif chunk.get("type") == "error":
            whole["error"] = chunk.get("error")
    return {**whole, "content": [_finished(block) for block in blocks.values()]} if blocks else whole


def _add_delta(block: dict[str, Any], delta: Document) -> None:
    for name in ("text", "thinking", "signature", "partial_json"):
        if text := as_text(delta.get(name)):
            block[name] = as_text(block.get(name)) + text


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    """A block with its input, which came as pieces of JSON; invalid JSON stays a text."""
    text = block.pop("partial_json", "")
    if text:
        try:
            block["input"] = json.loads(text)
        except (ValueError, RecursionError):
            block["input"] = text
    return block
