"""Qwen3-Coder: `<function=NAME>` with a `<parameter=KEY>` for each argument, whose values are text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import NAME, Cursor, Dialect, Written
from .xml_calls import Tags, read_calls

_TAGS = Tags(
    call=re.compile(rf"<function=\s*(?P<name>{NAME})\s*>"),
    parameter=re.compile(r"<parameter=\s*(?P<key>[^>\n]{1,200}?)\s*>"),
    parameter_end=re.compile(r"</parameter>"),
    call_end=re.compile(r"</function>"),
)
_CALL = (
    "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
)


def _read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    yield from read_calls(cursor, _TAGS)
    cursor.match(_END)


_END = re.compile(r"</(?:tool_call|seed:tool_call)>")

QWEN3_CODER = Dialect(
    name="Qwen3-Coder",
    models="Qwen3-Coder, Qwen 3.5, Nemotron 3, Seed-OSS",
    opener=(
        rf"<(?:seed:)?tool_call>\s*(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</|\Z))"
        rf"|(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</function>))"
    ),
    read=_read,
    right=(
        f"<tool_call>\n{_CALL}</function>\n</tool_call>",
        f"I look it up.\n\n<tool_call>\n{_CALL}</function>\n</tool_call><|im_end|>",
        f"{_CALL}</function>",
        f"<seed:tool_call>\n{_CALL}</function>\n</seed:tool_call>",
    ),
    broken=(
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nPar",
        f"<tool_call>\n{_CALL}Done.",
        "<tool_call>\n<function=get_weather>\n</tool_call>",
    ),
    mentions=("The tags are <function=NAME> and <parameter=KEY>.",),
    vllm="qwen3_coder",
    sglang="qwen3_coder",
    ollama="qwen3-coder",
)
