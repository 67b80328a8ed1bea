"""Hermes: JSON between `<tool_call>` tags. Qwen 2.5 and 3, Granite 4, EXAONE and many others use it."""

from __future__ import annotations

from .dialect import CALL, LIST_NEXT, Dialect
from .json_calls import in_tags

HERMES = Dialect(
    name="Hermes",
    models="Hermes, Qwen 2.5, Qwen 3, Granite 4, EXAONE",
    opener=rf"<tool_call>\s*(?:```(?:json)?\s*)?{LIST_NEXT}",
    read=in_tags("</tool_call>"),
    right=(
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"Sure, I will look it up.\n<tool_call>{CALL}</tool_call><|im_end|>",
        f"<tool_call>{CALL}",
        f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    ),
    broken=(
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
        "<tool_call>\n{'name': 'get_weather', 'arguments': {}}\n</tool_call>",
        '<tool_call>{"city": "Paris"}</tool_call>',
        f"<tool_call>{CALL} and then I will see.",
        f"<tool_call>{{{CALL}}}</tool_call>",
    ),
    mentions=(
        "Write your call between <tool_call> and </tool_call>.",
        '<tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call>',
        "<tool_call>{...}</tool_call>",
        "<tool_call>{{ tool_call.function | tojson }}</tool_call>",
    ),
    vllm="hermes",
    sglang="qwen",
    ollama="qwen3",
)
