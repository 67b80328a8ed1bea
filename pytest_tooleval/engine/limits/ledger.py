"""A file that the processes of a run share: a line of JSON for each event, and locks."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from ..cassettes.appending import Appender
from ..cassettes.byte_locks import lock, unlock, wait_for_lock


class Ledger:
    """Events in the order of their writing. The locks are in a file beside it.

    A process keeps the byte behind its id locked, so others see that it is alive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._locks: FileIO | None = None

    def append(self, event: object) -> bool:
        """Write an event. Returns False if the file cannot be written."""
        if not self._path.parent.is_dir():
            return False
        try:
            with contextlib.closing(Appender()) as appender:
                appender.append(self._path, f"{json.dumps(event)}\n".encode())
        except OSError:
            return False
        return True

    def new_events(self) -> Iterator[Any]:
        """The events since the last call, of all processes."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read += len(whole + end)
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):  # a line cut short by a full disk
                yield json.loads(line)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all other processes out; on a file system without locks, none."""
        file = self._lock_file()
        try:
            if file is not None:
                wait_for_lock(file, 0)
        except OSError:
            file = None
        try:
            yield
        finally:
            if file is not None:
                unlock(file, 0)

    def _lock_file(self) -> FileIO | None:
        if self._locks is None:
            with contextlib.suppress(OSError):
                self._locks = FileIO(self._path.with_name(f"{self._path.name}.lock"), "a+")
                lock(self._locks, 1 + os.getpid())
        return self._locks

    def is_alive(self, process: int) -> bool:
        if process == os.getpid() or self._locks is None:
            return True
        try:
            lock(self._locks, 1 + process)
        except OSError:
            return True
        unlock(self._locks, 1 + process)
        return False
