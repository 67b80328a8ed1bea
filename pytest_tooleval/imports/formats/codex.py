"""Rollouts of Codex, as it writes them below `~/.codex/sessions`.

Items of the Responses API are in `response_item`, which `event_msg` repeats. A compaction ends a
conversation, and begins another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import may_be_call, unknown_calls
from ...replies.outside_transcript import NO_NAME, OutsideTranscript
from ..chats import chat_messages
from ..error_texts import CODEX, with_statuses
from ..format import EachFile, Format
from ..items import Item
from ..records import Record, UnusableError

_KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
# Events that repeat calls.
_REPEATS = (
    "exec_", "mcp_", "patch_apply_", "apply_patch_", "web_search_", "view_image_", "dynamic_tool_",
    "item_", "raw_response_item",
)  # fmt: skip
_LEFT_OUT = ("reasoning", "ghost_snapshot", "other")
_UNKNOWN = "unknown line"
_NO_PROMPT = (
    "the output of codex exec --json lacks the prompt: import the session that it wrote below "
    "~/.codex/sessions"
)
# What the program itself writes in the user's name.
_NOTICES = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md instructions")


def _holds(value: Any) -> bool:
    line = as_mapping(value)
    is_line = line.get("type") in _KINDS and isinstance(line.get("payload"), dict)
    return is_line or (line.get("type") == "thread.started" and "thread_id" in line)


def _parts(records: list[Record]) -> Iterator[Record]:
    """The items of each part between compactions, with the id and the model of the session."""
    if as_mapping(records[0].value).get("type") == "thread.started":
        raise UnusableError(_NO_PROMPT)
    id, model = "", NO_NAME
    parts: list[tuple[Record, list[Any]]] = []
    for record in records:
        line = as_mapping(record.value)
        kind, payload = line.get("type"), as_mapping(line.get("payload"))
        if kind == "session_meta":
            id = id or as_text(payload.get("id"))
        elif kind == "turn_context":
            model = as_text(payload.get("model")) or model
        elif kind == "compacted":
            summary = {"role": "user", "content": as_text(payload.get("message"))}
            parts.append((record, [*(as_list(payload.get("replacement_history")) or [summary])]))
        else:
            item = payload if kind == "response_item" else _unknown(line)
            if item and _is_of_conversation(item):
                parts = parts or [(record, [])]
                parts[-1][1].append(item)
    return (replace(first, value=(held, id, model)) for first, held in parts)


def _read(part: Record) -> Iterator[Item]:
    held, id, model = part.value
    kept = [item for item in held if _is_of_conversation(as_mapping(item))]
    readable = chat_messages([item for item in kept if not _is_unknown(item)])
    items = [item for item in kept if not _is_unknown(item) or unknown_calls(item, readable)]
    messages = with_statuses(chat_messages(items), CODEX)
    if any(message["role"] == "assistant" for message in messages):
        yield OutsideTranscript(part.location, messages, id=id, model=model)


def _unknown(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """A line that is not known, repeats nothing, and may hold a call, as an item; else empty."""
    kind, payload = as_text(line.get("type")), as_mapping(line.get("payload"))
    is_known = (
        as_text(payload.get("type")).startswith(_REPEATS) if kind == "event_msg" else kind in _KINDS
    )
    item = payload or line
    return {"type": _UNKNOWN, "line": item} if not is_known and may_be_call(item) else {}


def _is_unknown(item: Any) -> bool:
    return as_mapping(item).get("type") == _UNKNOWN


def _is_of_conversation(item: Any) -> bool:
    if item.get("type") in _LEFT_OUT:
        return False
    text = "".join(as_text(part.get("text")) for part in objects_in(item.get("content")))
    return not (item.get("role") == "user" and text.lstrip().startswith(_NOTICES))


FORMAT = Format(
    title="Codex rollouts",
    recognised="lines with a `payload`, as below `~/.codex/sessions`",
    tools="never recorded",
    calls="of each reply; compacted parts apart",
    example="rollout.jsonl",
    holds=_holds,
    read=EachFile(_read, _parts),
)
