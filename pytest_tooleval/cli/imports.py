"""`tooleval import`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from ..errors import Problem
from ..suite.discovery import SUITE_ENDING
from ..text import printable
from .groups import Group
from .history import side_of
from .import_mcp import mcp
from .suite_files import SuitePath, existing, name_for, say, write

_FEW = 3
_TYPES = {Path: click.Path(path_type=Path), int: click.IntRange(1), str: click.STRING}


class _Imports(Group):
    """A command for each format that has a help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..imports.formats import formats_with

        return sorted([*super().list_commands(ctx), *(name for name, _ in formats_with("HELP"))])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        from ..imports.formats import formats_with

        module = dict(formats_with("HELP")).get(cmd_name)
        return None if module is None else _command(cmd_name, module)


@click.group(name="import", cls=_Imports)
def import_() -> None:
    """Create suites from agents, logs, servers, benchmarks, ..."""


import_.add_command(mcp)


def _command(name: str, module: ModuleType) -> click.Command:
    suite = SuitePath(allow_dash=True)
    about = f"The suite to write or update, *{SUITE_ENDING}; - prints it."
    params: list[click.Parameter] = [
        click.Argument(["source"], metavar=module.SOURCE),
        click.Option(["--out"], type=suite, required=True, help=about),
    ]
    for option, (kind, help) in getattr(module, "OPTIONS", {}).items():
        params.append(click.Option([f"--{option}"], type=_TYPES[kind], help=help))
    help = inspect.cleandoc(module.HELP)
    return click.Command(name, callback=partial(_import, module), params=params, help=help)


def _import(module: ModuleType, source: str, out: Path, **options: Any) -> None:
    """Import a source, and report it."""
    from ..imports.apply import apply, found_in
    from ..project.root import Project

    previous = existing(out)
    if getattr(module, "FROM_RUNS", False):
        options["side_of"] = side_of
    if getattr(module, "IN_FOLDER", False):
        options["folder"] = Project.around().folder
    # What the modules of an agent print is no part of a suite.
    with redirect_stdout(sys.stderr):
        reads = getattr(module, "found", None) or partial(found_in, module.read)
        found = reads(source, **options)
    made = apply(found, name_for(out, found.name), previous.data if previous else None)
    for line in lines_of(made.left_out):
        click.echo(printable(line), err=True)
    is_valid = write(out, made.suite, previous, made.counts)
    for line in made.remarks:
        say(out, line)
    if not is_valid or made.is_broken:
        raise SystemExit(1)


def lines_of(problems: Iterable[Problem]) -> Iterator[str]:
    """A line for each record that was left out; those with the same reason share one."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.message, []).append(problem)
    for message, group in groups.items():
        if len(group) <= _FEW:
            for problem in group:
                place = f"{problem.path}:{problem.line}:{problem.column}"
                yield f"{place}: left out: {f'{problem.field}: ' if problem.field else ''}{message}"
        else:
            lines = "lines " + ", ".join(str(problem.line) for problem in group)
            fields = ", ".join(problem.field for problem in group if problem.field)
            yield f"{group[0].path}: {len(group)} records left out: {message}: {fields or lines}"
