"""One of a run's processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass
class Process:
    """This process, and what it knows of the run's others; without xdist, it is the only one.

    `root` is the root folder, and `pytest_version` pytest's. `has_paths` is True if the command line
    names some. `leaves_files` is False if it must not. An xdist worker has a `number`, from 0, and knows
    how many `workers` there are. In `ledger_path`, the processes record what they spend, and their
    answers in the `answers_folder`.
    """

    root: Path
    started: datetime
    pytest_version: str
    has_paths: bool = False
    leaves_files: bool = True
    workers: int = 0
    number: int = 0
    ledger_path: Path | None = None
    answers_folder: Path | None = None

    @property
    def is_worker(self) -> bool:
        return self.workers > 0

    @property
    def store_folder(self) -> Path:
        """The folder for what runs leave in the project."""
        return self.root / ".tooleval"

    def cases_path(self, by: object) -> Path | None:
        """The file in which a worker leaves cases for the controller; None if there are no workers."""
        return None if self.ledger_path is None else self.ledger_path.with_name(f"cases-{by}")

    @property
    def is_remote(self) -> bool:
        """True for a worker on another machine, which cannot reach the ledger."""
        return self.ledger_path is not None and not self.ledger_path.parent.is_dir()
