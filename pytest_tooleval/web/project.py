"""The project that the page's folder belongs to: its config and conftest files may lie above it."""

from __future__ import annotations

import os
from pathlib import Path

# By which pytest finds its root folder.
_MARKS = (
    "pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
)


def project_folders(folder: Path) -> list[Path]:
    """The folder and those above it in the same repository, the nearest first."""
    above = [folder, *folder.parents]
    for number, place in enumerate(above):
        if (place / ".git").exists():
            return above[: number + 1]
    return [folder]


def shown_from(folder: Path, file: Path | str) -> str:
    """How messages name a file of the project: relative to the folder, with `/`."""
    return Path(os.path.relpath(file, folder)).as_posix()


def root_above(folder: Path) -> Path | None:
    """A folder above this one that pytest would rather take for its root; None if there is none."""
    for place in project_folders(folder):
        if any((place / mark).is_file() for mark in _MARKS):
            return None if place == folder else place
    return None
