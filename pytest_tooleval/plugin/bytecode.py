"""Lets Python load this package's other modules from its normal bytecode.

pytest rewrites assertions in all modules of a plugin's distribution, and stores its own bytecode. If it
cannot store it, as with PYTHONDONTWRITEBYTECODE, it compiles them all in each run. Without this module,
a short run then takes 1.5 times as long, and otherwise 1.1 times (tests/benchmarks/README.md). None of
our assertions need rewriting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PACKAGE = __name__.partition(".")[0] + "."


class _OwnModules:
    """A module finder that comes before pytest's."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE) else None


def use_own_bytecode() -> None:
    """Load this package's modules from their normal bytecode, from now on."""
    if _OwnModules not in sys.meta_path:
        sys.meta_path.insert(0, _OwnModules)


def undo_own_bytecode() -> None:
    """Undo `use_own_bytecode` at the end of the run."""
    if _OwnModules in sys.meta_path:
        sys.meta_path.remove(_OwnModules)


use_own_bytecode()
