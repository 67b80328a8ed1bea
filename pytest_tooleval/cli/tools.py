"""`tooleval tools`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ..engine.tools.tokens import ToolTokens, counter, largest_descriptions, tool_tokens
from ..mcp.server import McpServer
from ..suite.discovery import SUITE_ENDING
from ..text import plural, printable, shown
from .shared import NoAddress, server_options, table
from .suites import suite_files

if TYPE_CHECKING:
    from ..suite.model import Suite

# `--all` shows the rest.
_MOST_TOOLS = 20
_MOST_DESCRIPTIONS = 5


class _ToolList(NamedTuple):
    """The largest list of tools that one request contains, and a note if there are others."""

    tools: list[ToolTokens]
    note: str = ""

    @property
    def total(self) -> int:
        return sum(tool.tokens for tool in self.tools)


@click.command()
@click.argument("paths", nargs=-1, type=NoAddress(path_type=Path))
@server_options
@click.option(
    "--fail-over",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Exit with status 1 if a list of tools exceeds this number.",
)
@click.option("--all", "everything", is_flag=True, help="Show every tool and description.")
def tools(
    paths: tuple[Path, ...], server: McpServer | None, fail_over: int | None, everything: bool
) -> None:
    """Estimate the tokens that a list of tools adds to every request.

    PATHS are suite files, folders of these, or files in any format of `tooleval import`, of which the
    largest list counts. Or name an MCP server instead. Needs no model and no key. Providers
    count tools differently, so the numbers are estimates: compare them with each other.
    """
    if bool(paths) == (server is not None):
        raise click.UsageError("give suites, or one of --stdio, --http and --sse")
    over = 0
    for title, sizes in _lists(paths, server):
        for line in _lines(title, sizes, everything):
            click.echo(line)
        if fail_over is not None and sizes.total > fail_over:
            over += 1
            text = f"{title}: {sizes.total:,} tokens, over the limit of {fail_over:,}"
            click.secho(text, fg="red")
    if over:
        raise SystemExit(1)


def _lists(paths: tuple[Path, ...], server: McpServer | None) -> Iterator[tuple[str, _ToolList]]:
    """Each list of tools with its title."""
    from ..mcp.suite_tools import SuiteTools
    from ..suite.load import load_suite

    if server is not None:
        yield _of_server(server)
    others = [path for path in paths if path.is_file() and not path.name.endswith(SUITE_ENDING)]
    yield from map(_of_other_file, others)
    suites = tuple(path for path in paths if path not in others)
    for file in suite_files(suites) if suites else ():
        suite = load_suite(file, metrics=None, fetch_tools=SuiteTools(None, ()).fetch)
        yield printable(str(file)), _of_suite(suite)


def _of_server(server: McpServer) -> tuple[str, _ToolList]:
    from ..mcp.discover import discover_tools
    from ..mcp.tools import as_functions, title_of

    discovery = discover_tools(server)
    functions = as_functions(discovery.tools)
    for line in functions.left_out:
        click.echo(f"left out: {line}", err=True)
    return title_of(discovery), _ToolList(tool_tokens(functions.tools, counter().count))


def _of_other_file(file: Path) -> tuple[str, _ToolList]:
    """The largest list of tools in a file of another program."""
    from ..imports.files import tool_lists

    every = [_ToolList(tool_tokens(tools, counter().count)) for tools in tool_lists(file)]
    note = f", the largest of {len(every)} lists" if len(every) > 1 else ""
    return printable(str(file)), max(every, key=lambda each: each.total)._replace(note=note)


def _of_suite(suite: Suite) -> _ToolList:
    of_cases = [(case.id, case.tools) for case in suite.test_cases if case.tools is not None]
    lists = [
        _ToolList(tool_tokens([tool.wire for tool in tools], counter().count), note)
        for note, tools in [
            ("", suite.tools),
            *((f", the largest list, of the case {name}", tools) for name, tools in of_cases),
        ]
    ]
    return max(lists, key=lambda each: each.total)


def _lines(title: str, sizes: _ToolList, everything: bool) -> Iterator[str]:
    yield printable(
        f"{title}: {plural(len(sizes.tools), 'tool')}, {sizes.total:,} tokens{sizes.note} "
        f"(estimate, {counter().how})"
    )
    first = sizes.tools if everything else sizes.tools[:_MOST_TOOLS]
    if rows := list(_rows(first, sizes.total)):
        yield from (f"  {line}" for line in table(rows, ("tool",)))
    if len(sizes.tools) > len(first):
        yield f"  and {plural(len(sizes.tools) - len(first), 'more tool')}; --all shows them"
    largest = largest_descriptions(sizes.tools, len(sizes.tools) if everything else _MOST_DESCRIPTIONS)
    if largest:
        yield "  largest descriptions:"
        rows = [{"tokens": f"{each.tokens:,}", "of": shown(each.place, 80)} for each in largest]
        yield from (f"    {line}" for line in table(rows, ("of",))[1:])


def _rows(tools: Sequence[ToolTokens], total: int) -> Iterator[dict[str, str]]:
    for tool in tools:
        yield {
            "tool": shown(tool.name, 40),
            "tokens": f"{tool.tokens:,}",
            "share": f"{tool.tokens / total:.0%}",
            "description": f"{tool.description:,}",
            "schema": f"{tool.schema:,}",
        }
