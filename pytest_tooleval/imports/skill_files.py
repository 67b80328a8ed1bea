"""The files of agent skills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SKILL_FILE = "SKILL.md"
_NOT_SEARCHED = {".git", "node_modules"}


def skill_files(folder: Path) -> Iterator[Path]:
    """The files of skills in the order of their paths. The folder of a skill is not searched further."""
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if SKILL_FILE in files and real not in seen:
            yield Path(place) / SKILL_FILE
        if SKILL_FILE in files or real in seen:
            folders.clear()
        seen.add(real)
        folders[:] = sorted(set(folders) - _NOT_SEARCHED)
