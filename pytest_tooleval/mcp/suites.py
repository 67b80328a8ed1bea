"""Makes suites from the tools of an MCP server, and updates them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..imports.update import Changes, update_suite
from ..text import printable, shorten
from .discover import Discovery
from .tools import Functions, as_functions


def title_of(found: Discovery) -> str:
    """The name of a new suite."""
    return printable(shorten(found.name)) or "MCP server"


def functions_of(found: Discovery, before: Any) -> Functions:
    """The server's tools, under the names in the previous suite."""
    functions = as_functions(found.tools, metadata_of(before).get("mcp_names"))
    return replace(functions, left_out=(*found.left_out, *functions.left_out))


def suite_of(
    found: Discovery, functions: Functions, before: Any, title: str, *, drafts: bool
) -> tuple[dict[str, Any], Changes]:
    """The suite, with the server's name and changed tool names in its metadata."""
    suite, changes = update_suite(before, title, functions.tools, drafts)
    metadata = {key: value for key, value in metadata_of(suite).items() if key != "mcp_names"}
    metadata["mcp_server"] = found.name
    if functions.originals:
        metadata["mcp_names"] = functions.originals
    if "metadata" in suite:
        return {**suite, "metadata": metadata}, changes
    return {"name": suite["name"], "metadata": metadata, **suite}, changes


def metadata_of(suite: Any) -> dict[str, Any]:
    """A suite's metadata; empty without a readable suite."""
    metadata = suite.get("metadata") if isinstance(suite, dict) else None
    return metadata if isinstance(metadata, dict) else {}
