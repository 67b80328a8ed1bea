"""Lets Python load this package's other modules from the bytecode that it has.

pytest rewrites the assertions of every module of a plugin's distribution, and keeps bytecode of its own
for that: without it, as after an installation or where PYTHONDONTWRITEBYTECODE is set, a run compiles
all of them anew, which takes half a second. No assertion here is one of a test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.machinery import PathFinder
from types import ModuleType

_PACKAGE = __name__.partition(".")[0] + "."


class _OwnModules:
    """Stands before pytest's hook among the finders of modules."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE) else None


sys.meta_path.insert(0, _OwnModules)
