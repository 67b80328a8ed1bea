"""Calls as JSON: an object with a name and arguments, a list of them, or several in a row.

Below the readers are the dialects that are such JSON between tokens or tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...record.repeated_keys import Ambiguous
from .dialect import JSON_NEXT, LIST_NEXT, BadCall, Cursor, Dialect, RawCall

_NAME_KEYS = ("name", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters")
_OTHER_KEYS = {"type", "id", "tool_call_id"}
JSON_BEGINS = re.compile(r"(?=(?:\[\s*)?\{)")
_SEPARATORS = re.compile(r"[;,]?\s*(?=[{\[])")


def in_tags(*closers: str) -> Callable[[Cursor, re.Match[str]], Iterator[RawCall]]:
    """Return a reader of JSON calls up to one of these closing tags; none: the JSON ends them."""

    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[RawCall]:
        yield from read_values(cursor)
        cursor.skip("```")
        cursor.close(*closers)

    return read


def read_values(cursor: Cursor) -> Iterator[RawCall]:
    """Read JSON values as long as they follow each other. Raises BadCall."""
    yield from calls_in_json(cursor.json())
    while cursor.match(_SEPARATORS):
        yield from calls_in_json(cursor.json())


def calls_in_json(value: Any) -> Iterator[RawCall]:
    """Yield the calls of a value. Raises BadCall if it holds anything else."""
    members = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and set(value) == {"tool_calls"}:
        lists = [each if isinstance(each, list) else [None] for _, each in value.items()]
        members = [member for each in lists for member in each]
    for member in members:
        yield _call(member)


def _call(data: Any) -> RawCall:
    if isinstance(data, dict) and isinstance(data.get("function"), dict):
        data = data["function"]
    if not isinstance(data, dict):
        raise BadCall("it is no object with a name and arguments")
    names = [key for key in _NAME_KEYS if isinstance(data.get(key), str)]
    keys = [key for key in _ARGUMENT_KEYS if key in data]
    if len(names) != 1:
        raise BadCall("it has no name")
    name = data[names[0]]
    if len(keys) > 1 or set(data) - _OTHER_KEYS - {*names} != set(keys):
        raise BadCall("it has more than a name and arguments", name)
    if isinstance(data, Ambiguous):
        return RawCall(name, f"(a key of the call appears twice) {json.dumps(data)}")
    return RawCall(name, data[keys[0]] if keys else None)


HERMES = Dialect(
    name="Hermes",
    models="Hermes, Qwen 2.5, Qwen 3, Granite 4, EXAONE",
    opener=rf"<tool_call>\s*(?:```(?:json)?\s*)?{LIST_NEXT}",
    read=in_tags("</tool_call>"),
    vllm="hermes",
    sglang="qwen",
    ollama="qwen3",
)

MINIMAX_M1 = Dialect(
    name="MiniMax M1",
    models="MiniMax M1, Hunyuan A13B, Jamba",
    opener=rf"<tool_calls>\s*{LIST_NEXT}",
    read=in_tags("</tool_calls>"),
    vllm="minimax",
    sglang="hunyuan",
)

PHI = Dialect(
    name="Phi",
    models="Phi-4 mini",
    opener=rf"functools\s*(?=\[\s*){LIST_NEXT}",
    read=in_tags(),
    starts="functools",
    vllm="phi4_mini_json",
)

GRANITE = Dialect(
    name="Granite",
    models="Granite 3, Phi-4 mini",
    opener=rf"<\|tool_call\|>\s*{LIST_NEXT}",
    read=in_tags("<|/tool_call|>"),
    vllm="granite",
)

GRANITE_20B = Dialect(
    name="Granite 20B",
    models="Granite 20B for function calling",
    opener=rf"<function_call>\s*{JSON_NEXT}",
    read=in_tags("</function_call>"),
    vllm="granite-20b-fc",
)

COHERE = Dialect(
    name="Command",
    models="Command R7B, A",
    opener=rf"<\|START_ACTION\|>\s*{LIST_NEXT}",
    read=in_tags("<|END_ACTION|>"),
    vllm="cohere_command3",
    sglang="cohere_command4",
)

NEMOTRON = Dialect(
    name="Nemotron",
    models="Llama Nemotron, Nemotron Nano 2",
    opener=rf"<TOOLCALL>\s*{LIST_NEXT}",
    read=in_tags("</TOOLCALL>"),
)

INTERNLM = Dialect(
    name="InternLM",
    models="InternLM, Intern-S1",
    opener=rf"<\|action_start\|>\s*<\|plugin\|>\s*{LIST_NEXT}",
    read=in_tags("<|action_end|>"),
    vllm="internlm",
    sglang="interns1",
)
