"""Makes suites from the tools of an MCP server, and updates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..imports.update import Changes, update_suite
from ..text import printable, shorten
from .discover import Discovery
from .tools import as_functions

_SHOWN = 5  # of the tools that cannot be used


def title_of(found: Discovery) -> str:
    """The name of a new suite."""
    return printable(shorten(found.name)) or "MCP server"


class Imported(NamedTuple):
    """A suite with a server's tools. `left_out` has a line for each that a suite cannot contain."""

    suite: dict[str, Any]
    changes: Changes
    tools: Sequence[dict[str, Any]]
    left_out: Sequence[str]


def imported(found: Discovery, before: Any, title: str, *, drafts: bool) -> Imported:
    """The suite made of a server's tools, or the one `before` with these.

    Names of tools that had to change are in its metadata, and are reused. ConfigError if no tool can be
    used.
    """
    functions = as_functions(found.tools, metadata_of(before).get("mcp_names"))
    left_out = (*found.left_out, *functions.left_out)
    if not functions.tools:
        raise ConfigError(f"none of the tools can be used in a suite: {'; '.join(left_out[:_SHOWN])}")
    suite, changes = update_suite(before, title, functions.tools, drafts)
    metadata = {key: value for key, value in metadata_of(suite).items() if key != "mcp_names"}
    metadata["mcp_server"] = found.name
    if functions.originals:
        metadata["mcp_names"] = functions.originals
    is_new = "metadata" not in suite
    made = {"name": suite["name"], "metadata": metadata} if is_new else {}
    return Imported({**made, **suite, "metadata": metadata}, changes, functions.tools, left_out)


def metadata_of(suite: Any) -> dict[str, Any]:
    """A suite's metadata; empty without a readable suite."""
    metadata = suite.get("metadata") if isinstance(suite, dict) else None
    return metadata if isinstance(metadata, dict) else {}
