"""The project around a folder, as pytest finds it."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import Any

from iniconfig import IniConfig, ParseError

from ..engine.models.tables import ModelTables, read_tables
from ..errors import ConfigError
from ..history import Place, has_runs, place_of
from ..settings.options import HISTORY
from ..suite.discovery import is_searched
from ..text import printable

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


@dataclass(frozen=True)
class Project:
    """`root` is pytest's root folder if it is started in `folder`."""

    root: Path
    folder: Path

    @classmethod
    def around(cls, folder: Path | None = None) -> Project:
        """The project around a folder, by default the current one."""
        here = Path.cwd() if folder is None else Path(os.path.abspath(folder))
        return cls(_root(here), here)

    def ini(self, key: str) -> Any:
        """A value of the ini file; an empty text without one."""
        return _ini_in(self.root, key)

    def models(self) -> list[str]:
        """The models of the ini file, which a run without --tooleval-model asks."""
        entries = _words(self.ini("tooleval_model"))
        return [name.strip() for entry in entries for name in entry.split(",") if name.strip()]

    def tables(self) -> ModelTables:
        """The models' tables of the project, else of the folder itself."""
        tables = read_tables(self.root)
        return tables if tables.tables else read_tables(self.folder)

    @property
    def store_folder(self) -> Path:
        """The nearest `.tooleval` with runs, in this folder or above it; else the one in the root."""
        # Without an ini file, pytest's root depends on its arguments.
        stores = (place / ".tooleval" for place in (self.folder, *self.folder.parents))
        return next(filter(has_runs, stores), self.root / ".tooleval")

    def history(self, typed: str | None = None) -> Place:
        """Where the runs are: as typed, else by the ini file, else in the store. Raises ConfigError."""
        home = self.store_folder.parent
        name = typed if typed is not None else str(_ini_in(home, "tooleval_history") or ".tooleval")
        try:
            name = HISTORY.value(name) or ".tooleval"
        except ValueError as error:
            raise ConfigError(f"--tooleval-history={name}: {error}") from None
        return place_of(name, Path() if typed is not None else home)

    def suite_folder(self) -> Path:
        """Where a new suite goes, relative to this folder: here, or the first of the testpaths in it."""
        places = self._testpaths()
        inside = places and places[0].is_relative_to(self.folder)
        return places[0].relative_to(self.folder) if inside else Path()

    def why_uncollected(self) -> str:
        """Why pytest alone collects no suite in this folder, and what to do; empty if it does."""
        patterns = _words(self.ini("norecursedirs")) or _NOT_SEARCHED
        for name in self.folder.relative_to(self.root).parts:
            if not is_searched(name) or any(fnmatchcase(name, pattern) for pattern in patterns):
                return f"pytest does not search the folder {printable(name)}: move the file out of it"
        places = self._testpaths()
        if not places or any(self.folder.is_relative_to(place) for place in places):
            return ""
        names = ", ".join(printable(place.relative_to(self.root).as_posix()) for place in places)
        fix = "move it there, or pass its path"
        return f"pytest alone does not collect it, as testpaths is {names}: {fix}"

    def python_files(self) -> list[str]:
        """The patterns of the names of files with Python tests."""
        return _words(self.ini("python_files")) or ["test_*.py", "*_test.py"]

    def _testpaths(self) -> list[Path]:
        """The folders of the testpaths below the root."""
        patterns = [str(self.root / entry) for entry in _words(self.ini("testpaths"))]
        paths = (Path(each) for pattern in patterns for each in sorted(glob(pattern, recursive=True)))
        return [each for each in paths if each.is_dir() and each.is_relative_to(self.root)]


def _root(folder: Path) -> Path:
    folders = [folder, *folder.parents]
    for place in folders:
        if any(_holds(place / name, mark) for name, mark in _INI_FILES.items()):
            return place
    for name in ("pyproject.toml", "setup.py"):
        for place in folders:
            if (place / name).is_file():
                return place
    return folder


def _words(value: Any) -> list[str]:
    """The entries of an ini value: a text with quotes, or a list."""
    try:
        return shlex.split(value) if isinstance(value, str) else [*map(str, value)]
    except ValueError:  # pytest reports it
        return []


def _ini_in(root: Path, key: str) -> Any:
    """A value of the ini file in this folder."""
    file = next((root / name for name, mark in _INI_FILES.items() if _holds(root / name, mark)), None)
    try:
        return "" if file is None else _ini_value(file, key)
    except (OSError, ValueError, ParseError):  # pytest reports it
        return ""


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
