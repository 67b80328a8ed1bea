"""Mistral: `[TOOL_CALLS]` before a list of JSON (old), or a name, perhaps `[CALL_ID]`, and `[ARGS]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS_NEXT, LIST_NEXT, NAME, Cursor, Dialect, Written
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
    starts=r"\[",
    vllm="mistral",
    sglang="mistral",
    ollama="ministral",
)
