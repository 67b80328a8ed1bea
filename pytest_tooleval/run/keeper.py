"""Keeps each case in the history as soon as it is done, so that a killed run has its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.cassettes.folders import work_folder
from ..errors import ToolevalError, error_text, os_reason
from ..record.document import Document
from ..record.results import KeptCase
from .eval_run import EvalRun
from .observers import Observer, Wait

if TYPE_CHECKING:
    from ..history import History, RunWriter, Trend


class Keeper(Observer):
    """Appends each case to the run's file. A history error never fails the run."""

    def __init__(self, run: EvalRun) -> None:
        # Whether the run was saved, and what could not be.
        self.is_saved = False
        self.unsaved = ""
        self._run = run
        self._cases: list[KeptCase] = []
        self._writer: RunWriter | None = None

    def waited(self, wait: Wait) -> None:
        """Load the history and read the git state while waiting for the first answer."""
        if not self._run.book.cases:
            from .. import history  # noqa: F401

            self._run.about()

    def case_done(self, case: KeptCase) -> None:
        """Save a case. Cases without a model were not evaluated, so they are not saved."""
        if case.row.model and not self.unsaved:
            self._cases.append(case)
            self._write()

    def _write(self) -> None:
        """Append the cases that are not in the file, which are several after Ctrl-C."""
        try:
            if self._cases and self._writer is None:
                self._writer = self._history().begin(self._run.about())
            if self._writer is not None:
                self._writer.add(self._cases)
                self._cases.clear()
        except Exception as error:  # whatever it is, the run's verdict does not depend on it
            self._fail(error)

    def finished(self) -> None:
        """Write how the run ended."""
        self._write()
        run, verdict = self._run, self._run.book.verdict
        if self._writer is None or self.unsaved:
            return
        try:
            self.unsaved = self._writer.finish(run.about(), verdict.gates, verdict.comparison)
            self.is_saved = True
        except Exception as error:
            self._fail(error)

    def trends(self, document: Document) -> list[Trend]:
        """The suites of a document over recent runs; none without a history."""
        try:
            return self._history().trends_for(document)
        except Exception:
            return []

    def _history(self) -> History:
        from ..history import History, place_of

        folder = work_folder(self._run.process.root)
        return History(folder, place_of(self._run.settings.outputs.history, folder))

    def _fail(self, error: Exception) -> None:
        reason = os_reason(error) if isinstance(error, (ToolevalError, OSError)) else error_text(error)
        self.unsaved = f"the run was not saved in the history: {reason}"
