"""Joins the documents in a stream to the one that the API would have sent without streaming."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import UNREAD, may_be_call, unplaced
from .streamed_calls import Arguments, StreamedCalls, index_of, text_of_arguments

Document = Mapping[str, Any]
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


class Joined(NamedTuple):
    """An answer's document, which may be an error's, and whether its stream had an end."""

    document: Document
    is_whole: bool


def joined_chat(chunks: Sequence[Document]) -> Joined:
    """Join chunks of the chat API."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls, older = StreamedCalls(), StreamedCalls()
    whole: dict[str, Any] = {}
    unread: list[Document] = []
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
    made = calls.joined()
    known = [call.get("function") for call in made]
    made += [call for call in older.joined() if call.get("function") not in known]
    if made:
        message["tool_calls"] = made
    unread += map(unplaced, (*calls.unplaced, *older.unplaced))
    if unread:
        message[UNREAD] = unread
    document = {**whole, "choices": [{"message": message, "finish_reason": reason}]}
    return Joined({**document, **_error_in(chunks)}, bool(reason))


def joined_responses(chunks: Sequence[Document]) -> Joined:
    """Join events of the Responses API.

    The last one contains the whole document, but from some servers not the items of the events before.
    """
    ends = (as_mapping(each.get("response")) for each in chunks if each.get("type") in _ENDS)
    whole = next(ends, None)
    error = _error_in(chunks)
    if whole is None or error:
        return Joined(error, whole is not None)
    output = list(as_list(whole.get("output")))
    items = _Items()
    for chunk in chunks:
        items.add(chunk)
    made = items.joined()
    if output:
        made = [item for item in made if as_text(item.get("type")).endswith("_call")]
        made = [item for item in made if not any(_is_same(item, as_mapping(one)) for one in output)]
    return Joined({**whole, "output": [*output, *made]}, True)


def joined_messages(chunks: Sequence[Document]) -> Joined:
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
    content = {"content": made} if (made := blocks.joined()) else {}
    return Joined({**whole, **content, **_error_in(chunks)}, bool(whole.get("stop_reason")))


def joined_candidates(chunks: Sequence[Document]) -> Joined:
    """Join answers of generateContent, each with some parts."""
    whole: dict[str, Any] = {}
    parts: list[Any] = []
    last: Document = {}
    for chunk in chunks:
        whole |= chunk
        for last in objects_in(chunk.get("candidates")):
            parts += as_list(as_mapping(last.get("content")).get("parts"))
    if last:
        whole["candidates"] = [{**last, "content": {"role": "model", "parts": parts}}]
    return Joined({**whole, **_error_in(chunks)}, "finishReason" in last or "promptFeedback" in whole)


def _error_in(chunks: Sequence[Document]) -> dict[str, Any]:
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
        self._unplaced: list[Document] = []

    def add(self, chunk: Document) -> None:
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
            if found := self._found(chunk):
                found[2].clear()
            self._extend(chunk, chunk.get("arguments", chunk.get("input")))
        elif kind.endswith("output_text.done") and (found := self._found(chunk)):
            part = {"type": "output_text", "text": chunk.get("text")}
            found[1]["content"] = [*as_list(found[1].get("content")), part]

    def joined(self) -> list[dict[str, Any]]:
        for _, item, added in self._open:
            if added.text:
                item["input" if item.get("type") == "custom_tool_call" else "arguments"] = added.text
        return [*self._items, *map(unplaced, self._unplaced)]

    def _close(self, chunk: Document, item: Document) -> None:
        found = self._found({**chunk, "item_id": item.get("id")})
        if found is None or found[1].get("call_id") != item.get("call_id"):
            self._items.append({**item})
            return
        found[1].update(item)
        self._open.remove(found)

    def _extend(self, chunk: Document, piece: object) -> None:
        found = self._found(chunk)
        if found is None or not found[2].add(text_of_arguments(piece)):
            self._unplaced.append(chunk)

    def _found(self, chunk: Document) -> tuple[object, dict[str, Any], Arguments] | None:
        """The begun item that an event is about, by its id, else by its index."""
        id, index = chunk.get("item_id"), chunk.get("output_index")
        same = [each for each in self._open if id is not None and each[1].get("id") == id]
        return next(reversed(same or [each for each in self._open if each[0] == index]), None)


def _is_same(item: Document, other: Document) -> bool:
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
        self._unplaced: list[Document] = []

    def add(self, chunk: Document) -> None:
        index, delta = index_of(chunk), as_mapping(chunk.get("delta"))
        if chunk.get("type") == "content_block_start":
            self._start(index, as_mapping(chunk.get("content_block")))
        elif chunk.get("type") == "content_block_delta":
            place = len(self._blocks) - 1 if index is None else self._at.get(index)
            if piece := text_of_arguments(delta.get("partial_json")):
                place = self._use_at(place)
                if place is None or not self._inputs[place].add(piece):
                    self._unplaced.append(chunk)
                return
            if place is None or place < 0:
                kind = "thinking" if "thinking" in delta else "text"
                place = self._start(index, {"type": kind})
            block = self._blocks[place]
            for name in ("text", "thinking", "signature"):
                if text := as_text(delta.get(name)):
                    block[name] = as_text(block.get(name)) + text

    def joined(self) -> list[dict[str, Any]]:
        """The blocks, with their inputs. Invalid JSON stays a text."""
        for block, added in zip(self._blocks, self._inputs, strict=True):
            if text := added.text:
                try:
                    block["input"] = json.loads(text)
                except (ValueError, RecursionError):
                    block["input"] = text
        return [*self._blocks, *map(unplaced, self._unplaced)]

    def _start(self, index: int | None, block: Document) -> int:
        ids = [each.get("id") for each in self._blocks]
        if (id := block.get("id")) and id in ids:
            place = ids.index(id)  # once more
        else:
            place = len(self._blocks)
            self._blocks.append({**block})
            self._inputs.append(Arguments())
        self._at[place if index is None else index] = place
        if block.get("input"):
            self._inputs[place].add(text_of_arguments(block["input"]))
        return place

    def _use_at(self, place: int | None) -> int | None:
        """The place of the call to which a piece at this place belongs: else to the last open one."""
        uses = [n for n, each in enumerate(self._blocks) if as_text(each.get("type")).endswith("_use")]
        if place in uses:
            return place
        return uses[-1] if uses and not self._inputs[uses[-1]].is_complete else None
