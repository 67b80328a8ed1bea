"""Histories of Pydantic AI, as `all_messages_json` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...engine.protocols.builder import as_content
from ...record.transcript import Message
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..items import call_message

_TEXTS = {"system-prompt": "system", "user-prompt": "user"}
_SILENT = ("thinking",)


def _holds(value: Any) -> bool:
    messages = objects_in(as_mapping(value).get("messages"))
    return any("part_kind" in part for each in messages for part in objects_in(each.get("parts")))


def _messages(message: Any) -> Iterator[Any]:
    """A message in the chat API's form, which has one for each answer of a tool."""
    fields = as_mapping(message)
    if not isinstance(fields.get("parts"), list):
        yield message
        return
    if text := as_text(fields.get("instructions")):
        yield {"role": "system", "content": text}
    reply: Message = {"role": "assistant", "content": [], "tool_calls": []}
    reason = as_text(fields.get("finish_reason")).replace("tool_call", "tool_calls")
    for part in fields["parts"]:
        kind = as_text(as_mapping(part).get("part_kind"))
        if kind in _TEXTS:
            yield {"role": _TEXTS[kind], "content": _content(part.get("content"))}
        elif kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
            yield _answer(part, kind)
        elif kind == "retry-prompt":
            yield {"role": "user", "content": as_content(part.get("content"))}
        elif kind == "text":
            reply["content"].append({"type": "text", "text": as_text(part.get("content"))})
        elif kind == "tool-call":
            name = part.get("tool_name")
            call = call_message(part.get("tool_call_id"), name, part.get("args") or {})
            reply["tool_calls"].append(call)
        elif kind not in _SILENT:
            reply["content"].append({"type": kind, **as_mapping(part)})
    if fields.get("kind") == "response" or reply["content"] or reply["tool_calls"]:
        yield {**reply, "content": reply["content"] or None, "finish_reason": reason or None}


def _answer(part: Mapping[str, Any], kind: str) -> Message:
    content, outcome = as_content(part.get("content")), as_text(part.get("outcome"))
    answer = {"role": "tool", "tool_call_id": part.get("tool_call_id"), "content": content}
    if kind == "retry-prompt" or outcome == "failed":
        answer["is_error"] = True
    return {**answer, **({"outcome": outcome} if outcome else {})}


def _content(content: Any) -> Any:
    """The content of a prompt, whose parts are texts and images by URL."""
    if not isinstance(content, list):
        return content
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    fields = as_mapping(part)
    if fields.get("kind") == "image-url":
        return {"type": "image_url", "image_url": {"url": as_text(fields.get("url"))}}
    return part if isinstance(part, str) else {"type": as_text(fields.get("kind")), **fields}


def _convert(value: Any) -> Any:
    messages = [message for each in as_list(value.get("messages")) for message in _messages(each)]
    system = [each for each in messages if as_mapping(each).get("role") == "system"]
    rest = [each for each in messages if as_mapping(each).get("role") != "system"]
    return {**value, "messages": [*system[:1], *rest] if len({*map(str, system)}) == 1 else messages}


FORMAT = Format(
    title="histories of Pydantic AI",
    recognised="messages with `parts` that have a `part_kind`, as `all_messages_json` writes them",
    tools="never recorded",
    calls="of each response",
    example="history.json",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "anthropic", "gemini", "vercel", "langchain"),
)
