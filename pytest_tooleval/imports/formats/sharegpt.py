"""Conversations for fine-tuning: ShareGPT's `from` and `value`, and chat messages of Hermes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..chats import conversation_reader
from ..conversation import called
from ..format import Format
from ..records import UnusableError, decoded, objects_of, one_after_another

_ROLES = {
    "system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant",
    "model": "assistant", "function_call": "function_call", "tool_call": "function_call",
    "observation": "tool", "tool": "tool", "function": "tool", "function_response": "tool",
    "tool_response": "tool",
}  # fmt: skip
# Descriptions of tools in system prompts: Hermes's, and the lists of ToolACE and Glaive.
_HERMES = re.compile(r"<tools>\s*(.*?)\s*</tools>", re.DOTALL)
_LISTED = re.compile(r"(?:invoke|functions)\b[^\n]*\n?\s*([\[{].*)", re.DOTALL)
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)


def _said(value: Any) -> list[Any]:
    found = as_mapping(value)
    turns = as_list(decoded(found.get("conversations") or found.get("conversation")))
    chosen = found.get("chosen")  # the better one of two answers
    return [*turns, *([chosen] if chosen is not None else [])]


def _is_turn(value: Any) -> bool:
    return "from" in as_mapping(value) and "value" in value


def _holds(value: Any) -> bool:
    return any(map(_is_turn, _said(value))) or _is_hermes(value)


def _is_hermes(value: Any) -> bool:
    """Whether it is a chat whose system prompt describes the tools."""
    first = next(iter(objects_in(as_mapping(value).get("messages"))), {})
    return first.get("role") == "system" and _HERMES.search(as_text(first.get("content"))) is not None


def _convert(value: Any) -> Any:
    turns = _said(value)
    if turns and not all(map(_is_turn, turns)):
        raise UnusableError("conversations: expected turns with from and value")
    spoken = ((each["from"], each["value"]) for each in turns)
    if not turns:
        given = objects_of(value.get("messages"), "messages")
        spoken = ((each.get("role"), each.get("content")) for each in given)
    messages = [*_messages([(as_text(role), as_text(text)) for role, text in spoken])]
    system = as_text(value.get("system"))
    if system and not (messages and messages[0]["role"] == "system"):
        messages = [{"role": "system", "content": system}, *messages]
    tools = value.get("tools", value.get("functions"))
    if messages and messages[0]["role"] == "system":
        text, described = _without_tools(as_text(messages[0]["content"]))
        if described is not None:
            tools = tools or described
            messages = ([{"role": "system", "content": text}] if text else []) + messages[1:]
    made = {key: value[key] for key in ("id", "case") if isinstance(value.get(key), (str, int))}
    return {**made, "messages": messages, **({} if tools is None else {"tools": decoded(tools)})}


def _messages(turns: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Chat messages, in which calls have ids and their answers follow in order."""
    open_ids: list[str] = []
    for number, (name, text) in enumerate(turns):
        role = _ROLES.get(name.lower())
        if role is None:
            raise UnusableError(f"turn {number + 1}: {name!r} is no role that is known")
        if role == "tool":
            for answer in _RESPONSE.findall(text) or [text]:
                id = open_ids.pop(0) if open_ids else None
                yield {"role": "tool", "tool_call_id": id, "content": answer}
            continue
        calls = [*_calls(text)] if role == "function_call" else [*_marked_calls(text, role)]
        if calls:
            open_ids = [f"call_{number}_{n}" for n in range(len(calls))]
            pairs = zip(open_ids, calls, strict=True)
            made = [called(id, call["name"], call["arguments"]) for id, call in pairs]
            said = "" if role == "function_call" else _CALL.sub("", text).strip()
            yield {"role": "assistant", "content": said or None, "tool_calls": made}
        else:
            yield {"role": role, "content": text}


def _marked_calls(text: str, role: str) -> Iterator[dict[str, Any]]:
    """The calls in Hermes's tags, if all of them can be read. Other forms stay text."""
    if role != "assistant":
        return
    found = [decoded(body) for body in _CALL.findall(text)]
    if all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in found):
        yield from ({"name": each["name"], "arguments": each.get("arguments", {})} for each in found)


def _calls(text: str) -> Iterator[dict[str, Any]]:
    """The calls of LLaMA-Factory's `function_call`: an object, or a list of these."""
    try:
        found = msgspec.json.decode(text)
    except ValueError:
        raise UnusableError("a function_call that is no JSON") from None
    for call in as_list(found) if isinstance(found, list) else [found]:
        about = as_mapping(call)
        if not isinstance(about.get("name"), str):
            raise UnusableError("a function_call without a name")
        arguments = about.get("arguments", about.get("parameters", {}))
        yield {"name": about["name"], "arguments": arguments}


def _without_tools(text: str) -> tuple[str, Any]:
    """A system prompt without the tools that it describes, and these; None if it describes none.

    The instructions for writing calls go with them, as the tools are sent in another way.
    """
    for pattern in (_HERMES, _LISTED):
        match = pattern.search(text)
        tools = _tools_in(match[1]) if match else None
        if tools:
            return "", tools
    return text, None


def _tools_in(text: str) -> Any:
    """Tools as a list, or as objects one after another."""
    values = [
        value for value, _ in one_after_another(text.strip())[0] if isinstance(value, (dict, list))
    ]
    return [tool for value in values for tool in (value if isinstance(value, list) else [value])] or None


FORMAT = Format(
    title="ShareGPT conversations",
    recognised="`conversations` with `from` and `value`, as Hermes, ToolACE, Glaive and LLaMA-Factory "
    "have them",
    tools="recorded, even in the system prompt",
    calls="of each answer, even as text",
    example="train.jsonl",
    holds=_holds,
    read=conversation_reader(_convert),
    over=("openai", "tools"),
)
