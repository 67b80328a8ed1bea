"""Keeps the rows of a run in the history while it runs, so that a killed run leaves what it had."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING
from typing import Any

import msgspec

from ..engine.cassettes.folders import work_folder
from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.document import Document
from ..record.encoding import to_json
from ..record.gates import Gate
from ..record.results import CaseResult
from ..record.results import KeptCase
from ..record.run import Run
from ..rows import pack

if TYPE_CHECKING:
    from ..history import RunWriter

_EVERY_S = 5.0


def as_json(value: Any) -> Any:
    return msgspec.json.decode(to_json(value))


class Keeper:
    """Collects rows and writes them every few seconds. A history that fails never fails the run.

    A thread of its own writes: packing and the disk must not hold up the tests, and a case that takes
    minutes must not hold back the rows of those before it.
    """

    def __init__(self, root: Path, about: Callable[[], Run]) -> None:
        self._root = root
        self._about = about
        self._rows: SimpleQueue[KeptCase] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._writer: RunWriter | None = None
        self.problem = ""

    def add(self, case: KeptCase) -> None:
        """Keep a case. Cases without a model were not evaluated and are not kept."""
        if not case.row.model or self.problem:
            return
        self._rows.put(case)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tooleval-history", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        # The first row already begins the run, while the others are waited for.
        self._write()
        while not self._over.wait(_EVERY_S):
            self._write()

    def _write(self) -> None:
        """Write all rows that have come so far."""
        # SQLite is loaded here, beside the run, and not while everybody waits for its start.
        from ..history import open_history

        with self._writing:
            rows = []
            while not self._rows.empty():
                rows.append(self._rows.get())
            if not rows or self.problem:
                return
            try:
                if self._writer is None:
                    self._writer = open_history(work_folder(self._root)).begin(as_json(self._about()))
                self._writer.add(
                    [pack(msgspec.json.decode(kept.json, type=CaseResult)) for kept in rows]
                )
            except (ToolevalError, OSError) as error:
                self._fail(error)

    def finish(self, about: Run, gates: Sequence[Gate], comparison: Comparison | None) -> None:
        """Write what is left, and how the run ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._write()
        if self._writer is None or self.problem:
            return
        try:
            self._writer.finish(*as_json([about, gates, comparison]))
        except (ToolevalError, OSError) as error:
            self._fail(error)

    def trends(self, document: Document) -> dict[str, Any] | None:
        """Per model and suite the overall mean of the last runs, for the report; None without any."""
        from ..history import open_history

        self._write()
        try:
            return open_history(work_folder(self._root)).trends_for(as_json(document))
        except (ToolevalError, OSError):
            return None

    def _fail(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = f"the run could not be kept in the history: {reason}"
