"""Content blocks of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import unread_fields
from .builder import ChatBuilder

Block = Mapping[str, Any]

_RESULT = "_tool_result"
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_THOUGHTS = ("thinking", "redacted_thinking")
# Blocks with neither a call nor an answer.
_COMPACTION = "compaction"
_SILENT = (*_THOUGHTS, _COMPACTION, "container_upload", "fallback")
_SEARCH = "tool_search"
_PROGRAM = "code_execution"  # and with bash or a text editor: `bash_code_execution`


def has_blocks(message: Mapping[str, Any]) -> bool:
    """Whether the content of a message has blocks that the chat API lacks."""
    kinds = [as_text(part.get("type")) for part in objects_in(message.get("content"))]
    return any(kind in (*_CALLS, *_SILENT, "tool_result") or kind.endswith(_RESULT) for kind in kinds)


def read_blocks(chat: ChatBuilder, message: Mapping[str, Any]) -> None:
    """Read a message of the Messages API: first its tool answers, then the rest."""
    rest = []
    for part in as_list(message.get("content")):
        block = as_mapping(part)
        if block.get("type") == "tool_result":
            is_error = True if block.get("is_error") is True else None
            chat.answer(block.get("tool_use_id"), _content(block.get("content")), is_error=is_error)
        else:
            rest.append(part)
    if message.get("role") != "assistant":
        if rest:
            chat.add({**message, "content": rest})
        return
    chat.add({"role": "assistant"})
    for part in rest:
        _read(chat, {"type": "text", "text": part} if isinstance(part, str) else as_mapping(part))
    # The other fields, such as how the message ended, belong to the model's last message, even if the
    # answer of a tool that the provider runs comes after it.
    last = next(each for each in reversed(chat.messages) if each.get("role") == "assistant")
    calls = last.get("tool_calls")
    last |= {key: value for key, value in message.items() if key not in ("role", "content")}
    if calls:
        ids = {as_text(call.get("id")) for call in calls}
        others = objects_in(message.get("tool_calls"))
        last["tool_calls"] = [*calls, *(call for call in others if call.get("id") not in ids)]
    for field in unread_fields(last):
        chat.keep(field)


def _read(chat: ChatBuilder, block: Block) -> None:
    """Read a block of a reply."""
    kind = as_text(block.get("type"))
    if kind == "text":
        chat.say(as_text(block.get("text")))
    elif kind in _CALLS:
        read_call_block(chat, block)
    elif kind.endswith(_RESULT):
        read_result_block(chat, block, kind.removesuffix(_RESULT), block.get("tool_use_id"))
    elif kind == _COMPACTION:
        chat.note_compaction()
    elif kind not in _SILENT:
        chat.keep(block)


def read_call_block(chat: ChatBuilder, block: Block) -> None:
    """Read a call of a function, or of one of the provider's own tools."""
    id, name, arguments = block.get("id"), as_text(block.get("name")), block.get("input")
    if block.get("type") == "server_tool_use" and name.startswith(_SEARCH):
        chat.search(id, arguments)
    elif block.get("type") == "server_tool_use" and name.endswith(_PROGRAM):
        code = as_mapping(arguments)
        chat.program(id, code.get("code") or (code.get("command") if len(code) == 1 else arguments))
    else:
        hosted = block.get("type") != "tool_use"
        chat.call(id, name, arguments, caller=block.get("caller"), hosted=hosted)


def read_result_block(chat: ChatBuilder, block: Block, tool: str, id: object) -> None:
    """Read the answer to a call of the provider's own `tool`."""
    content = block.get("content")
    if tool.startswith(_SEARCH):
        chat.tools_found(id, _references(as_mapping(content).get("tool_references")))
    elif tool.endswith(_PROGRAM):
        chat.result(id, as_mapping(content).get("stdout", content))
    else:
        failed = as_text(as_mapping(content).get("type")).endswith("_error")
        is_error = failed or block.get("is_error") is True
        chat.answer(id, _content(content), is_error=is_error or None)


def _references(blocks: object) -> Sequence[str]:
    return [as_text(each.get("tool_name")) for each in objects_in(blocks)]


def _content(content: object) -> object:
    """The content of an answer, with references to loaded tools replaced by their names as text."""
    if not isinstance(content, list):
        return content
    names = _references([part for part in objects_in(content) if part.get("type") == "tool_reference"])
    rest = [part for part in content if as_mapping(part).get("type") != "tool_reference"]
    return [*rest, {"type": "text", "text": ", ".join(names)}] if names else content
