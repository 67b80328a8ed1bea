"""Kimi K2: sections with an id, `functions.NAME:0`, and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import Cursor, Dialect, Written

_ID = re.compile(r"(?:functions\.)?(?P<name>.+?)(?::\d+)?")


def _read(cursor: Cursor, opened: re.Match[str]) -> Iterator[Written]:
    found = _ID.fullmatch(opened["kimi"])
    name = found["name"] if found else opened["kimi"]
    value = cursor.arguments(name)
    cursor.close("<|tool_call_end|>")
    cursor.skip("<|tool_calls_section_end|>")
    yield Written(name, value, opened["kimi"])


KIMI = Dialect(
    name="Kimi",
    models="Kimi K2",
    opener=(
        r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?P<kimi>[^<>{\s]{1,200})\s*"
        r"(?:<\|tool_call_argument_begin\|>\s*|(?=\{))"
    ),
    read=_read,
    vllm="kimi_k2",
    sglang="kimi_k2",
)
