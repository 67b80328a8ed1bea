"""The cassettes of a run's suites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.folders import work_folder
from ..engine.files.appending import Appender
from ..engine.files.byte_locks import ByteLocks
from ..errors import ModelError
from ..suite.discovery import SUITE_ENDING

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import RecordMode


@dataclass(frozen=True, slots=True)
class Tapes:
    """Where answers are kept. `are_users` means in cassettes that the user asked for.

    `folder` finds the folder when the first answer may need it; it returns None to keep none.
    """

    folder: Callable[[], Path | None]
    record: RecordMode
    are_users: bool


class Cassettes:
    """Each suite's cassette, which has the suite's path relative to the root folder.

    `project` is the folder in which agents and their modules are found; None without agents. `started`
    is the time of the run.
    """

    def __init__(self, root: Path, tapes: Tapes, project: Path | None, started: str) -> None:
        self._root = root
        self._tapes = tapes
        self._project = project
        self._started = started
        self._of: dict[Path, Cassette] = {}
        self._appender = Appender()
        # Claims on questions, so that two runs with one cassette do not pay twice.
        self._claims = ByteLocks(lambda: work_folder(root) / "asking.lock")

    @cached_property
    def _folder(self) -> Path | None:
        return self._tapes.folder()

    def of(self, suite: Path | None) -> Cassette | None:
        """The cassette of the suite at this path; None if its answers are not kept."""
        if suite is None:
            return None
        if suite not in self._of:
            if self._folder is None:
                return None
            below = suite.relative_to(self._root) if suite.is_relative_to(self._root) else suite.name
            self._of[suite] = Cassette(
                self._folder / (str(below).removesuffix(SUITE_ENDING) + ".jsonl"),
                self._tapes.record,
                must_record=self._tapes.are_users,
                appender=self._appender,
                claims=self._claims,
                project=self._project,
                started=self._started,
            )
        return self._of[suite]

    def unusable(self, suites: Iterable[Path]) -> str:
        """Return a line for each cassette of these suites that cannot be used."""
        found = []
        for path in dict.fromkeys(suites):
            cassette = self.of(path)
            try:
                if cassette is not None:
                    cassette.require_reading()
            except ModelError as error:
                found.append(error.message)
        return "\n".join(found)

    @property
    def problems(self) -> list[str]:
        """Lines about cassettes that cannot be used."""
        return [line for cassette in self._of.values() for line in cassette.problems]

    @property
    def recorded(self) -> int:
        """The number of answers that this process has written to the user's cassettes."""
        return sum(each.written for each in self._of.values()) if self._tapes.are_users else 0

    def close(self) -> None:
        self._appender.close()
        self._claims.close()
