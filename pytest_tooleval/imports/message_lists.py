"""Lists of chat messages at any depth of a value: the way of last resort, which reads unknown files.

A place is a JSON Pointer, in which `*` stands for each item of a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from ..text import canonical
from .bodies import ANSWER_KEYS
from .formats.langchain import message_fields
from .records import Record, UnusableError

_DEEPEST = 20
_ROLES = frozenset("system developer user human assistant ai model agent tool function".split())
_REPLIES = frozenset("assistant ai model agent response gemini gpt".split())
# What a record says of its conversation, and what a person or a benchmark expects of it.
_ABOUT = {
    "tools": list,
    "functions": list,
    "tool_definitions": list,
    "model": str,
    "case": str,
    "id": str,
}
_SYSTEM = ("system_prompt", "system", "instructions")
_ANSWERS = (*ANSWER_KEYS, "answer", "reply", "result", "res", "error")
_EXPECTED = ("task", "reward_info", "ground_truth", "expected", "reference")


class Messages(NamedTuple):
    """A list of messages, its place, and the objects around it, the nearest first, without it."""

    place: str
    messages: list[Any]
    around: Sequence[Mapping[str, Any]] = ()


def is_message(value: Any) -> bool:
    """Whether it is a chat message, or LangChain's."""
    fields = as_mapping(value)
    has = "content" in fields or "parts" in fields or "tool_calls" in fields
    return bool(message_fields(fields)) or (isinstance(fields.get("role"), str) and has)


def is_list(value: Any) -> bool:
    """Whether it is a conversation: messages only, one of which may be a reply."""
    objects = objects_in(value)
    if not objects or len(objects) != len(as_list(value)):
        return False
    if all("part_kind" in as_mapping(next(iter(as_list(each.get("parts"))), None)) for each in objects):
        return True
    speakers = {*map(_speaker, objects)}
    return all(map(is_message, objects)) and speakers <= _ROLES and not _REPLIES.isdisjoint(speakers)


def _speaker(message: Mapping[str, Any]) -> str:
    return as_text(message.get("role") or message_fields(message).get("type"))


def lists_in(value: Any) -> list[Messages]:
    """All lists of messages in a value, but for those that only repeat parts of another one."""
    lists = list(_walk(value, "", (), 0))
    if len(lists) > 1:
        contents = [{canonical(each) for each in one.messages} for one in lists]
        most = max(contents, key=len)
        lists = [
            one for one, keys in zip(lists, contents, strict=True) if keys is most or not keys <= most
        ]
    return lists


def _walk(
    value: Any, place: str, around: tuple[Mapping[str, Any], ...], depth: int
) -> Iterator[Messages]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if is_list(value):
            yield Messages(place, value, around)
            return
        for member in value:
            yield from _walk(member, f"{place}/*", around, depth + 1)
    elif isinstance(value, Mapping):
        for key, member in value.items():
            if isinstance(member, (list, Mapping)):
                others = {name: other for name, other in value.items() if name != key}
                name = str(key).replace("~", "~0").replace("/", "~1")
                yield from _walk(member, f"{place}/{name}", (others, *around), depth + 1)


def answer_beside(message_list: Messages) -> str | None:
    """The field beside messages without a last answer that may be the answer; None if there is none."""
    last = as_mapping(message_list.messages[-1])
    if _speaker(last) in _REPLIES or "role" not in last:
        return None
    return next((key for each in message_list.around for key in _ANSWERS if each.get(key)), None)


def at_place(value: Any, place: str) -> list[Messages]:
    """The lists at a place that a person named. UnusableError if there is none."""
    values = [value]
    for part in place.removeprefix("/").split("/") if place.strip("/") else ():
        name = part.replace("~1", "/").replace("~0", "~")
        values = [inner for each in values for inner in _step(each, name)]
    lists = [Messages(place, each) for each in values if isinstance(each, list) and each]
    if not lists:
        places = ", ".join(dict.fromkeys(each.place for each in lists_in(value)))
        raise UnusableError(f"no list at {place}; lists of messages: {places or 'none'}")
    return lists


def _step(value: Any, name: str) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[name]] if name in value else []
    if isinstance(value, list):
        if name == "*":
            return value
        return [value[int(name)]] if name.isdecimal() and int(name) < len(value) else []
    return []


def conversation_at(record: Record, message_list: Messages) -> Record:
    """A record of a format that has messages, with what is said of the conversation around it.

    Everything else is in `beside`, where it is only searched for calls.
    """
    fields: dict[str, Any] = {"messages": message_list.messages}
    for outer in reversed(message_list.around):
        about = {key: outer[key] for key, kind in _ABOUT.items() if isinstance(outer.get(key), kind)}
        fields |= {"tools" if key == "tool_definitions" else key: value for key, value in about.items()}
        if system := next(filter(None, (as_text(outer.get(key)) for key in _SYSTEM)), ""):
            fields["instructions"] = system
    beside = [
        {
            key: _without(value)
            for key, value in outer.items()
            if key not in (*_ABOUT, *_SYSTEM, *_EXPECTED)
        }
        for outer in message_list.around
    ]
    field = ": ".join(filter(None, (record.field, message_list.place)))
    return record.inside({**fields, **({"beside": beside} if any(beside) else {})}, field)


def _without(value: Any) -> Any:
    """An object without what is expected in it."""
    if not isinstance(value, Mapping):
        return value
    return {key: each for key, each in value.items() if key not in _EXPECTED}
