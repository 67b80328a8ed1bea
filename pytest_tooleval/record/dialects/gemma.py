"""Gemma: FunctionGemma and Gemma 4, whose texts stand between tokens. Fences are in `recovery`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import Cursor, Dialect, Written
from .pythonic import read_gemma


def _read_function(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    yield read_gemma(cursor)
    cursor.close("<end_function_call>")


def _read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    yield read_gemma(cursor)
    cursor.close("<tool_call|>")


FUNCTION_GEMMA = Dialect(
    name="FunctionGemma",
    models="FunctionGemma",
    opener=r"<start_function_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_read_function,
    right=(
        "<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>",
        "I look.<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}",
    ),
    broken=("<start_function_call>call:get_weather{city:<escape>Par",),
    mentions=("It writes <start_function_call>.",),
    vllm="functiongemma",
    ollama="functiongemma",
)

GEMMA = Dialect(
    name="Gemma 4",
    models="Gemma 4",
    opener=r"<\|tool_call>\s*(?=call:|[A-Za-z_][\w.\-]*\{)",
    read=_read,
    right=(
        '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>',
        'I look.<|tool_call>call:get_weather{days: 3, city: <|"|>Paris<|"|>}',
    ),
    broken=(
        '<|tool_call>call:get_weather{city:<|"|>Par',
        "<|tool_call>call:get_weather<tool_call|>",
        '<|tool_call>get_weather{city:<|"|>Paris<|"|>}',
    ),
    mentions=("It writes <|tool_call> first.",),
    vllm="gemma4",
    sglang="gemma4",
)
