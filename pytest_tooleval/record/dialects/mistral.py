"""Mistral: `[TOOL_CALLS]` before a list of JSON (old), or a name, perhaps `[CALL_ID]`, and `[ARGS]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS, ARGUMENTS_NEXT, CALL, LIST_NEXT, NAME, Cursor, Dialect, Written
from .json_calls import read_values

_NAMED = re.compile(rf"(?P<name>{NAME})\s*(?:\[CALL_ID\]\s*(?P<id>\w+)\s*)?(?:\[ARGS\]|(?=\{{))")


def _read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    if cursor.rest[:1] in ("[", "{"):
        yield from read_values(cursor)
        return
    while named := cursor.match(_NAMED):
        value = cursor.arguments(named["name"])
        yield Written(named["name"], value, named["id"])


MISTRAL = Dialect(
    name="Mistral",
    models="Mistral, Ministral, Magistral, Devstral",
    opener=rf"\[TOOL_CALLS\]\s*(?:{LIST_NEXT}|(?={NAME}\s*(?:\[CALL_ID\]|\[ARGS\]|{ARGUMENTS_NEXT})))",
    read=_read,
    right=(
        f"[TOOL_CALLS] [{CALL}]",
        f"[TOOL_CALLS]get_weather[ARGS]{ARGUMENTS}</s>",
        f"I look.[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{ARGUMENTS}",
        f"[TOOL_CALLS]get_weather{ARGUMENTS}",
    ),
    broken=('[TOOL_CALLS] [{"name": "get_weather", "arg', '[TOOL_CALLS]get_weather[ARGS]{"city": "Par'),
    mentions=("The token is [TOOL_CALLS].",),
    vllm="mistral",
    sglang="mistral",
    ollama="ministral",
)
