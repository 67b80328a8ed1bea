"""A module for each source that is no file, whose COMMAND says all about it. One added here is found."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..command import Command


def names() -> list[str]:
    return [each.name for each in iter_modules(__path__)]


def command(name: str) -> Command:
    found: Command = import_module(f"{__name__}.{name}").COMMAND
    return found
