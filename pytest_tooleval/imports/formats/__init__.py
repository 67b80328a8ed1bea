"""A module for each format. One added here is found, and needs no other place.

- Recorded conversations: `reads(value)` recognises a file by its first record, which `WHAT` describes,
  and `read(path, records)` yields its conversations. `--tooleval-transcripts` reads all of these.
- `HELP` makes a module the command `tooleval import MODULE SOURCE`. It imports recorded conversations,
  or what `found(source)` finds there. `OPTIONS` of the command are further arguments of `found`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def formats_with(attribute: str) -> Iterator[tuple[str, ModuleType]]:
    """The names and modules of the formats that have this attribute."""
    for each in iter_modules(__path__):
        module = import_module(f"{__name__}.{each.name}")
        if hasattr(module, attribute):
            yield each.name, module
