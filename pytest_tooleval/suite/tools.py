"""The tools of a suite or a case: their shape, and which names they define."""

from __future__ import annotations

from typing import Any

from .explain import describe
from .explain import listing
from .explain import nearest
from .explain import show
from .fields import TOOL_EXAMPLE
from .model import ANY_TOOL
from .source import Finding
from .source import Findings
from .source import Loc
from .tool_schemas import schema_findings


class ToolNames:
    """The names that a list of tools defines; `complete` is False when some could not be read."""

    def __init__(self, raw: Any, source: str) -> None:
        self.source = source
        self.names: dict[str, str] = {}
        self.complete = True
        for tool in raw if isinstance(raw, list) else ():
            name = _tool_name(tool)
            if name is None:
                self.complete = False
            else:
                self.names[name.casefold()] = name
        if raw is not None and not isinstance(raw, list):
            self.complete = False

    def lacks(self, name: str) -> bool:
        return self.complete and name != ANY_TOOL and name.casefold() not in self.names

    def complaint(self, name: str) -> str:
        if not self.names:
            return f"the tool {show(name)} is not defined: {self.source} has no tools; add it"
        near = nearest(name, self.names.values())
        rest = (
            f", did you mean {show(near)}?"
            if near
            else f"; defined tools: {listing(self.names.values())}"
        )
        return f"the tool {show(name)} is not defined in {self.source}{rest}"


def _tool_name(tool: Any) -> str | None:
    """The name, also of a tool in another format: that one is complained about as it is."""
    if not isinstance(tool, dict):
        return None
    function = tool.get("function", tool)
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else None


def tool_list_findings(tools: Any, loc: Loc) -> Findings:
    """What is wrong with a list of tools, which stands at `loc`."""
    if not isinstance(tools, list):
        return
    first: dict[str, int] = {}
    for index, tool in enumerate(tools):
        at = (*loc, index)
        shape = _tool_shape(tool)
        if shape is not None:
            yield Finding(at, shape)
            continue
        name = _tool_name(tool)
        if name is not None:
            if name in first:
                message = (
                    f"the tool {show(name)} is already defined as {loc[-1]}[{first[name]}]; keep one"
                )
                yield Finding((*at, "function", "name"), message)
            first.setdefault(name, index)
        function = tool["function"]
        parameters = function.get("parameters") if isinstance(function, dict) else None
        if isinstance(parameters, dict):
            yield from schema_findings(parameters, (*at, "function", "parameters"))


def _tool_shape(tool: Any) -> str | None:
    """What is wrong with something that is no tool in OpenAI's format; None for one that is."""
    if not isinstance(tool, dict):
        return f"expected a tool, {TOOL_EXAMPLE}, got {describe(tool)}"
    if "function" in tool:
        return None
    for key, origin in (("input_schema", "Anthropic's"), ("inputSchema", "MCP's")):
        if key in tool:
            return f"a tool in {origin} format; write it as {_wrapped(tool, key)}"
    for key in ("function_declarations", "functionDeclarations"):
        if key in tool:
            return f"tools in Gemini's format; write each as {TOOL_EXAMPLE}"
    if "name" in tool:
        return f"the function without its wrapper; write it as {_wrapped(tool, 'parameters')}"
    return f"function is missing; expected {TOOL_EXAMPLE}"


def _wrapped(tool: dict[str, Any], key: str) -> str:
    name = show(tool["name"]) if "name" in tool else "..."
    inside = f'"name": {name}, "description": ..., "parameters": <the value of {key}>'
    return f'{{"type": "function", "function": {{{inside}}}}}'
