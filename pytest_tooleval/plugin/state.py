"""What the observers of a run see, and when they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest

from ..record.events import Estimated
from ..record.results import CaseRow, KeptCase
from ..run.book import RunBook
from ..run.facts import Facts
from ..settings.parts import Settings

if TYPE_CHECKING:
    from ..run.place import CasePlace


@dataclass(frozen=True)
class RunState:
    """A run: its settings, its results, and what else is known of it."""

    config: pytest.Config
    settings: Settings
    facts: Facts
    book: RunBook

    def row_of(self, report: pytest.TestReport | pytest.CollectReport) -> CaseRow | None:
        """The row that a report carried, if any. An xdist worker passes it on instead."""
        kept = self.book.cases.get(report.nodeid) if hasattr(report, "tooleval") else None
        return kept.row if kept else None

    @property
    def is_unjudged(self) -> bool:
        """True if there is something to judge, but the run ended before that."""
        asked = bool(self.settings.judging.gates or self.settings.judging.baseline)
        return asked and bool(self.book.cases) and not self.facts.is_complete


class Wait(NamedTuple):
    """A wait for one answer: `seconds` so far, and the cases without it (`waiting`).

    `answered` counts those that are answered ahead.
    """

    seconds: float
    waiting: int
    answered: Callable[[], int]


class Observer:
    """Follows a run. Subclasses override the methods for events that they need."""

    def planned(self, lines: Sequence[str]) -> None:
        """Called before any request, with lines that report what the gates can decide."""

    def estimated(self, estimated: Estimated) -> None:
        """Called instead of a run with --tooleval-estimate."""

    def waited(self, wait: Wait) -> None:
        """Called repeatedly while waiting for one answer."""

    def stepped(self, undecided: int) -> None:
        """Called after each step of --tooleval-trials=auto, with the number of undecided cases."""

    def case_done(self, case: KeptCase) -> None:
        """Called when a case has its result, and again after each rerun."""

    def judged(self) -> None:
        """Called when all cases are done and the run has its verdict."""

    def finished(self) -> None:
        """Called when the run is over, even if it was cut short."""


class Session(Protocol):
    """What a process's cases need of their run."""

    state: RunState

    def foresee(self, places: Iterable[CasePlace]) -> None:
        """Report what the gates can decide with these cases."""

    def waited(self, wait: Wait) -> None:
        """Called repeatedly while waiting for one answer."""

    def undecided(self, rows: Sequence[CaseRow]) -> set[str]:
        """With --tooleval-trials=auto: the cases whose verdicts more trials may decide."""
