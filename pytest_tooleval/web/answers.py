"""Where a run keeps its answers: a folder of its own below `.tooleval`, as every run of pytest has."""

from __future__ import annotations

import secrets
from pathlib import Path

from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.folders import make_room
from ..engine.cassettes.folders import new_run
from ..suite.discovery import SUITE_ENDING


class RunAnswers:
    """The cassettes of a run; without any where nothing can be written."""

    def __init__(self, root: Path) -> None:
        self._cassettes: dict[str, Cassette] = {}
        self._folder: Path | None = None
        try:
            make_room(root)
        except OSError:
            return
        folder = new_run(root)
        # Two runs may begin in the same millisecond of the same process.
        self._folder = folder.with_name(f"{folder.name}-{secrets.token_hex(3)}")

    def of(self, file: str) -> Cassette | None:
        """The cassette of a suite file."""
        if self._folder is None:
            return None
        if file not in self._cassettes:
            path = self._folder / (file.removesuffix(SUITE_ENDING) + ".jsonl")
            self._cassettes[file] = Cassette(path, "new", existed=False)
        return self._cassettes[file]
