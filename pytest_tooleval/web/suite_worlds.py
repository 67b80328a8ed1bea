"""Which worlds the page may create.

A saved suite is as trusted as code. One in a request may be pasted from anywhere.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ..findings import Finding, Loc

_OWN = "pytest_tooleval.worlds."
_OURS = {_OWN + "tau2:Airline", _OWN + "tau2:Retail"}
_REFUSED = (
    "the page only creates a world that is defined in a module in the suite's folder, or that the saved "
    "file names; add this world to the file yourself"
)


def worlds_of(data: Any) -> Iterator[tuple[Loc, str]]:
    """Each world in the data of a suite, and where."""
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
    """Worlds that are not in the saved file, not defined in its folder, and not ours."""
    return [
        Finding(loc, _REFUSED)
        for loc, target in worlds_of(data)
        if target not in saved and target not in _OURS and not _is_beside(target, folder)
    ]


def _is_beside(target: str, folder: Path) -> bool:
    """Whether a module in the folder defines it, rather than importing it."""
    module, _, name = target.partition(":")
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
        tree = ast.parse((folder / f"{module}.py").read_bytes())
        return any(
            isinstance(each, (ast.ClassDef, ast.FunctionDef)) and each.name == name for each in tree.body
        )
    return False
