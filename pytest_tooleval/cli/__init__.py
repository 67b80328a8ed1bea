"""The `tooleval` command. Subcommands import what they need when they run."""

from __future__ import annotations

import click

from .. import __version__
from .cassettes import cassette
from .suites import schema
from .suites import validate


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tooleval")
def main() -> None:
    """Tools around suites of tool-calling cases; pytest itself runs them."""


for command in (schema, validate, cassette):
    main.add_command(command)
