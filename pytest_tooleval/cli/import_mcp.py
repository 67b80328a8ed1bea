"""`tooleval import mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ConfigError
from ..suite.discovery import SUITE_ENDING
from ..text import counted, printable, shorten
from .mcp_options import server_options
from .suite_files import SuitePath, existing, say, write

if TYPE_CHECKING:
    from ..mcp.server import McpServer
    from ..suite.source import Document


@click.command()
@server_options
@click.option("--name", help="The name of a new suite; default: the server's own.")
@click.option(
    "--out",
    type=SuitePath(allow_dash=True),
    help="Write or update this file; - prints it. Default: the suite's name.",
)
@click.option("--drafts/--no-drafts", default=True, help="Draft a case for each new tool (default).")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
def mcp(
    server: McpServer | None,
    name: str | None,
    out: Path | None,
    drafts: bool,
    dry_run: bool,
) -> None:
    """Create or update a suite from the tools of an MCP server.

    Each new tool gets a draft of a case, which is skipped until you edit its prompt and remove "skip".
    In an existing suite, tools are replaced and your cases stay. The exit status is 1 if the
    server cannot be used, or if cases need fixing.
    """
    from ..mcp.discover import discover_tools
    from ..mcp.tools import imported, title_of

    if server is None:
        raise click.UsageError("give one of --stdio, --http and --sse")
    # Before asking the server, so that a mistake in --out shows at once.
    previous = existing(out) if out is not None else None
    found = discover_tools(server)
    title = name or title_of(found)
    if out is None:
        out, previous = _own_file(title)
    before = None if previous is None else previous.data
    version = f" {found.version}" if found.version else ""
    named = printable(shorten(f"{found.name or 'unnamed server'}{version}"))
    click.echo(f"{named}: {counted(len(found.tools), 'tool')}", err=True)
    made = imported(found, before, title, drafts=drafts)
    for line in made.left_out:
        click.echo(f"left out: {line}", err=True)
    suite, changes = made.suite, made.changes
    for line in changes.lines() if previous is not None else ():
        say(out, line)
    counts = counted(len(suite["tools"]), "tool"), counted(len(suite["test_cases"]), "case")
    is_valid = write(out, suite, previous, counts, dry_run=dry_run)
    if changes.drafted:
        drafted = counted(changes.drafted, "draft")
        say(out, f'{drafted} to edit: reword the prompt, check the params, and remove "skip"')
    if not is_valid or changes.broken:
        raise SystemExit(1)


def _own_file(title: str) -> tuple[Path, Document | None]:
    """The file named after the server, which is overwritten only if an import wrote it."""
    from ..imports.write import read_existing
    from ..mcp.tools import metadata_of
    from ..project.root import Project
    from ..suite.slugs import slug

    file = Project.around().suite_folder() / f"{slug(title) or 'mcp-server'}{SUITE_ENDING}"
    previous = read_existing(file)
    if previous is not None and "mcp_server" not in metadata_of(previous.data):
        raise ConfigError(
            f"{file} already exists and is not from an MCP server; to update its tools, pass "
            f"--out {file}"
        )
    return file, previous
