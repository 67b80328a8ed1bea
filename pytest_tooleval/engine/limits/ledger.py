"""A file that the processes of a run share: a line of JSON for each event, and locks."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files.appending import Appender
from ...files.locks import ByteLocks
from ...record.run import Payments

_PAUSE_S = 0.001


class Ledger:
    """Events in the order of their writing. The locks are in a file beside it.

    A process keeps the byte behind its id locked, so others see that it is alive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._locks = ByteLocks(lambda: path.with_name(f"{path.name}.lock"))

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
        self._locks.take(1 + os.getpid())
        while self._locks.take(0) is False:
            time.sleep(_PAUSE_S)
        try:
            yield
        finally:
            self._locks.drop(0)

    def is_alive(self, process: int) -> bool:
        if process == os.getpid():
            return True
        has_ended = self._locks.take(1 + process)
        self._locks.drop(1 + process)
        return not has_ended


class SharedSpending:
    """What the processes that share a ledger spent, by model label; nothing without a ledger.

    For xdist's controller, which waits for its workers, and must not load what `Spending` needs.
    """

    def __init__(self, path: Path | None) -> None:
        self._ledger = None if path is None else Ledger(path)
        self._spent: dict[str, Payments] = {}

    @property
    def by_model(self) -> dict[str, Payments]:
        for event in self._ledger.new_events() if self._ledger is not None else ():
            if isinstance(event, list):
                count(event, self._spent)
        return dict(self._spent)


def count(event: list[Any], spent: dict[str, Payments]) -> None:
    """Add the cost of an answer, which is a list in the ledger, to what was spent on its model."""
    model, *cost = event
    spent[model] = spent.get(model, Payments()) + Payments.of(*cost)
