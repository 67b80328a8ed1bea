"""A name between tokens, and its arguments as JSON: Kimi K2, Mistral, Llama's functions, DeepSeek.

Mistral's older models write a list of JSON calls. Servers write the bars and blanks of DeepSeek's tokens
in several ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS_NEXT, LIST_NEXT, NAME, BadCall, Cursor, Dialect, RawCall
from .json_calls import read_values

_KIMI_ID = re.compile(r"(?:functions\.)?(?P<name>.+?)(?::\d+)?")


def _read_kimi(cursor: Cursor, opened: re.Match[str]) -> Iterator[RawCall]:
    match = _KIMI_ID.fullmatch(opened["kimi"])
    name = match["name"] if match else opened["kimi"]
    value = cursor.arguments(name)
    cursor.close("<|tool_call_end|>")
    cursor.skip("<|tool_calls_section_end|>")
    yield RawCall(name, value, opened["kimi"])


KIMI = Dialect(
    name="Kimi",
    models="Kimi K2",
    opener=(
        r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?P<kimi>[^<>{\s]{1,200})\s*"
        r"(?:<\|tool_call_argument_begin\|>\s*|(?=\{))"
    ),
    read=_read_kimi,
    vllm="kimi_k2",
    sglang="kimi_k2",
)


_MISTRAL_NAMED = re.compile(rf"(?P<name>{NAME})\s*(?:\[CALL_ID\]\s*(?P<id>\w+)\s*)?(?:\[ARGS\]|(?=\{{))")


def _read_mistral(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
    if cursor.rest[:1] in ("[", "{"):
        yield from read_values(cursor)
        return
    while named := cursor.match(_MISTRAL_NAMED):
        value = cursor.arguments(named["name"])
        yield RawCall(named["name"], value, named["id"])


MISTRAL = Dialect(
    name="Mistral",
    models="Mistral, Ministral, Magistral, Devstral",
    opener=rf"\[TOOL_CALLS\]\s*(?:{LIST_NEXT}|(?={NAME}\s*(?:\[CALL_ID\]|\[ARGS\]|{ARGUMENTS_NEXT})))",
    read=_read_mistral,
    starts=r"\[",
    vllm="mistral",
    sglang="mistral",
    ollama="ministral",
)


def _read_llama(cursor: Cursor, opened: re.Match[str]) -> Iterator[RawCall]:
    name = opened["llama"]
    value = cursor.arguments(name)
    cursor.close("</function>")
    yield RawCall(name, value)


LLAMA_FUNCTION = Dialect(
    name="Llama's <function=...>",
    models="Llama 3.1 and 3.2",
    opener=rf"<function=\s*(?P<llama>{NAME})\s*>\s*{ARGUMENTS_NEXT}",
    read=_read_llama,
    vllm="llama3_json",
    sglang="llama3",
)


def _token(words: str) -> str:
    return rf"<[｜|]{words.replace(' ', '[▁_ ]')}[｜|]>"


_CALLS, _CALLS_END = _token("tool calls begin"), re.compile(_token("tool calls end"))
_CALL, _CALL_END = _token("tool call begin"), re.compile(_token("tool call end"))
_SEP = _token("tool sep")
_FENCE_END = re.compile(r"```")


def _read_deepseek(cursor: Cursor, opened: re.Match[str]) -> Iterator[RawCall]:
    name = (opened["fenced"] or opened["plain"]).strip()
    value = cursor.arguments(name)
    if opened["fenced"]:
        cursor.match(_FENCE_END)
    if not cursor.match(_CALL_END) and cursor.rest:
        raise BadCall("its end is missing", name)
    cursor.match(_CALLS_END)
    yield RawCall(name, value)


DEEPSEEK = Dialect(
    name="DeepSeek",
    models="DeepSeek V3, R1 and V3.1",
    opener=(
        rf"(?:{_CALLS}\s*)?{_CALL}\s*"
        rf"(?:function{_SEP}(?P<fenced>{NAME})\s*```(?:json)?\s*|(?P<plain>{NAME}){_SEP}\s*)"
    ),
    read=_read_deepseek,
    vllm="deepseek_v31",
    sglang="deepseekv31",
    ollama="deepseek3",
)
