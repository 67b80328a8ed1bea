"""Joins the documents in a stream to the one that the API would have sent without streaming."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import UNREAD, may_be_call, unplaced_item
from .streamed_calls import Arguments, StreamedCalls, index_of, text_of_arguments

Chunk = Mapping[str, Any]
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class StreamEnd(NamedTuple):
    """An answer's document, which may be an error's, and whether its stream had an end."""

    document: Chunk
    is_whole: bool


def joined_chat(chunks: Sequence[Chunk]) -> StreamEnd:
    """Join chunks of the chat API."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls, older = StreamedCalls(), StreamedCalls()
    whole: dict[str, Any] = {}
    unread: list[Chunk] = []
    reason = None
    for chunk in chunks:
        whole |= {name: chunk[name] for name in ("model", "provider", "usage") if chunk.get(name)}
        choice = as_mapping(next(iter(as_list(chunk.get("choices"))), None))
        reason = choice.get("finish_reason") or reason
        for name, value in as_mapping(choice.get("delta") or choice.get("message")).items():
            if name in _TEXTS:
                if text := _text_in(value):
                    message[name] = (message.get(name) or "") + text
            elif name == "tool_calls":
                calls.add(value)
            elif name == "function_call":  # the older field
                older.add({"function": value} if value else None)
            elif may_be_call(other := {name: value}):
                unread.append(other)
    tool_calls = calls.whole_calls()
    functions = [call.get("function") for call in tool_calls]
    tool_calls += [call for call in older.whole_calls() if call.get("function") not in functions]
    if tool_calls:
        message["tool_calls"] = tool_calls
    unread += map(unplaced_item, (*calls.unplaced, *older.unplaced))
    if unread:
        message[UNREAD] = unread
    document = {**whole, "choices": [{"message": message, "finish_reason": reason}]}
    return StreamEnd({**document, **_error_in(chunks)}, bool(reason))


def joined_responses(chunks: Sequence[Chunk]) -> StreamEnd:
    """Join events of the Responses API.

    The last one contains the whole document, but from some servers not the items of the events before.
    """
    ends = (as_mapping(each.get("response")) for each in chunks if each.get("type") in _ENDS)
    whole = next(ends, None)
    error = _error_in(chunks)
    if whole is None or error:
        return StreamEnd(error, whole is not None)
    output = list(as_list(whole.get("output")))
    items = _Items()
    for chunk in chunks:
        items.add(chunk)
    more = items.whole_items()
    if output:
        more = [item for item in more if as_text(item.get("type")).endswith("_call")]
        more = [item for item in more if not any(_is_same(item, as_mapping(one)) for one in output)]
    return StreamEnd({**whole, "output": [*output, *more]}, True)


def joined_messages(chunks: Sequence[Chunk]) -> StreamEnd:
    """Join events of the Messages API."""
    whole: dict[str, Any] = {}
    blocks = _Blocks()
    for chunk in chunks:
        kind = chunk.get("type")
        if kind == "message_start":
            whole |= as_mapping(chunk.get("message"))
        elif kind == "message_delta":
            usage = {**as_mapping(whole.get("usage")), **as_mapping(chunk.get("usage"))}
            whole |= {**as_mapping(chunk.get("delta")), "usage": usage}
        elif kind == "message":  # not a piece, but all of it
            whole |= chunk
        else:
            blocks.add(chunk)
    content = {"content": parts} if (parts := blocks.whole_blocks()) else {}
    return StreamEnd({**whole, **content, **_error_in(chunks)}, bool(whole.get("stop_reason")))


def joined_candidates(chunks: Sequence[Chunk]) -> StreamEnd:
    """Join answers of generateContent, each with some parts."""
    whole: dict[str, Any] = {}
    parts: list[Any] = []
    last: Chunk = {}
    for chunk in chunks:
        whole |= chunk
        for last in objects_in(chunk.get("candidates")):
            parts += as_list(as_mapping(last.get("content")).get("parts"))
    if last:
        whole["candidates"] = [{**last, "content": {"role": "model", "parts": parts}}]
    return StreamEnd({**whole, **_error_in(chunks)}, "finishReason" in last or "promptFeedback" in whole)


def _error_in(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """The first error in a stream, in the field of its name; empty if there is none."""
    for chunk in chunks:
        if error := chunk.get("error") or (chunk if chunk.get("type") == "error" else None):
            return {"error": error}
    return {}


def _text_in(content: object) -> str:
    """A text, or those of a list of parts."""
    return as_text(content) + "".join(as_text(part.get("text")) for part in objects_in(content))


class _Items:
    """The items in events of the Responses API: each whole, or begun and then added to."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._open: list[tuple[object, dict[str, Any], Arguments]] = []  # with their index
        self._unplaced: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        kind, item = as_text(chunk.get("type")), as_mapping(chunk.get("item"))
        if kind.endswith("output_item.added"):
            self._items.append({**item})
            added = Arguments(is_json=item.get("type") != "custom_tool_call")
            self._open.append((chunk.get("output_index"), self._items[-1], added))
        elif kind.endswith("output_item.done"):
            self._close(chunk, item)
        elif kind.endswith(("_arguments.delta", "_input.delta")):
            self._extend(chunk, chunk.get("delta"))
        elif kind.endswith(("_arguments.done", "_input.done")):
            if begun := self._begun(chunk):
                begun[2].clear()
            self._extend(chunk, chunk.get("arguments", chunk.get("input")))
        elif kind.endswith("output_text.done") and (begun := self._begun(chunk)):
            part = {"type": "output_text", "text": chunk.get("text")}
            begun[1]["content"] = [*as_list(begun[1].get("content")), part]

    def whole_items(self) -> list[dict[str, Any]]:
        for _, item, added in self._open:
            if added.text:
                item["input" if item.get("type") == "custom_tool_call" else "arguments"] = added.text
        return [*self._items, *map(unplaced_item, self._unplaced)]

    def _close(self, chunk: Chunk, item: Chunk) -> None:
        begun = self._begun({**chunk, "item_id": item.get("id")})
        if begun is None or begun[1].get("call_id") != item.get("call_id"):
            self._items.append({**item})
            return
        begun[1].update(item)
        self._open.remove(begun)

    def _extend(self, chunk: Chunk, piece: object) -> None:
        begun = self._begun(chunk)
        if begun is None or not begun[2].add(text_of_arguments(piece)):
            self._unplaced.append(chunk)

    def _begun(self, chunk: Chunk) -> tuple[object, dict[str, Any], Arguments] | None:
        """The begun item that an event is about, by its id, else by its index."""
        id, index = chunk.get("item_id"), chunk.get("output_index")
        same = [each for each in self._open if id is not None and each[1].get("id") == id]
        return next(reversed(same or [each for each in self._open if each[0] == index]), None)


def _is_same(item: Chunk, other: Chunk) -> bool:
    """Whether two events have the same call, perhaps with different ids."""
    ids = [(item[name], other.get(name)) for name in ("call_id", "id") if item.get(name)]
    if any(one == another for one, another in ids):
        return True
    fields = ("type", "name", "arguments", "input")
    return "name" in item and all(item.get(name) == other.get(name) for name in fields)


class _Blocks:
    """The content blocks in events of the Messages API."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._inputs: list[Arguments] = []
        self._at: dict[int, int] = {}
        self._unplaced: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        index, delta = index_of(chunk), as_mapping(chunk.get("delta"))
        if chunk.get("type") == "content_block_start":
            self._start(index, as_mapping(chunk.get("content_block")))
        elif chunk.get("type") == "content_block_delta":
            at = len(self._blocks) - 1 if index is None else self._at.get(index)
            if piece := text_of_arguments(delta.get("partial_json")):
                at = self._use_at(at)
                if at is None or not self._inputs[at].add(piece):
                    self._unplaced.append(chunk)
                return
            if at is None or at < 0:
                kind = "thinking" if "thinking" in delta else "text"
                at = self._start(index, {"type": kind})
            block = self._blocks[at]
            for name in ("text", "thinking", "signature"):
                if text := as_text(delta.get(name)):
                    block[name] = as_text(block.get(name)) + text

    def whole_blocks(self) -> list[dict[str, Any]]:
        """The blocks, with their inputs. Invalid JSON stays a text."""
        for block, added in zip(self._blocks, self._inputs, strict=True):
            if text := added.text:
                try:
                    block["input"] = json.loads(text)
                except (ValueError, RecursionError):
                    block["input"] = text
        return [*self._blocks, *map(unplaced_item, self._unplaced)]

    def _start(self, index: int | None, block: Chunk) -> int:
        ids = [each.get("id") for each in self._blocks]
        if (id := block.get("id")) and id in ids:
            at = ids.index(id)  # once more
        else:
            at = len(self._blocks)
            self._blocks.append({**block})
            self._inputs.append(Arguments())
        self._at[at if index is None else index] = at
        if block.get("input"):
            self._inputs[at].add(text_of_arguments(block["input"]))
        return at

    def _use_at(self, at: int | None) -> int | None:
        """The place of the call to which a piece at this place belongs: else to the last open one."""
        uses = [n for n, each in enumerate(self._blocks) if as_text(each.get("type")).endswith("_use")]
        if at in uses:
            return at
        return uses[-1] if uses and not self._inputs[uses[-1]].is_complete else None
