"""Fields and items that are not known here, and that may hold a call: never "nothing happened"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..text import json_text
from .unread import Unread
from .untrusted import as_mapping, as_text, objects_in

# The field of a message with items of unknown types.
UNREAD = "unread"
# The fields of a chat message: the API's, those of its providers, our own and our clients'.
_KNOWN = frozenset(
    "role content name tool_calls function_call tool_call_id weight refusal finish_reason stop_reason "
    "status outcome is_error isError tool_searches programs unread id type usage audio annotations "
    "images reasoning reasoning_content reasoning_details thinking thinking_blocks "
    "provider_specific_fields anthropic_content gemini_parts responses_output container conversation "
    "logprobs index model extra_content cache_control namespace".split()
)
_CALLED = frozenset(
    "call calls tool tools function functions invocation invocations toolcall toolcalls tooluse "
    "tooluses functioncall functioncalls".split()
)
# What describes tools, or counts what they used.
_DESCRIBES = frozenset(
    "usage tokens choice definition definitions declaration declarations schema schemas config "
    "available offered allowed enabled active resources count ids names".split()
)
_LISTS = frozenset(("tools", "functions"))
_NAMES = ("name", "toolName", "tool_name", "tool", "function", "functionName", "function_name")
_ARGUMENTS = (
    "arguments", "args", "input", "params", "parameters", "tool_input", "toolInput", "tool_args",
    "kwargs",
)  # fmt: skip
_VAGUE = frozenset(("input", "params", "parameters", "kwargs"))
_KINDS = ("type", "kind", "part_kind")
_DEFINED = ("function", "tool", "tools", "functions")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MOST_LEVELS = 5
_UNPLACED = "piece of a stream that fits nowhere"


def unplaced(piece: object) -> dict[str, Any]:
    """A piece of a stream that fits nowhere, as an item of a type that is not known."""
    return {"type": _UNPLACED, "piece": piece}


def kind_of(item: Mapping[str, Any]) -> str:
    """The type of an item, or the first field of a Gemini part, which has no type."""
    return str(item.get("type") or next(iter(item), ""))


def unread_fields(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a chat message that are not known, and that may hold a call."""
    known = {as_text(_called(call)) for call in objects_in(message.get("tool_calls"))} - {""}
    fields = ((name, value) for name, value in message.items() if name not in _KNOWN)
    found = [{name: value} for name, value in fields if _is_call_like(name, value, known)]
    if "name" in message and any(_holds_arguments(message.get(key)) for key in ("arguments", "args")):
        found.append({key: message[key] for key in ("name", "arguments", "args") if key in message})
    return found


def unread_in(message: Mapping[str, Any]) -> Iterator[Unread]:
    """Yield the parts of a message that are not known here, and that may hold a call."""
    parts = objects_in(message.get("content"))
    kept = objects_in(message.get(UNREAD))
    unknown = [*kept, *(part for part in parts if _names_a_call(as_text(part.get("type"))))]
    for item in (*unread_fields(message), *(each for each in unknown if is_call_like(each))):
        why = "an item of a kind that is not known here, and that may be a call"
        yield Unread.at(kind_of(item), json_text(item, 400), why, "other")


def is_call_like(item: Mapping[str, Any]) -> bool:
    """True if an item of an unknown type may be a call, or a call's answer."""
    kind = as_text(item.get("type"))
    if kind == _UNPLACED:
        return True
    if not kind:
        return bool(_called(item)) or any(_is_call_like(name, value) for name, value in item.items())
    rest = {name: value for name, value in item.items() if name not in ("type", "id")}
    return _is_call_like(kind, rest)


def _is_call_like(name: str, value: object, known: Collection[str] = ()) -> bool:
    if not isinstance(value, (dict, list)) or not value or _describes_tools(name):
        return False
    named = {as_text(each.get("name")) for each in objects_in(value)} - {""}
    if named and named <= {*known}:
        return False  # the same calls once more
    called = set(_calls_within(value, names_call=_names_a_call(name)))
    if called:
        return not called <= {*known}
    return _names_a_call(name) and name not in _LISTS


def _names_a_call(name: str) -> bool:
    """True if a name names a call, a tool or a function, and no definition or usage of one."""
    return bool(_words(name) & _CALLED) and not _describes_tools(name)


def _describes_tools(name: str) -> bool:
    return bool(_words(name) & _CALLED and _words(name) & _DESCRIBES)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}


def _calls_within(value: object, level: int = 0, *, names_call: bool) -> Iterator[str]:
    """Yield the names of what looks like calls in a value.

    These are objects with a name and arguments, and items whose type names a call. `names_call`: a key
    around it does.
    """
    if level > _MOST_LEVELS or not isinstance(value, (dict, list)):
        return
    if isinstance(value, list):
        for inner in value:
            yield from _calls_within(inner, level + 1, names_call=names_call)
        return
    kind = next((value[key] for key in _KINDS if isinstance(value.get(key), str)), "")
    is_item = _names_a_call(kind) and kind not in _DEFINED
    if name := _called(value, names_call=names_call or is_item):
        yield name
    elif is_item and len(value) > 1:
        yield kind
    else:
        for key, inner in value.items():
            yield from _calls_within(inner, level + 1, names_call=names_call or _names_a_call(key))


def _called(value: Mapping[str, Any], *, names_call: bool = True) -> str:
    """The name of a call; empty if the object is none.

    `name` with `input` may be anything, unless something around it names a call.
    """
    inner = as_mapping(value.get("function")) or value
    key = next((key for key in _NAMES if isinstance(inner.get(key), str)), "")
    held = [each for each in _ARGUMENTS if _holds_arguments(inner.get(each))]
    is_clear = names_call or inner is not value or key != "name" or not _VAGUE.issuperset(held)
    return inner[key] if key and held and is_clear else ""


def _holds_arguments(value: object) -> bool:
    if isinstance(value, str):
        return value.lstrip().startswith("{")
    is_schema = isinstance(value, dict) and ("properties" in value or value.get("type") == "object")
    return isinstance(value, dict) and not is_schema
