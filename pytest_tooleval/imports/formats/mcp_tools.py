"""Saved lists of an MCP server's tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...errors import Problem, SuiteError
from ...explain import show
from ...mcp.tools import as_functions
from ...record.untrusted import as_mapping
from ..format import Format, Source
from ..items import Item, ToolList
from ..tool_dialects import holds_tools, tool_values
from .tools import tools_in_records

# The fields of a tool whose schema was not saved.
_WITHOUT_SCHEMA = frozenset("name title description annotations icons _meta".split())
_ANYTHING = {"type": "object"}
_NO_TOOL = "expected a tool with name and inputSchema, got {}"


def _is_tool(value: Any) -> bool:
    is_tool = isinstance(value, dict) and isinstance(value.get("name"), str) and "type" not in value
    schema = value.get("inputSchema") if is_tool else None
    return isinstance(schema, dict) and "json" not in schema  # which is Bedrock's


def _lacks_schema(value: Any) -> bool:
    fields = as_mapping(value)
    texts = [fields.get("name"), fields.get("description")]
    return fields.keys() <= _WITHOUT_SCHEMA and all(isinstance(each, str) for each in texts)


def _holds(value: Any) -> bool:
    if _is_tool(value) or _lacks_schema(value):
        return True
    is_list = isinstance(value, Mapping) and ("tools" in value or "jsonrpc" in value)
    return is_list and holds_tools(value) and any(map(_is_tool, tool_values(value)))


def _read(sources: Sequence[Source]) -> Iterator[Item]:
    """The tools of all files, under names that every provider accepts."""
    entries: list[dict[str, Any]] = []
    left_out: list[Problem] = []
    without: list[str] = []
    for member in tools_in_records(sources, left_out):
        entry = member.value
        if _lacks_schema(entry):
            entries.append({**entry, "inputSchema": _ANYTHING})
            without.append(entry["name"])
        elif _is_tool(entry):
            entries.append(entry)
        else:
            left_out.append(member.problem(_NO_TOOL.format(show(entry))))
    at = sources[0].records[0].location
    functions = as_functions(entries)
    left_out += [at.problem(line) for line in functions.left_out]
    if not functions.tools:
        raise SuiteError(left_out)
    settings = {"metadata": {"mcp_names": functions.originals}} if functions.originals else {}
    remarks = (
        [f"saved without inputSchema, so any arguments do: {', '.join(without)}"] if without else []
    )
    yield ToolList(at, functions.tools, left_out, settings, remarks=remarks)


FORMAT = Format(
    title="MCP tools",
    recognised="tools with `inputSchema`, or only `name` and `description`, in a list, in `tools`, or "
    "in the `result` of JSON-RPC",
    tools="all",
    example="tools.json",
    holds=_holds,
    read=_read,
    over=("tools",),
)
