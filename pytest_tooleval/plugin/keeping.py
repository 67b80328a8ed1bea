"""Keeps the rows of a run in the history while it runs, so that a killed run leaves what it had."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from ..engine.answers import work_folder
from ..errors import ToolevalError

if TYPE_CHECKING:
    from ..history import RunWriter

_EVERY_S = 2.0

Row = Mapping[str, Any]


class Keeper:
    """Collects rows and writes them every few seconds. A history that fails never fails the run.

    A thread of its own writes: packing and the disk must not hold up the tests.
    """

    def __init__(self, root: Path, about: Callable[[], Mapping[str, Any]]) -> None:
        self._root = root
        self._about = about
        self._rows: list[Row] = []
        self._thread: ThreadPoolExecutor | None = None
        self._writer: RunWriter | None = None
        self._written = time.monotonic()
        self.problem = ""

    def add(self, row: Row) -> None:
        """Keep a packed row. Cases without a model were not evaluated and are not kept."""
        if not row["model"] or self.problem:
            return
        self._rows.append(row)
        if self._thread is None:
            # The first row already begins the run, while the others are waited for.
            self._flush()
        if time.monotonic() - self._written >= _EVERY_S:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._thread = self._thread or ThreadPoolExecutor(1, "tooleval-history")
            self._thread.submit(self._write, self._rows)
        self._rows = []
        self._written = time.monotonic()

    def _write(self, rows: Sequence[Row]) -> None:
        if self.problem:
            return
        # SQLite is loaded here, beside the run, and not while everybody waits for its start.
        from ..history import open_history

        try:
            if self._writer is None:
                self._writer = open_history(work_folder(self._root)).begin(self._about())
            self._writer.add(rows)
        except (ToolevalError, OSError) as error:
            self._fail(error)

    def finish(
        self, about: Mapping[str, Any], gates: Sequence[Row], comparison: Mapping[str, Any] | None
    ) -> None:
        """Write what is left, and how the run ended."""
        self._flush()
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
        if self._writer is None or self.problem:
            return
        try:
            self._writer.finish(about, gates, comparison)
        except (ToolevalError, OSError) as error:
            self._fail(error)

    def trends(self, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """Per model and suite the overall mean of the last runs, for the report; None without any."""
        from ..history import open_history

        try:
            return open_history(work_folder(self._root)).trends_for(document)
        except (ToolevalError, OSError):
            return None

    def _fail(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = f"the run could not be kept in the history: {reason}"
