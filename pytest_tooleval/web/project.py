"""The project's root folder, as pytest finds it; history, config and node ids depend on it."""

from __future__ import annotations

from pathlib import Path

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


def _holds(file: Path, mark: str) -> bool:
    try:
        return file.is_file() and mark.encode() in file.read_bytes()
    except OSError:
        return False
