"""One of a run's processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass
class Process:
    """This process, and what it knows of the run's others; without xdist, it is the only one.

    `root` is the root folder, and `pytest` pytest's version. `keeps` is False if it must leave no
    files. `workers` is the number of xdist workers if it is one. In `ledger`, the processes record what
    they spend, and their answers in the folder `answers`.
    """

    root: Path
    started: datetime
    pytest: str
    keeps: bool = True
    workers: int = 0
    ledger: Path | None = None
    answers: Path | None = None

    @property
    def is_remote(self) -> bool:
        """True for a worker on another machine, which cannot reach the ledger."""
        return self.ledger is not None and not self.ledger.parent.is_dir()
