"""The `tooleval` command."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import click

from .. import __version__
from ..errors import SuiteError, ToolevalError
from ..text import counted, printable
from .shared import Group


class _NotJudged(click.ClickException):
    exit_code = 2  # 1 means that the run failed, or is worse than the other


# Each command's module and function, and what its errors become.
_COMMANDS: dict[str, tuple[str, type[click.ClickException]]] = {
    "new": ("new:new", click.ClickException),
    "import": ("imports:import_", click.ClickException),
    "validate": ("suites:validate", click.ClickException),
    "mutate": ("mutate:mutate", click.ClickException),
    "tools": ("tools:tools", click.ClickException),
    "schema": ("suites:schema", click.ClickException),
    "models": ("models:models", click.ClickException),
    "cassette": ("cassettes:cassette", click.ClickException),
    "show": ("history:show", click.ClickException),
    "compare": ("history:compare", _NotJudged),
    "power": ("power:power", click.ClickException),
    "trend": ("history:trend", click.ClickException),
    "history": ("history:history", click.ClickException),
    "blame": ("blame:blame", _NotJudged),
    "ci": ("ci:ci", _NotJudged),
    "merge": ("merge:merge", _NotJudged),
    "ui": ("ui:ui", click.ClickException),
}
# What help lists: the commands of each step, in its order; others are in the last section.
_SECTIONS = {
    "Write": ("new", "import", "validate", "mutate"),
    "Look": ("show", "compare", "trend", "history"),
}
_MOST_PROBLEMS = 20


class _Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ("run", "test"):
            raise click.UsageError("use pytest to run suites: pytest --tooleval-model=MODEL")
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = resolve_name(f"{__name__}.{_COMMANDS[cmd_name][0]}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in sections, each with its whole first line."""
        listed = [name for names in _SECTIONS.values() for name in names]
        others = tuple(name for name in _COMMANDS if name not in listed)
        for title, names in {**_SECTIONS, "More": others}.items():
            found = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(name, command.get_short_help_str(200)) for name, command in found if command]
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Show errors of ours without a traceback."""
        try:
            return super().invoke(ctx)
        except ToolevalError as error:
            _, shown_as = _COMMANDS[str(ctx.invoked_subcommand)]
            raise shown_as(_shown(error)) from None


def _shown(error: ToolevalError) -> str:
    """The error, with at most as many problems as fit a screen."""
    if not isinstance(error, SuiteError):
        return printable(str(error), keep_newlines=True)
    lines = [printable(str(problem)) for problem in error.problems[:_MOST_PROBLEMS]]
    more = len(error.problems) - len(lines)
    return "\n".join([*lines, *([f"and {counted(more, 'more problem')}"] if more else [])])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tooleval")
def main() -> None:
    """Write and check suites, and look at runs. Use pytest to run suites."""
