"""Makes suites from an MCP server's tools, which are converted into OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ConfigError, SuiteError
from ..explain import show
from ..record.calls import is_nested_deeper
from ..suite.load import parse_suite
from ..suite.source import MAX_FILE_DEPTH
from ..suite.tool_names import provider_names
from ..suite.update import Changes, update_suite
from ..text import printable, shorten
from .discover import Discovery

_SHOWN = 5  # of the tools that cannot be used
_AROUND = 5  # levels of a suite above the parameters of a tool
_PLACE = "tools[0].function."


@dataclass(frozen=True)
class Functions:
    """Tools in OpenAI's format; `originals` maps changed names to the server's own.

    `left_out` has a line for each tool that a suite cannot contain.
    """

    tools: tuple[dict[str, Any], ...]
    originals: dict[str, str]
    left_out: tuple[str, ...]


def as_functions(
    entries: Iterable[Mapping[str, Any]], earlier: Mapping[str, str] | None = None
) -> Functions:
    """A server's tools as functions, with unchanged input schemas.

    `earlier` are `originals` whose names are reused. The first of two tools with the same
    name counts.
    """
    left_out: list[str] = []
    distinct: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        first = distinct.setdefault(entry["name"], entry)
        if first is not entry:
            left_out.append(f"{_shown(entry)}: a second tool of this name")
    names = provider_names(distinct, earlier)
    tools = []
    for original, entry in distinct.items():
        tool = function_of(entry, names[original])
        problem = _problem(tool)
        if problem is None:
            tools.append(tool)
        else:
            left_out.append(f"{_shown(entry)}: {problem}")
    kept = {tool["function"]["name"] for tool in tools}
    originals = {name: old for old, name in names.items() if name != old and name in kept}
    return Functions(tuple(tools), originals, tuple(dict.fromkeys(left_out)))


def function_of(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A server's tool in OpenAI's format, under this name."""
    function = {"name": name}
    if entry.get("description") is not None:
        function["description"] = entry["description"]
    function["parameters"] = entry["inputSchema"]
    return {"type": "function", "function": function}


def _problem(tool: dict[str, Any]) -> str | None:
    """Why a suite cannot contain a tool; None if it can."""
    if is_nested_deeper(tool["function"]["parameters"], MAX_FILE_DEPTH - _AROUND):
        return f"its input schema is nested deeper than {MAX_FILE_DEPTH - _AROUND} levels"
    try:
        text = json.dumps({"name": "-", "tools": [tool], "test_cases": []})
    except ValueError as error:
        return f"its input schema is not JSON: {error}"
    try:
        parse_suite(text)
    except SuiteError as error:
        first = error.problems[0]
        return printable(f"{first.field.removeprefix(_PLACE)}: {first.message}")
    return None


def _shown(entry: Mapping[str, Any]) -> str:
    return shorten(show(entry["name"]), 100)


def title_of(discovery: Discovery) -> str:
    """The name of a new suite."""
    return printable(shorten(discovery.name)) or "MCP server"


class ImportedSuite(NamedTuple):
    """A suite with a server's tools. `left_out` has a line for each that a suite cannot contain."""

    suite: dict[str, Any]
    changes: Changes
    tools: Sequence[dict[str, Any]]
    left_out: Sequence[str]


def suite_with_tools(discovery: Discovery, before: Any, title: str, *, drafts: bool) -> ImportedSuite:
    """The suite made of a server's tools, or the one `before` with these.

    Names of tools that had to change are in its metadata, and are reused. ConfigError if no tool can be
    used.
    """
    functions = as_functions(discovery.tools, metadata_of(before).get("mcp_names"))
    left_out = (*discovery.left_out, *functions.left_out)
    if not functions.tools:
        raise ConfigError(f"none of the tools can be used in a suite: {'; '.join(left_out[:_SHOWN])}")
    new = {"name": title, "tools": [], "test_cases": []}
    suite, changes = update_suite(before or new, functions.tools, drafts=drafts)
    metadata = {key: value for key, value in metadata_of(suite).items() if key != "mcp_names"}
    metadata["mcp_server"] = discovery.name
    if functions.originals:
        metadata["mcp_names"] = functions.originals
    is_new = "metadata" not in suite
    head = {"name": suite["name"], "metadata": metadata} if is_new else {}
    return ImportedSuite({**head, **suite, "metadata": metadata}, changes, functions.tools, left_out)


def metadata_of(suite: Any) -> dict[str, Any]:
    """A suite's metadata; empty without a readable suite."""
    metadata = suite.get("metadata") if isinstance(suite, dict) else None
    return metadata if isinstance(metadata, dict) else {}
