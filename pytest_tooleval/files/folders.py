"""Folders that git ignores."""

from __future__ import annotations

from pathlib import Path


def work_folder(root: Path) -> Path:
    """`.tooleval` in the root folder, made if needed and hidden from git."""
    return hidden_folder(root / ".tooleval")


def hidden_folder(folder: Path) -> Path:
    """The folder, made if needed and hidden from git."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    return folder
