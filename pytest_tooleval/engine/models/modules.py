"""An agent's modules: its own, which is part of its answers' keys, and those that it imports.

Imported modules are recorded next to the answers, and not in the key, so that a missing answer can name
the module that has changed. Imports are read from the source, because a strict replay must not import
the agent, and because the loaded modules depend on which tests run.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ...writing import code_of

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = Path(os.__file__).parent
_LEFT_OUT = {"", __name__.partition(".")[0]}


def own_module(target: str, folder: Path | None) -> tuple[Path, Path] | None:
    """The file of `module:object`, and the folder it was found in: this one, or one of Python's."""
    name = target.partition(":")[0]
    files = ((_file(name, place), place) for place in _places(folder))
    return next(((file, place) for file, place in files if file is not None), None)


def imported_modules(target: str, folder: Path, files: Sequence[Path] = ()) -> dict[str, str]:
    """Fingerprints of the modules that an agent and these files import, directly or not.

    Without the agent's own module, installed ones and Python's. Paths are relative to the folder.
    """
    module = own_module(target, folder)
    places = [
        place
        for place in _places(folder)
        if _INSTALLED.isdisjoint(place.parts) and not place.is_relative_to(_STANDARD)
    ]
    names = [target.partition(":")[0]]
    for file in files:
        package = _package(file)
        names += [".".join(package), *_imports(file, package)]
    fingerprints: dict[str, str] = {}
    for file in _imported(names, places):
        is_own = module is not None and file == module[0]
        if not is_own and (path := path_from(folder, file)) and (code := fingerprint_of(file)):
            fingerprints[path] = code
    return fingerprints


def fingerprint_of(file: Path) -> str:
    """The start of the SHA-256 of a module's code; empty if it cannot be read."""
    try:
        return hashlib.sha256(code_of(file)).hexdigest()[:12]
    except OSError:
        return ""


@lru_cache(maxsize=4)
def syntax_tree(code: bytes) -> ast.Module:
    """The syntax tree of a module, which several readers share."""
    return ast.parse(code)


def short_name(modules: Mapping[str, str]) -> str:
    """A short name for these modules with these fingerprints."""
    return hashlib.sha256(repr(sorted(modules.items())).encode()).hexdigest()[:12]


def _places(folder: Path | None) -> list[Path]:
    places = [*([folder] if folder is not None else []), *map(Path, sys.path)]
    return list(dict.fromkeys(place.resolve() for place in places))


def path_from(folder: Path, file: Path) -> str:
    """The path of a file relative to a folder; empty if there is none."""
    try:
        return os.path.relpath(file, folder.resolve()).replace(os.sep, "/")
    except ValueError:  # on Windows, from one drive to another
        return ""


def _imported(names: Iterable[str], places: Sequence[Path]) -> Iterator[Path]:
    """The files of modules and of everything that they and their packages import from these places."""
    waiting, seen = [*names], set[str]()
    while waiting:
        parts = waiting.pop().split(".")
        if parts[0] in _LEFT_OUT:
            continue
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            files = (_file(name, place) for place in places if name not in seen)
            file = next(filter(None, files), None)
            seen.add(name)
            if file is not None:
                yield file
                is_package = file.name == "__init__.py"
                waiting += _imports(file, tuple(parts[: end if is_package else end - 1]))


def _file(name: str, place: Path) -> Path | None:
    path = place.joinpath(*name.split("."))
    files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next(filter(Path.is_file, files), None)


def _package(file: Path) -> tuple[str, ...]:
    folder = file.parent
    return (*_package(folder), folder.name) if (folder / "__init__.py").is_file() else ()


def _imports(file: Path, package: tuple[str, ...]) -> Sequence[str]:
    """The modules, or names in modules, that a file of this package imports."""
    try:
        return _imports_in(code_of(file), package)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return ()


@lru_cache(maxsize=1024)
def _imports_in(code: bytes, package: tuple[str, ...]) -> Sequence[str]:
    return tuple(_names(syntax_tree(code), package))


def _names(tree: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{each.name}".lstrip(".") for each in node.names)
        elif isinstance(node, ast.Assign) and "pytest_plugins" in map(ast.unparse, node.targets):
            strings = (each for each in ast.walk(node.value) if isinstance(each, ast.Constant))
            yield from (each.value for each in strings if isinstance(each.value, str))
