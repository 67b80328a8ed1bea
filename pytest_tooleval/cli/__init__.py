"""The `tooleval` command. Subcommands import what they need when they run."""

from __future__ import annotations

from typing import Any

import click

from .. import __version__
from ..errors import SuiteError
from ..errors import ToolevalError
from ..text import counted
from ..text import printable
from .cassettes import cassette
from .history import compare
from .history import export
from .history import history as history_
from .history import prune
from .history import show
from .history import tag
from .history import trend
from .imports import import_
from .judge_check import judge_check
from .merge import merge
from .models import models
from .mutate import mutate
from .new import new as new_
from .suites import schema
from .suites import validate
from .ui import ui as ui_

_MOST_PROBLEMS = 20


class _Commands(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ("run", "test"):
            raise click.UsageError("pytest runs suites: pytest --tooleval-model=MODEL")
        return super().get_command(ctx, cmd_name)

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
    """Write, check and import suites, and look at runs. pytest runs them."""


# Imported under names that do not hide the modules.
for command in (
    new_,
    import_,
    validate,
    mutate,
    schema,
    models,
    judge_check,
    cassette,
    history_,
    merge,
    show,
    compare,
    trend,
    export,
    tag,
    prune,
    ui_,
):
    main.add_command(command)
