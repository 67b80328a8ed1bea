"""Keeps each case in the history as soon as it is done, so that a killed run has its results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ToolevalError, error_text, os_reason
from ..record.document import Document
from ..record.results import KeptCase
from ..record.run import Run
from .observers import Observer, Wait
from .results import RunResults

if TYPE_CHECKING:
    from ..history import History, RunWriter, Trend


class HistoryWriter(Observer):
    """Appends each case to the run's file. A history error never fails the run.

    `store` is the project's `.tooleval`, and `place` the path or URL of its runs.
    """

    def __init__(self, results: RunResults, about: Callable[[], Run], folder: Path, place: str) -> None:
        # Whether the run was saved, and what could not be.
        self.is_saved = False
        self.unsaved = ""
        self._results = results
        self._about = about
        self._store = folder
        self._place = place
        self._cases: list[KeptCase] = []
        self._writer: RunWriter | None = None

    def waited(self, wait: Wait) -> None:
        """Load the history and read the git state while waiting for the first answer."""
        if not self._results.cases:
            from .. import history  # noqa: F401

            self._about()

    def case_done(self, case: KeptCase) -> None:
        """Save a case. Cases without a model were not evaluated, so they are not saved."""
        if case.row.model and not self.unsaved:
            self._cases.append(case)
            self._write()

    def _write(self) -> None:
        """Append the cases that are not in the file, which are several after Ctrl-C."""
        try:
            if self._cases and self._writer is None:
                self._writer = self._history().begin(self._about())
            if self._writer is not None:
                self._writer.add(self._cases)
                self._cases.clear()
        except Exception as error:  # whatever it is, the run's verdict does not depend on it
            self._fail(error)

    def finished(self) -> None:
        """Write how the run ended."""
        self._write()
        verdict = self._results.verdict
        if self._writer is None or self.unsaved:
            return
        try:
            self.unsaved = self._writer.finish(self._about(), verdict.gates, verdict.comparison)
            self.is_saved = True
        except Exception as error:
            self._fail(error)

    def keep(self) -> None:
        """Save a run that is over, in place of an earlier one with its id."""
        try:
            history, id = self._history(), self._about().id
            if history.has(id):
                history.delete(id)
        except Exception as error:
            self._fail(error)
            return
        self._cases = [case for case in self._results.cases.values() if case.row.model]
        self.finished()

    def trends(self, document: Document) -> list[Trend]:
        """The suites of a document over recent runs; none without a history."""
        try:
            return self._history().trends_for(document)
        except Exception:
            return []

    def _history(self) -> History:
        from ..history import History, place_of

        return History(self._store, place_of(self._place, self._store))

    def _fail(self, error: Exception) -> None:
        reason = os_reason(error) if isinstance(error, (ToolevalError, OSError)) else error_text(error)
        self.unsaved = f"the run was not saved in the history: {reason}"
