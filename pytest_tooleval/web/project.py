"""The root folder of the project, as pytest finds it: history, config and node ids hang on it."""

from __future__ import annotations

from pathlib import Path

# The files by which pytest finds its root, and what they hold if they are meant for it.
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
    """The root folder that pytest takes when it is started in this one."""
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
