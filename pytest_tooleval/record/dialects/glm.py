"""GLM: `<tool_call>NAME` with pairs of `<arg_key>` and `<arg_value>`, whose values are text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .dialect import NAME, Broken, Cursor, Dialect, NotACall, Written
from .xml_calls import typed

_END = "</tool_call>"


def _read(cursor: Cursor, opened: re.Match[str]) -> Iterator[Written]:
    name = opened["glm"]
    schema = cursor.schema_of(name)
    arguments: dict[str, Any] = {}
    while cursor.skip("<arg_key>"):
        key = cursor.until("</arg_key>").strip()
        if not cursor.skip("<arg_value>"):
            raise Broken(f"the value of {key} is missing", name)
        if key in arguments:
            raise Broken(f"its argument {key} appears twice", name)
        arguments[key] = typed(cursor.until("</arg_value>"), schema or {}, key)
    if schema is None and not arguments:
        raise NotACall  # `<tool_call>name</tool_call>`, as an explanation has it
    if cursor.rest[:1] in ("(", "{", "["):
        raise Broken("its arguments are not between <arg_key> tags", name)
    cursor.close(_END)
    yield Written(name, arguments)


GLM = Dialect(
    name="GLM",
    models="GLM 4.5 to 5",
    opener=rf"<tool_call>\s*(?P<glm>{NAME})\s*(?=<arg_key>|{_END}|[({{\[]|\Z)",
    read=_read,
    vllm="glm47",
    sglang="glm47",
    ollama="glm-4.7",
)
