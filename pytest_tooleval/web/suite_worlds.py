"""Which worlds of a suite the page may make: not any code that a body names.

A suite that is saved is as trusted as code. One that comes with a request may be pasted from anywhere.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..suite.source import Finding
from ..suite.source import Loc

_OWN = "pytest_tooleval.worlds."
_OURS = {_OWN + "bfcl:BFCL", _OWN + "tau2:Airline", _OWN + "tau2:Retail"}
_REFUSED = (
    "until the saved file names it, the page makes only a class or function defined in a module beside "
    "the suite; write this world into the file yourself"
)


def worlds_of(data: Any) -> Iterator[tuple[Loc, str]]:
    """Each world that the data of a suite names, and where."""
    if not isinstance(data, dict):
        return
    cases = data.get("test_cases")
    numbered = enumerate(cases if isinstance(cases, list) else ())
    holders: list[tuple[Loc, Any]] = [((), data), *((("test_cases", i), case) for i, case in numbered)]
    for loc, holder in holders:
        target = holder.get("world") if isinstance(holder, dict) else None
        if isinstance(target, str):
            yield (*loc, "world"), target


def untrusted_worlds(data: Any, folder: Path, saved: Collection[str]) -> list[Finding]:
    """Worlds that are neither in the saved file, nor defined in a module beside it, nor ours."""
    return [
        Finding(loc, _REFUSED)
        for loc, target in worlds_of(data)
        if target not in saved and target not in _OURS and not _is_beside(target, folder)
    ]


def _is_beside(target: str, folder: Path) -> bool:
    """Whether a file in the folder defines it itself: what it imports is other people's code."""
    module, _, name = target.partition(":")
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
        tree = ast.parse((folder / f"{module}.py").read_bytes())
        return any(
            isinstance(each, (ast.ClassDef, ast.FunctionDef)) and each.name == name for each in tree.body
        )
    return False
