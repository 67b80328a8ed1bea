"""Tools in formats other than OpenAI's."""

from __future__ import annotations

from typing import Any

from ..explain import show

TOOL_EXAMPLE = '{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}'


CUSTOM_EXAMPLE = '{"type": "custom", "custom": {"name": ..., "description": ..., "format": ...}}'


def other_format(tool: dict[str, Any]) -> str:
    """Say how to fix a tool that is not in OpenAI's format; empty for one that is."""
    kinds = [kind for kind in ("function", "custom") if tool.get(kind) is not None]
    if kinds[1:]:
        return "has both function and custom; keep one of them"
    if tool.get("type") == "custom" and kinds != ["custom"]:
        return f"custom is missing; write it as {CUSTOM_EXAMPLE}"
    if kinds == ["custom"] and tool.get("type") != "custom":
        return f'expected the type "custom" beside custom: {CUSTOM_EXAMPLE}'
    if kinds:
        return ""
    for key, origin in (("input_schema", "Anthropic's"), ("inputSchema", "MCP's")):
        if key in tool:
            return f"a tool in {origin} format; write it as {_wrapped(tool, key)}"
    for key in ("function_declarations", "functionDeclarations"):
        if key in tool:
            return f"tools in Gemini's format; write each as {TOOL_EXAMPLE}"
    if "name" in tool:
        return f"the unwrapped function; write it as {_wrapped(tool, 'parameters')}"
    return f"function is missing; expected {TOOL_EXAMPLE}"


def _wrapped(tool: dict[str, Any], key: str) -> str:
    name = show(tool["name"]) if "name" in tool else "..."
    inside = f'"name": {name}, "description": ..., "parameters": <the value of {key}>'
    return f'{{"type": "function", "function": {{{inside}}}}}'
