"""The project's root folder and models, as pytest finds them."""

from __future__ import annotations

import os
import shlex
import sys
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import Any

from iniconfig import IniConfig, ParseError

from .engine.models.tables import ModelTables, read_tables
from .errors import ConfigError
from .history import Place, place_of
from .suite.discovery import is_searched
from .text import printable
from .verdicts.options import HISTORY

# The files by which pytest finds its root, and what they must contain.
_INI_FILES = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
# pytest's own default of norecursedirs.
_NOT_SEARCHED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


def pytest_root(folder: Path) -> Path:
    """The root folder if pytest is started in `folder`."""
    folders = [folder, *folder.parents]
    for place in folders:
        if any(_holds(place / name, mark) for name, mark in _INI_FILES.items()):
            return place
    for name in ("pyproject.toml", "setup.py"):
        for place in folders:
            if (place / name).is_file():
                return place
    return folder


def model_tables(folder: Path) -> ModelTables:
    """The models' tables of the project, else of the folder itself."""
    tables = read_tables(pytest_root(folder))
    return tables if tables.tables else read_tables(folder)


def ini_models(root: Path) -> list[str]:
    """The models of the ini file, which a run without --tooleval-model asks."""
    entries = _words(ini_value(root, "tooleval_model"))
    return [name.strip() for entry in entries for name in entry.split(",") if name.strip()]


def suite_folder(folder: Path) -> Path:
    """Where a suite made in `folder` goes: there, or into the first of the testpaths if none has it."""
    here = Path(os.path.abspath(folder))
    places = _testpaths(pytest_root(here))
    if not places or any(here.is_relative_to(place) for place in places):
        return folder
    return Path(os.path.relpath(places[0], here))


def why_uncollected(file: Path) -> str:
    """Why pytest alone does not collect a suite, and what to do; empty if it does."""
    file = Path(os.path.abspath(file))
    root = pytest_root(file.parent)
    patterns = _words(ini_value(root, "norecursedirs")) or _NOT_SEARCHED
    for name in file.parent.relative_to(root).parts:
        if not is_searched(name) or any(fnmatchcase(name, pattern) for pattern in patterns):
            return f"pytest does not search the folder {printable(name)}: move the file out of it"
    places = _testpaths(root)
    if not places or any(file.is_relative_to(place) for place in places):
        return ""
    names = ", ".join(printable(place.relative_to(root).as_posix()) for place in places)
    return f"pytest alone does not collect it, as testpaths is {names}: move it there, or pass its path"


def _testpaths(root: Path) -> list[Path]:
    """The folders of the testpaths below the root."""
    entries = _words(ini_value(root, "testpaths"))
    found = (Path(each) for entry in entries for each in sorted(glob(str(root / entry), recursive=True)))
    return [each for each in found if each.is_dir() and each.is_relative_to(root)]


def _words(value: Any) -> list[str]:
    """The entries of an ini value: a text with quotes, or a list."""
    try:
        return shlex.split(value) if isinstance(value, str) else [*map(str, value)]
    except ValueError:  # pytest reports it
        return []


def ini_value(root: Path, key: str) -> Any:
    """A value of the ini file in this root folder; an empty text without one."""
    file = next((root / name for name, mark in _INI_FILES.items() if _holds(root / name, mark)), None)
    try:
        return "" if file is None else _ini_value(file, key)
    except (OSError, ValueError, ParseError):  # pytest reports it
        return ""


def history_place(root: Path, typed: str | None = None) -> Place:
    """Where the runs of a project are: as typed, else by the ini file, else in its `.tooleval`.

    Raises ConfigError.
    """
    name = typed if typed is not None else str(ini_value(root, "tooleval_history") or ".tooleval")
    try:
        name = HISTORY.value(name) or ".tooleval"
    except ValueError as error:
        raise ConfigError(f"--tooleval-history={name}: {error}") from None
    return place_of(name, Path() if typed is not None else root)


def _ini_value(file: Path, key: str) -> Any:
    if file.suffix != ".toml":
        section = _INI_FILES[file.name].strip("[]") or "pytest"
        return IniConfig(str(file)).get(section, key, "")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    table = data.get("tool", {}).get("pytest", data.get("pytest", {}))
    return {**table, **table.get("ini_options", {})}.get(key, "")


def _holds(file: Path, mark: str) -> bool:
    try:
        return file.is_file() and mark.encode() in file.read_bytes()
    except OSError:
        return False
