"""The `tooleval` command."""

from __future__ import annotations

from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any, NamedTuple

import click

from .. import __version__
from ..errors import SuiteError, ToolevalError
from ..text import plural, printable
from ..tiers import Tier, in_tiers
from .shared import Group


class _NotJudged(click.ClickException):
    exit_code = 2  # 1 means that the run failed, or is worse than the other


class _Command(NamedTuple):
    """A command's module and function, its tier in help, and what its errors become."""

    name: str
    tier: Tier = "advanced"
    error: type[click.ClickException] = click.ClickException


_COMMANDS = {
    "new": _Command("new:new", "everyday"),
    "import": _Command("imports:import_", "everyday"),
    "validate": _Command("suites:validate", "everyday"),
    "mutate": _Command("mutate:mutate", "everyday"),
    "show": _Command("history:show", "everyday"),
    "compare": _Command("history:compare", "everyday", _NotJudged),
    "ci": _Command("ci:ci", "everyday", _NotJudged),
    "ui": _Command("ui:ui"),
    "history": _Command("history:history"),
    "trend": _Command("history:trend"),
    "blame": _Command("blame:blame", error=_NotJudged),
    "tools": _Command("tools:tools"),
    "models": _Command("models:models"),
    "cassette": _Command("cassettes:cassette"),
    "merge": _Command("merge:merge", error=_NotJudged),
    "schema": _Command("suites:schema"),
}
# The names of the commands by tier, as help lists them.
COMMANDS = in_tiers((place.tier, name) for name, place in _COMMANDS.items())
# Other tools' names for what a command of ours does.
_ELSEWHERE = {
    "run": "pytest --tooleval-model=MODEL",
    "test": "pytest --tooleval-model=MODEL",
    "eval": "pytest --tooleval-model=MODEL",
    "list": "tooleval history",
    "runs": "tooleval history",
    "diff": "tooleval compare",
    "view": "tooleval show, or tooleval ui",
    "init": "tooleval new",
    "lint": "tooleval validate",
}
_MOST_PROBLEMS = 20


class _Commands(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        close = get_close_matches(cmd_name, [*_COMMANDS, *_ELSEWHERE], n=1)
        if close and close[0] in _ELSEWHERE:
            raise click.UsageError(f"no such command '{cmd_name}'; use {_ELSEWHERE[close[0]]}")
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = resolve_name(f"{__name__}.{_COMMANDS[cmd_name].name}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in sections, each with its whole first line."""
        for tier, names in COMMANDS.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(name, command.get_short_help_str(200)) for name, command in commands if command]
            if rows:
                with formatter.section(tier.capitalize()):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Show errors of ours without a traceback."""
        try:
            return super().invoke(ctx)
        except ToolevalError as error:
            raise _COMMANDS[str(ctx.invoked_subcommand)].error(_shown(error)) from None


def _shown(error: ToolevalError) -> str:
    """The error, with at most as many problems as fit a screen."""
    if not isinstance(error, SuiteError):
        return printable(str(error), keep_newlines=True)
    lines = [printable(str(problem)) for problem in error.problems[:_MOST_PROBLEMS]]
    more = len(error.problems) - len(lines)
    return "\n".join([*lines, *([f"and {plural(more, 'more problem')}"] if more else [])])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tooleval")
def main() -> None:
    """A pytest plugin that tests whether an LLM or agent calls the right tool with the right arguments,
    and lets CI gate on it.

    Write and check suites, and look at runs. Use pytest to run suites.
    """
