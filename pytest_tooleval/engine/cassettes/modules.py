"""The modules that an agent imports, noted beside its recorded answers.

They are not part of the key, as which modules are loaded varies with the tests that run. When one has
changed, the replay goes on, and the run names it. The imports are read from the source: a strict replay
must not import the agent.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path

from ...writing import code_of


@functools.lru_cache
def imported_by(target: str, folder: Path) -> tuple[Path, ...]:
    """The files in this folder that the module of `module:function` imports, directly or not."""
    first = target.partition(":")[0]
    waiting, found = [first], dict[Path, None]()
    while waiting:
        name = waiting.pop()
        for file, package in _files(name, folder):
            if file not in found:
                found[file] = None
                waiting += _imports(file, package)
    own = {file for file, _ in _files(first, folder)}
    return tuple(file for file in found if file not in own)


def digests_of(files: Iterable[Path], beside: Path) -> dict[str, str]:
    """A digest for each file that can be read, by its path from a folder."""
    digests = ((os.path.relpath(file, beside).replace(os.sep, "/"), _digest(file)) for file in files)
    return {path: digest for path, digest in digests if digest}


def changed(recorded: Iterable[tuple[str, str]], beside: Path) -> list[str]:
    """The paths of the files that no longer have their digest."""
    return sorted({path for path, digest in recorded if _digest(beside / path) != digest})


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(code_of(file)).hexdigest()[:16]
    except OSError:
        return ""


def _files(name: str, folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The file of a module, and those of the packages that it is in, each with its package."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:end])
        if (package := place / "__init__.py").is_file():
            yield package, parts[:end]
        elif (module := place.with_name(f"{place.name}.py")).is_file():
            yield module, parts[: end - 1]


def _imports(file: Path, package: list[str]) -> Iterator[str]:
    """The modules, or names in modules, that a file of this package imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{each.name}".lstrip(".") for each in node.names)
