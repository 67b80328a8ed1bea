"""The `tooleval` command. Subcommands import what they need when they run."""

from __future__ import annotations

import click

from .. import __version__
from .cassettes import cassette
from .history import compare
from .history import export
from .history import history as history_
from .history import prune
from .history import show
from .history import trend
from .imports import import_
from .new import new as new_
from .suites import schema
from .suites import validate
from .ui import ui as ui_


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tooleval")
def main() -> None:
    """Tools around suites of tool-calling cases; pytest itself runs them."""


# The modules keep their names, which commands of the same name would hide.
_COMMANDS = (
    new_,
    import_,
    validate,
    schema,
    cassette,
    history_,
    show,
    compare,
    trend,
    export,
    prune,
    ui_,
)

for command in _COMMANDS:
    main.add_command(command)
