"""Qwen3-Coder: `<function=NAME>` with a `<parameter=KEY>` for each argument, whose values are text."""

from __future__ import annotations

import re

from .dialect import NAME, Dialect
from .xml_calls import Tags

_TAGS = Tags(
    call=re.compile(rf"<function=\s*(?P<name>{NAME})\s*>"),
    parameter=re.compile(r"<parameter=\s*(?P<key>[^>\n]{1,200}?)\s*>"),
    parameter_end=re.compile(r"</parameter>"),
    call_end=re.compile(r"</function>"),
    end=re.compile(r"</(?:tool_call|seed:tool_call)>"),
)

QWEN3_CODER = Dialect(
    name="Qwen3-Coder",
    models="Qwen3-Coder, Qwen 3.5, Nemotron 3, Seed-OSS",
    opener=(
        rf"<(?:seed:)?tool_call>\s*(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</|\Z))"
        rf"|(?=<function=\s*{NAME}\s*>\s*(?:<parameter=|</function>))"
    ),
    read=_TAGS.read,
    vllm="qwen3_coder",
    sglang="qwen3_coder",
    ollama="qwen3-coder",
)
