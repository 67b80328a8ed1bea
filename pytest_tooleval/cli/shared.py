"""What the commands share: groups that suggest a command, types of options, and tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click

from ..mcp.server import McpServer
from ..text import align_rows, near, printable, read_share


class Group(click.Group):
    """A group of commands that suggests one for a misspelt name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and (hint := near(name, self.list_commands(ctx))):
            ctx.fail(f"no command {printable(name)}{hint}")
        return super().resolve_command(ctx, args)


class ShareType(click.FloatRange):
    """A number such as 0.9, or a percentage."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and value.endswith("%"):
            value = read_share(value)
        return super().convert(value, param, ctx)


class NoAddress(click.Path):
    """A path; the address of an MCP server is refused with the options for one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).startswith(("http://", "https://")):
            raise click.UsageError(
                f"{printable(str(value))} is the address of a server; tooleval import mcp and tooleval "
                "tools take it as --http ADDRESS (streamable HTTP) or --sse ADDRESS (older servers)"
            )
        return super().convert(value, param, ctx)


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
        if any("=" not in header for header in headers):
            raise click.UsageError(
                "expected --header NAME=VARIABLE, where VARIABLE is the environment variable with the "
                "value"
            )
        count = sum(option is not None for option in (stdio, http, sse))
        if count > 1:
            raise click.UsageError("give one of --stdio, --http and --sse")
        pairs = dict(header.partition("=")[::2] for header in headers)
        server = McpServer.of(stdio, http, sse, pairs, env, timeout) if count else None
        command(server=server, **others)

    return with_server


def table(rows: Sequence[Mapping[str, str]], texts: Collection[str]) -> list[str]:
    """Rows by column. `texts` are aligned left, others right; columns without values are left out."""
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    lines = [columns, *([row[name] for name in columns] for row in rows)]
    return align_rows(lines, [index for index, name in enumerate(columns) if name in texts])
