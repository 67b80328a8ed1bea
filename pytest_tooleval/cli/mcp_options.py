"""The options that name an MCP server."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of an MCP server; the command gets a `server`, or None without any."""

    @click.option("--stdio", metavar="COMMAND", help='Start this server, e.g. "uvx mcp-server-time".')
    @click.option("--http", metavar="URL", help="Connect to a server over streamable HTTP.")
    @click.option("--sse", metavar="URL", help="Connect to an older server over HTTP with SSE.")
    @click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME=VARIABLE",
        help="Send a header with the value of an environment variable (repeatable).",
    )
    @click.option(
        "--env",
        "env",
        multiple=True,
        metavar="VARIABLE",
        help="Pass an environment variable to the command (repeatable).",
    )
    @click.option(
        "--timeout",
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="Time limit for reading the tools.",
    )
    @functools.wraps(command)
    def with_server(
        stdio: str | None,
        http: str | None,
        sse: str | None,
        headers: tuple[str, ...],
        env: tuple[str, ...],
        timeout: float,
        **others: Any,
    ) -> None:
        from ..mcp.server import McpServer

        if any("=" not in header for header in headers):
            raise click.UsageError(
                "expected --header NAME=VARIABLE, where VARIABLE is the environment variable with the "
                "value"
            )
        given = sum(option is not None for option in (stdio, http, sse))
        if given > 1:
            raise click.UsageError("give one of --stdio, --http and --sse")
        pairs = dict(header.partition("=")[::2] for header in headers)
        server = McpServer.of(stdio, http, sse, pairs, env, timeout) if given else None
        command(server=server, **others)

    return with_server
