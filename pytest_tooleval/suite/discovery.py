"""Where suite files lie, and where nobody looks for them."""

from __future__ import annotations

SUITE_ENDING = ".tooleval.json"
UNSEARCHED = ("node_modules", "__pycache__", "site-packages", "venv")


def is_searched(folder: str) -> bool:
    """Whether suites are looked for in a folder of this name."""
    return not folder.startswith(".") and folder not in UNSEARCHED
