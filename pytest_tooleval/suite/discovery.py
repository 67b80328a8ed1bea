"""The names of suite files, and the folders that are not searched for them."""

from __future__ import annotations

SUITE_ENDING = ".tooleval.json"
UNSEARCHED = ("node_modules", "__pycache__", "site-packages", "venv")


def is_searched(folder: str) -> bool:
    """Whether to look for suites in a folder with this name."""
    return not folder.startswith(".") and folder not in UNSEARCHED
