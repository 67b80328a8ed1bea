"""Gemma: FunctionGemma and Gemma 4, whose texts stand between tokens. Fences are in `recovery`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .dialect import Cursor, Dialect, Written
from .pythonic import read_gemma


def _up_to(closer: str) -> Callable[[Cursor, re.Match[str]], Iterator[Written]]:
    def read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
        yield read_gemma(cursor)
        cursor.close(closer)

    return read


FUNCTION_GEMMA = Dialect(
    name="FunctionGemma",
    models="FunctionGemma",
    opener=r"<start_function_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_up_to("<end_function_call>"),
    vllm="functiongemma",
    ollama="functiongemma",
)

GEMMA = Dialect(
    name="Gemma 4",
    models="Gemma 4",
    opener=r"<\|tool_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_up_to("<tool_call|>"),
    vllm="gemma4",
    sglang="gemma4",
)
