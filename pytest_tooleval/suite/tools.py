"""The tools of a suite or a case: their shape, and which names they define."""

from __future__ import annotations

from typing import Any

from ..explain import describe
from ..explain import listing
from ..explain import nearest
from ..explain import show
from ..findings import Finding
from ..findings import Findings
from ..findings import Loc
from ..jsonschemas.well_formed import schema_findings
from ..record.names import meant
from ..record.untrusted import as_list
from ..record.untrusted import as_mapping
from ..record.untrusted import as_text
from .fields import TOOL_EXAMPLE
from .model import ANY_TOOL


class ToolNames:
    """The names that a list of tools defines; `complete` is False when some could not be read."""

    def __init__(self, raw: Any, source: str) -> None:
        self.source = source
        found = [_tool_name(tool) for tool in as_list(raw)]
        self.names = dict.fromkeys(name for name in found if name is not None)
        self.complete = (raw is None or isinstance(raw, list)) and None not in found

    def lacks(self, name: Any) -> bool:
        """Whether this is the name of a tool that is not in the list."""
        is_name = isinstance(name, str) and name not in ("", ANY_TOOL)
        return is_name and self.complete and meant(name, self.names) is None

    def complaint(self, name: str) -> str:
        if name.casefold() in ("null", "none"):
            return f"the tool {show(name)} is not defined; for no tool, drop the quotes: null"
        if not self.names:
            return f"the tool {show(name)} is not defined: {self.source} has no tools; add it"
        near = nearest(name, self.names)
        hint = f", did you mean {show(near)}?" if near else f"; defined tools: {listing(self.names)}"
        return f"the tool {show(name)} is not defined in {self.source}{hint}"


def _tool_name(tool: Any) -> str | None:
    """The name, also of a tool in another format, which `_tool_shape` reports."""
    function = as_mapping(tool).get("function", tool)
    return as_text(as_mapping(function).get("name")) or None


def tool_list_findings(tools: Any, loc: Loc) -> Findings:
    """What is wrong with the list of tools at `loc`."""
    first: dict[str, int] = {}
    for index, tool in enumerate(as_list(tools)):
        at = (*loc, index)
        shape = _tool_shape(tool)
        if shape is not None:
            yield Finding(at, shape)
            continue
        name = _tool_name(tool)
        if name is not None:
            if name in first:
                other = f"{loc[-1]}[{first[name]}]"
                message = f"the tool {show(name)} is already defined as {other}; keep one"
                yield Finding((*at, "function", "name"), message)
            first.setdefault(name, index)
        parameters = as_mapping(tool["function"]).get("parameters")
        if isinstance(parameters, dict):
            yield from schema_findings(parameters, (*at, "function", "parameters"))


def _tool_shape(tool: Any) -> str | None:
    """Why this is not a tool in OpenAI's format; None if it is one."""
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
