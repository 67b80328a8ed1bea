"""Tools as their calls show them, where nobody recorded their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..record.calls import is_number
from .items import ToolUse


def tools_seen(calls: Iterable[ToolUse]) -> list[dict[str, Any]]:
    """A tool for each name, with the parameters seen. Those of all its calls are required.

    It is a custom tool if its calls have no arguments but a text.
    """
    seen: dict[str, list[Mapping[str, Any] | None]] = {}
    for name, arguments in calls:
        seen.setdefault(name, []).append(arguments)
    return [_tool(name, every) for name, every in seen.items()]


def _tool(name: str, calls: list[Mapping[str, Any] | None]) -> dict[str, Any]:
    every = [each for each in calls if each is not None]
    if not every:
        return {"type": "custom", "custom": {"name": name}}
    kinds: dict[str, dict[str, None]] = {}
    for arguments in every:
        for key, value in arguments.items():
            kinds.setdefault(key, {})[_type(value)] = None
    required = [key for key in kinds if all(key in arguments for arguments in every)]
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for key, seen in kinds.items():
        types = [kind for kind in seen if kind != "integer" or "number" not in seen]
        schema["properties"][key] = {"type": types[0] if len(types) == 1 else types}
    if required:
        schema["required"] = required
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def _type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if is_number(value):
        return "integer" if isinstance(value, int) else "number"
    kinds = {str: "string", list: "array"}
    return next((kind for type, kind in kinds.items() if isinstance(value, type)), "object")
