"""Llama: JSON or Python after `<|python_tag|>`, and JSON arguments in `<function=NAME>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dialect import ARGUMENTS_NEXT, LIST_NEXT, NAME, Cursor, Dialect, Written
from .json_calls import JSON_BEGINS, read_values
from .pythonic import read_call, read_list


def _read(cursor: Cursor, _: re.Match[str]) -> Iterator[Written]:
    if cursor.match(JSON_BEGINS):
        yield from read_values(cursor)
    elif cursor.rest.startswith("["):
        yield from read_list(cursor)
    else:
        call = read_call(cursor)
        yield call._replace(name=call.name.removesuffix(".call"))


def _read_function(cursor: Cursor, opened: re.Match[str]) -> Iterator[Written]:
    name = opened["llama"]
    value = cursor.arguments(name)
    cursor.close("</function>")
    yield Written(name, value)


LLAMA = Dialect(
    name="Llama",
    models="Llama 3.1 to 4",
    opener=rf"<\|python_tag\|>\s*(?:{LIST_NEXT}|(?=(?:\[\s*)?[A-Za-z_][\w.]*\())",
    read=_read,
    vllm="llama3_json",
    sglang="llama3",
)

LLAMA_FUNCTION = Dialect(
    name="Llama's <function=...>",
    models="Llama 3.1 and 3.2",
    opener=rf"<function=\s*(?P<llama>{NAME})\s*>\s*{ARGUMENTS_NEXT}",
    read=_read_function,
    vllm="llama3_json",
    sglang="llama3",
)
