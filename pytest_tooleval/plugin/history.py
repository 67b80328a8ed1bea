"""Saves cases to the history during the run, so that a killed run keeps its results."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..engine.cassettes.folders import work_folder
from ..errors import ToolevalError, error_text, os_reason
from ..record.document import Document
from ..record.results import KeptCase
from .state import Observer, RunState, Wait

if TYPE_CHECKING:
    from ..history import History, RunWriter, Trends

_EVERY_S = 5.0


class Keeper(Observer):
    """Collects cases and writes them every few seconds. A history error never fails the run.

    Writing happens in its own thread: packing and disk access must not delay the tests, a slow case
    must not hold back earlier ones, and Ctrl-C interrupts only the main thread.
    """

    def __init__(self, state: RunState) -> None:
        # Whether the run was saved, and what could not be.
        self.is_saved = False
        self.unsaved = ""
        self._state = state
        self._cases: SimpleQueue[KeptCase] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._has_begun = threading.Event()
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._writer: RunWriter | None = None

    def waited(self, wait: Wait) -> None:
        """Load SQLite and read the git state while waiting for the first answer."""
        if not self._state.book.cases:
            from .. import history  # noqa: F401

            self._state.book.about()

    def case_done(self, case: KeptCase) -> None:
        """Save a case. Cases without a model were not evaluated, so they are not saved."""
        if not case.row.model or self.unsaved:
            return
        self._cases.put(case)
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="tooleval-history", daemon=True)
            thread.start()
            self._thread = thread
            # The first case begins the run. If the tests continued meanwhile, they and the thread would
            # compete for the interpreter lock at every step.
            self._has_begun.wait()

    def _run(self) -> None:
        try:
            self._write()
        finally:
            self._has_begun.set()
        while not self._over.wait(_EVERY_S):
            self._write()

    def _write(self) -> None:
        """Write all cases collected so far."""
        with self._writing:
            cases = []
            while not self._cases.empty():
                cases.append(self._cases.get())
            if not cases or self.unsaved:
                return
            try:
                if self._writer is None:
                    self._writer = self._history().begin(self._state.book.about())
                self._writer.add(cases)
            except Exception as error:  # whatever it is, the run's verdict does not depend on it
                self._fail(error)

    def finished(self) -> None:
        """Write the remaining cases, and how the run ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._write()
        book = self._state.book
        if self._writer is None or self.unsaved:
            return
        from ..history import NotStored

        try:
            self._writer.finish(book.about(), book.verdict.gates, book.verdict.comparison)
            self.is_saved = True
        except NotStored as error:
            self.is_saved, self.unsaved = True, str(error)
        except Exception as error:
            self._fail(error)

    def trends(self, document: Document) -> Trends | None:
        """The mean overall scores of recent runs per model and suite; None without a history."""
        self._write()
        try:
            return self._history().trends_for(document)
        except Exception:
            return None

    def _history(self) -> History:
        from ..history import History, place_of

        folder = work_folder(self._state.config.rootpath)
        return History(folder, place_of(self._state.settings.outputs.history, folder))

    def _fail(self, error: Exception) -> None:
        self.unsaved = f"the run was not saved in the history: {_reason(error)}"


def _reason(error: Exception) -> str:
    return os_reason(error) if isinstance(error, (ToolevalError, OSError)) else error_text(error)
