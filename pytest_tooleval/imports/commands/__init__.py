"""A module for each source that is no file, whose COMMAND says all about it. One added here is found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..command import Command


@cache
def all_commands() -> Mapping[str, Command]:
    """The commands by name."""
    found: dict[str, Command] = {}
    for each in iter_modules(__path__):
        command: Command = import_module(f"{__name__}.{each.name}").COMMAND
        found[each.name] = command
    return found
