"""A module for each format of files, whose FORMAT says all about it. One added here is found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..format import Format


@cache
def all_formats() -> Mapping[str, Format]:
    """The formats by name, which is that of the module with hyphens."""
    formats: dict[str, Format] = {}
    for module in iter_modules(__path__):
        format: Format = import_module(f"{__name__}.{module.name}").FORMAT
        formats[module.name.replace("_", "-")] = format
    return formats
