"""The tools that providers run themselves: one name for each, whoever runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .calls import ToolCall
from .untrusted import as_text, objects_in

# Each tool with its providers' other names for it, in their lists of tools and in their calls.
_NAMES: Mapping[str, str] = {
    "web_search": "google_search google_search_retrieval google_search_web",
    "web_fetch": "url_context",
    "file_search": "",
    "code_execution": (
        "code_interpreter bash_code_execution text_editor_code_execution executable_code "
        "programmatic_tool_calling"
    ),
    "image_generation": "",
    "computer": "computer_use",
    "shell": "local_shell bash",
    "apply_patch": "",
    "google_maps": "",
}
_TOOLS = {alias: name for name, aliases in _NAMES.items() for alias in (name, *aliases.split())}
# Versions in the types of tools, and the end of the types of OpenAI's calls.
_VERSION = re.compile(r"(_preview)?(_[0-9][0-9_]*)?(_call)?\Z")
_PROGRAMS = "programs"
PROGRAM = "code_execution"
MCP = "mcp"  # the type of tools of an MCP server, or its beginning


def hosted_tool(name: str) -> str:
    """Return the tool that a name of a provider's own tool means; empty for any other name."""
    return _TOOLS.get(_VERSION.sub("", name.lower(), count=1), "")


def listed_names(tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names under which a listed tool of a provider can be expected or forbidden."""
    kind = as_text(tool.get("type"))
    if not kind.startswith(MCP):
        yield as_text(tool.get("name")) or _VERSION.sub("", kind, count=1)
        return
    allowed = tool.get("allowed_tools")
    names = allowed.get("tool_names") if isinstance(allowed, Mapping) else allowed
    yield from (name for name in names or () if isinstance(name, str))


def programs_in(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Yield the programs that the provider ran for a reply, as calls."""
    for program in objects_in(message.get(_PROGRAMS)):
        code = program.get("code")
        arguments = dict(code) if isinstance(code, Mapping) else {"code": code}
        yield ToolCall(PROGRAM, arguments, None, as_text(program.get("id")) or None, hosted=True)
