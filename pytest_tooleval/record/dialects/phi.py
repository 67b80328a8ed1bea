"""Phi and Granite: JSON between `<|tool_call|>`, after `functools`, or in `<function_call>`."""

from __future__ import annotations

from .dialect import CALL, JSON_NEXT, LIST_NEXT, Dialect
from .json_calls import in_tags

PHI = Dialect(
    name="Phi",
    models="Phi-4 mini",
    opener=rf"functools\s*(?=\[\s*){LIST_NEXT}",
    read=in_tags(),
    right=(f"functools[{CALL}]",),
    broken=('functools[{"name": "get_weather", "argu',),
    mentions=("functools[0] is a slice.", "Use functools.partial."),
    vllm="phi4_mini_json",
)

GRANITE = Dialect(
    name="Granite",
    models="Granite 3, Phi-4 mini",
    opener=rf"<\|tool_call\|>\s*{LIST_NEXT}",
    read=in_tags("<|/tool_call|>"),
    right=(
        f"<|tool_call|>[{CALL}]<|/tool_call|>",
        f"<|tool_call|>[{CALL}]<|end_of_text|>",
        f"I look.\n<|tool_call|>{CALL}",
    ),
    broken=('<|tool_call|>[{"name": "get_weather", "argu',),
    mentions=("Granite opens with <|tool_call|>.",),
    vllm="granite",
)

GRANITE_20B = Dialect(
    name="Granite 20B",
    models="Granite 20B for function calling",
    opener=rf"<function_call>\s*{JSON_NEXT}",
    read=in_tags("</function_call>"),
    right=(f"<function_call> {CALL}", f"I look. <function_call>{CALL}</function_call>"),
    broken=('<function_call> {"name": "get_weather", "argu',),
    mentions=("Granite opens with <function_call>.",),
    vllm="granite-20b-fc",
)
