"""The `tooleval` command."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import click

from .. import __version__
from ..errors import SuiteError
from ..errors import ToolevalError
from ..text import counted
from ..text import printable

# Each command's module and function; help lists them in this order.
_COMMANDS = {
    "new": "new:new",
    "import": "imports:import_",
    "validate": "suites:validate",
    "mutate": "mutate:mutate",
    "schema": "suites:schema",
    "models": "models:models",
    "cassette": "cassettes:cassette",
    "show": "history:show",
    "compare": "history:compare",
    "trend": "history:trend",
    "history": "history:history",
    "merge": "merge:merge",
    "ui": "ui:ui",
}
_MOST_PROBLEMS = 20


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ("run", "test"):
            raise click.UsageError("use pytest to run suites: pytest --tooleval-model=MODEL")
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = resolve_name(f"{__name__}.{_COMMANDS[cmd_name]}")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Show errors of ours without a traceback."""
        try:
            return super().invoke(ctx)
        except ToolevalError as error:
            judges = ctx.invoked_subcommand in ("compare", "merge")
            raise (_NotJudged if judges else click.ClickException)(_shown(error)) from None


class _NotJudged(click.ClickException):
    exit_code = 2  # 1 means that the run failed, or is worse than the other


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
