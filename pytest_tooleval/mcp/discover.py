"""Lists the tools of an MCP server, within limits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ..secrets import redact
from .connect import Session, connect
from .explain import about
from .server import McpServer

MAX_PAGES = 200
MAX_TOOLS = 5000


@dataclass(frozen=True)
class Discovery:
    """The name, version and tools of a server.

    Each tool is the protocol's object: `name`, `description`, `inputSchema` and optionally `title`,
    `outputSchema` and `annotations` (`readOnlyHint`, `destructiveHint`, `idempotentHint`,
    `openWorldHint`). `left_out` has a line for each one that breaks the protocol.
    """

    name: str
    version: str
    tools: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...] = ()


def discover_tools(server: McpServer) -> Discovery:
    """Connect, list the tools and disconnect. Raises the same errors as `discover`."""
    return asyncio.run(discover(server))


async def discover(server: McpServer) -> Discovery:
    """A server's tools, listed within its `timeout_s` in total.

    Raises McpError if the server cannot be reached, violates the protocol or a limit, or has no tools,
    and ConfigError if the SDK or a variable is missing.
    """
    async with connect(server, within_s=server.timeout_s) as session:
        return await tools_of_session(session, server)


async def tools_of_session(session: Session, server: McpServer) -> Discovery:
    """An open session's tools, listed without a time limit. Raises McpError like `discover`.

    Some servers echo the headers or variables that they were sent, so those are removed, and keys.
    """
    if not session.offers_tools:
        raise about(server, "it offers no tools")
    tools: list[dict[str, Any]] = []
    left_out: list[str] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await session.tools_page(cursor)
        tools, cursor = tools + page.tools, page.next
        left_out += (server.quote(f"{name}: {reason}") for name, reason in page.left_out)
        if len(tools) > MAX_TOOLS:
            raise about(server, f"it lists more than {MAX_TOOLS} tools, too many to import")
        if not cursor:
            break
    else:
        raise about(server, f"its tools fill more than {MAX_PAGES} pages, too many to read")
    if not tools:
        bad = f"none of its tools can be used; the first: {left_out[0]}" if left_out else ""
        raise about(server, bad or "it offers no tools")
    name, version = redact(server.scrubbed_data(session.name_and_version))
    clean = (
        {field: redact(server.scrubbed_data(value)) for field, value in tool.items()} for tool in tools
    )
    return Discovery(name, version, tuple(clean), tuple(left_out))
