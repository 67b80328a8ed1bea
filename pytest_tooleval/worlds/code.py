"""The code of a world as a hash, for cassette keys: its module, or its whole package."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..writing import code_of


def code_hash(target: str, folder: Path) -> str | None:
    """Return the hash of the user's code behind `module:name`; None for an installed module.

    Other modules that it imports are not part of it, unless they belong to the same package.
    """
    module = target.partition(":")[0]
    if (file := folder / f"{module}.py").is_file():
        return hashlib.sha256(code_of(file)).hexdigest()[:16]
    top = module.partition(".")[0]
    package = folder / top if (folder / top).is_dir() else _project_package(top)
    if package is None:
        return None
    files = sorted(package.rglob("*.py")) if package.is_dir() else [package]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(package.parent).as_posix().encode() + b"\0" + code_of(file))
    return digest.hexdigest()[:16]


@cache
def _project_package(top: str) -> Path | None:
    """Return the folder or file of a module that Python finds in the user's project."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.has_location or top in sys.stdlib_module_names:
        return None
    file = Path(spec.origin)
    installed = map(Path, (sysconfig.get_path(name) for name in ("purelib", "platlib")))
    if top == __name__.partition(".")[0] or any(file.is_relative_to(each) for each in installed):
        return None
    return file.parent if spec.submodule_search_locations else file


def names_in(kinds: Iterable[type], modules: Collection[ModuleType]) -> set[str]:
    """Return the names in the code of classes, and of the modules' functions and classes named there."""
    left: list[Any] = [base for kind in kinds for base in kind.__mro__]
    names: set[str] = set()
    seen: set[type] = set()
    while left:
        value = left.pop()
        if isinstance(value, CodeType):
            new = {*value.co_names} - names
            names |= new
            left += [*value.co_consts, *(vars(each).get(name) for name in new for each in modules)]
        elif isinstance(value, type):
            if value not in seen and any(value.__module__ == each.__name__ for each in modules):
                seen.add(value)
                left += vars(value).values()
        elif isinstance(value, property):
            left.append(value.fget)
        elif isinstance(value, (FunctionType, MethodType)) or hasattr(value, "__wrapped__"):
            left.append(getattr(inspect.unwrap(value), "__code__", None))
    return names
