"""The project's root folder and models, as pytest finds them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from iniconfig import IniConfig
from iniconfig import ParseError

from ..errors import ConfigError
from ..history import Place
from ..history import place_of
from ..verdicts.options import HISTORY

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


def ini_models(root: Path) -> list[str]:
    """The models of the ini file, which a run without --tooleval-model asks."""
    value = ini_value(root, "tooleval_model")
    try:
        entries = shlex.split(value) if isinstance(value, str) else map(str, value)
    except ValueError:  # pytest reports it
        return []
    return [name.strip() for entry in entries for name in entry.split(",") if name.strip()]


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
