"""The cassettes of a run's suites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path

from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.folders import answers_folder, make_room
from ..engine.models.modules import fingerprint_of
from ..errors import ModelError
from ..files.appending import Appender
from ..files.folders import work_folder
from ..files.locks import ByteLocks
from ..settings.settings import Asking
from ..suite.discovery import SUITE_ENDING
from .observers import Observers
from .process import Process


class Cassettes:
    """Each suite's cassette, which has the suite's path relative to the root folder."""

    def __init__(self, process: Process, asking: Asking, observers: Observers) -> None:
        self._process = process
        self._asking = asking
        self._observers = observers
        self._of: dict[Path, Cassette] = {}
        self._appender = Appender()
        self._fingerprint = cache(fingerprint_of)
        # Claims on questions, so that two runs with one cassette do not pay twice.
        self._claims = ByteLocks(lambda: work_folder(process.root) / "asking.lock")

    @cached_property
    def _folder(self) -> Path | None:
        """The folder for answers: the user's, or the run's own below `.tooleval`; None to keep none."""
        asking, process = self._asking, self._process
        if asking.cassette_path is not None:
            return asking.cassette_path
        # Test discovery in an editor must leave no files behind.
        if asking.transcripts is not None or not process.leaves_files:
            return None
        folder = process.answers_folder or answers_folder(process.root, resume=asking.resume)
        try:
            make_room(process.root)
        except OSError as error:
            self._observers.warned(f"answers cannot be saved, so this run cannot be resumed: {error}")
        return folder

    def of(self, suite: Path) -> Cassette | None:
        """The cassette of the suite at this path; None if its answers are not kept."""
        if suite not in self._of:
            if self._folder is None:
                return None
            process, are_users = self._process, self._asking.cassette_path is not None
            below = suite.relative_to(process.root) if suite.is_relative_to(process.root) else suite.name
            mode = self._asking.record if are_users else "new"
            started = process.started.isoformat(timespec="milliseconds")
            is_shared = are_users or self._asking.resume or process.answers_folder is not None
            self._of[suite] = Cassette(
                self._folder / (str(below).removesuffix(SUITE_ENDING) + ".jsonl"),
                may_ask=mode != "none",
                since=started if mode == "all" else "",
                must_record=are_users,
                appender=self._appender,
                claims=self._claims if is_shared else None,
                fingerprint=self._fingerprint,
            )
        return self._of[suite]

    def unusable(self, suites: Iterable[Path]) -> str:
        """Return a line for each cassette of these suites that cannot be used."""
        messages = []
        for path in dict.fromkeys(suites):
            cassette = self.of(path)
            try:
                if cassette is not None:
                    cassette.require_reading()
            except ModelError as error:
                messages.append(error.message)
        return "\n".join(messages)

    @property
    def problems(self) -> list[str]:
        """Lines about cassettes that are incomplete, or were asked again."""
        return [line for cassette in self._of.values() for line in cassette.problems]

    @property
    def writes(self) -> int:
        """The number of answers that this process has written to the user's cassettes."""
        return sum(each.written for each in self._of.values()) if self._asking.cassette_path else 0

    def close(self) -> None:
        self._appender.close()
        self._claims.close()
