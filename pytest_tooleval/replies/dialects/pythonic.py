"""Calls as in Python, `get_weather(city="Paris")`, and Gemma's `call:get_weather{city:...}`.

Below the readers are the dialects of Gemma, LFM2, Olmo 3 and Llama. Gemma's fences are in `recovery`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from .dialect import LIST_NEXT, BadCall, Cursor, Dialect, RawCall
from .json_calls import JSON_BEGINS, read_values

_MOST_LEVELS = 100
_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.\-]*)\s*\(")
_GEMMA_CALL = re.compile(r"call:\s*(?P<name>[A-Za-z_][\w.:\-]*)\s*(?=\{)")
_KEYWORD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=(?!=)")
_KEY = re.compile(r"[A-Za-z_$][\w.$\-]*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"True|true|False|false|None|null")
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
# Gemma's tokens around text, in which nothing is escaped.
_QUOTES = ("<escape>", '<|"|>')


def read_list(cursor: Cursor) -> Iterator[RawCall]:
    """Read `[f(a=1), g(b=2)]`, or a single call. Raises BadCall."""
    is_list = cursor.skip("[")
    while True:
        yield read_call(cursor)
        if not is_list or not cursor.skip(","):
            break
    if is_list and not cursor.skip("]"):
        raise BadCall("] is missing")


def read_call(cursor: Cursor) -> RawCall:
    """Read `name(key=value, ...)`. Raises BadCall."""
    opened = cursor.match(_CALL)
    if opened is None:
        raise BadCall("no call follows")
    name = opened["name"]
    arguments: dict[str, Any] = {}
    while not cursor.skip(")"):
        key = cursor.match(_KEYWORD)
        if key is None:
            raise BadCall("an argument has no name, or is cut off", name)
        _add(arguments, key["key"], _value(cursor, name), name)
        if not cursor.skip(",") and not cursor.rest.startswith(")"):
            raise BadCall(") is missing", name)
    return RawCall(name, arguments)


def _value(cursor: Cursor, name: str, level: int = 0) -> Any:
    if level > _MOST_LEVELS:
        raise BadCall("its arguments are nested too deeply", name)
    for quote in _QUOTES:
        if cursor.skip(quote):
            return cursor.until(quote)
    if cursor.rest[:1] in ('"', "'"):
        return _text(cursor, name)
    if number := cursor.match(_NUMBER):
        return _number(number[0])
    if word := cursor.match(_WORD):
        return _WORDS[word[0]]
    for opener, closer in (("[", "]"), ("(", ")")):
        if cursor.skip(opener):
            return _items(cursor, closer, name, level)
    if cursor.skip("{"):
        return _members(cursor, name, level)
    raise BadCall("a value cannot be read, or is cut off", name)


def _text(cursor: Cursor, name: str) -> str:
    literal = cursor.match(_STRING)
    try:
        return str(ast.literal_eval(literal[0])) if literal else _cut(name)
    except (ValueError, SyntaxError, MemoryError):
        raise BadCall("a text cannot be read", name) from None


def _cut(name: str) -> str:
    raise BadCall("a text is cut off", name)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _items(cursor: Cursor, closer: str, name: str, level: int) -> list[Any]:
    items: list[Any] = []
    while not cursor.skip(closer):
        items.append(_value(cursor, name, level + 1))
        if not cursor.skip(",") and not cursor.rest.startswith(closer):
            raise BadCall(f"{closer} is missing", name)
    return items


def _members(cursor: Cursor, name: str, level: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    while not cursor.skip("}"):
        key = cursor.match(_KEY)
        text = key[0] if key else str(_value(cursor, name, level + 1))
        if not cursor.skip(":"):
            raise BadCall("a value is missing", name)
        _add(members, text, _value(cursor, name, level + 1), name)
        if not cursor.skip(",") and not cursor.rest.startswith("}"):
            raise BadCall("} is missing", name)
    return members


def _add(members: dict[str, Any], key: str, value: Any, name: str) -> None:
    if key in members:
        raise BadCall(f"its key {key} appears twice", name)
    members[key] = value


def _gemma_up_to(closer: str) -> Callable[[Cursor, re.Match[str]], Iterator[RawCall]]:
    """Return a reader of `call:name{key:value, ...}`, up to a closing token."""

    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
        opened = cursor.match(_GEMMA_CALL)
        if opened is None:
            raise BadCall("no call follows")
        yield RawCall(opened["name"], _value(cursor, opened["name"]))
        cursor.close(closer)

    return read


FUNCTION_GEMMA = Dialect(
    name="FunctionGemma",
    models="FunctionGemma",
    opener=r"<start_function_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_gemma_up_to("<end_function_call>"),
    vllm="functiongemma",
    ollama="functiongemma",
)

GEMMA = Dialect(
    name="Gemma 4",
    models="Gemma 4",
    opener=r"<\|tool_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_gemma_up_to("<tool_call|>"),
    vllm="gemma4",
    sglang="gemma4",
)


_PYTHON_NEXT = r"(?=(?:\[\s*)?[A-Za-z_][\w.\-]*\(\s*(?:[)\"'\[{\d]|[A-Za-z_]\w*\s*=|\Z))"


def _calls_up_to(closer: str) -> Callable[[Cursor, re.Match[str]], Iterator[RawCall]]:
    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
        if cursor.match(JSON_BEGINS):
            yield from read_values(cursor)
        else:
            yield from read_list(cursor)
            while cursor.rest[:1].isalpha():  # Olmo writes a call on each line
                yield from read_list(cursor)
        cursor.close(closer)

    return read


LFM2 = Dialect(
    name="LFM2",
    models="LFM2",
    opener=rf"<\|tool_call_start\|>\s*(?:{LIST_NEXT}|{_PYTHON_NEXT})",
    read=_calls_up_to("<|tool_call_end|>"),
    sglang="lfm2",
    ollama="lfm2",
)

OLMO = Dialect(
    name="Olmo 3",
    models="Olmo 3",
    opener=rf"<function_calls>\s*{_PYTHON_NEXT}",
    read=_calls_up_to("</function_calls>"),
    vllm="olmo3",
    ollama="olmo3",
)


def _read_llama(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
    if cursor.match(JSON_BEGINS):
        yield from read_values(cursor)
    elif cursor.rest.startswith("["):
        yield from read_list(cursor)
    else:
        call = read_call(cursor)
        yield call._replace(name=call.name.removesuffix(".call"))


LLAMA = Dialect(
    name="Llama",
    models="Llama 3.1 to 4",
    opener=rf"<\|python_tag\|>\s*(?:{LIST_NEXT}|(?=(?:\[\s*)?[A-Za-z_][\w.]*\())",
    read=_read_llama,
    vllm="llama3_json",
    sglang="llama3",
)
