"""Suite file names, and the folders that discovery skips."""

from __future__ import annotations

SUITE_ENDING = ".tooleval.json"
UNSEARCHED = ("node_modules", "__pycache__", "site-packages", "venv")


def is_searched(folder: str) -> bool:
    """True if suites are searched for in a folder with this name."""
    return not folder.startswith(".") and folder not in UNSEARCHED
