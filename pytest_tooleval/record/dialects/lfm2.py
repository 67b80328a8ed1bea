"""LFM2 and Olmo 3: Python or JSON between tokens or tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .dialect import LIST_NEXT, Cursor, Dialect, Written
from .json_calls import read_values
from .pythonic import read_list

_PYTHON_NEXT = r"(?=(?:\[\s*)?[A-Za-z_][\w.\-]*\(\s*(?:[)\"'\[{\d]|[A-Za-z_]\w*\s*=|\Z))"
_JSON_BEGINS = re.compile(r"(?=(?:\[\s*)?\{)")


def _up_to(closer: str) -> Callable[[Cursor, re.Match[str]], Iterator[Written]]:
    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
        if cursor.match(_JSON_BEGINS):
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
    read=_up_to("<|tool_call_end|>"),
    sglang="lfm2",
    ollama="lfm2",
)

OLMO = Dialect(
    name="Olmo 3",
    models="Olmo 3",
    opener=rf"<function_calls>\s*{_PYTHON_NEXT}",
    read=_up_to("</function_calls>"),
    vllm="olmo3",
    ollama="olmo3",
)
