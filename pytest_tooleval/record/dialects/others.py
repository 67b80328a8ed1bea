"""JSON between the tokens of further models."""

from __future__ import annotations

from .dialect import CALL, LIST_NEXT, Dialect
from .json_calls import in_tags

COHERE = Dialect(
    name="Command",
    models="Command R7B, A",
    opener=rf"<\|START_ACTION\|>\s*{LIST_NEXT}",
    read=in_tags("<|END_ACTION|>"),
    right=(
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
        '{"city": "Paris", "days": 3}}]<|END_ACTION|>',
    ),
    broken=('<|START_ACTION|>[{"tool_call_id": "0", "tool_na',),
    mentions=("It opens with <|START_ACTION|>.",),
    vllm="cohere_command3",
    sglang="cohere_command4",
)

NEMOTRON = Dialect(
    name="Nemotron",
    models="Llama Nemotron, Nemotron Nano 2",
    opener=rf"<TOOLCALL>\s*{LIST_NEXT}",
    read=in_tags("</TOOLCALL>"),
    right=(f"<TOOLCALL>[{CALL}]</TOOLCALL>",),
    broken=('<TOOLCALL>[{"name": "get_weather", "argu',),
    mentions=("It opens with <TOOLCALL>.",),
)

INTERNLM = Dialect(
    name="InternLM",
    models="InternLM, Intern-S1",
    opener=rf"<\|action_start\|>\s*<\|plugin\|>\s*{LIST_NEXT}",
    read=in_tags("<|action_end|>"),
    right=(f"<|action_start|><|plugin|>\n{CALL}<|action_end|>",),
    broken=('<|action_start|><|plugin|>{"name": "get_weather", "argu',),
    mentions=("It opens with <|action_start|><|plugin|>.",),
    vllm="internlm",
    sglang="interns1",
)
