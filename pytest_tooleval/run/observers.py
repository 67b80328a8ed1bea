"""Who follows a run, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from ..record.events import Estimated
from ..record.results import KeptCase


class Wait(NamedTuple):
    """A wait for one answer: `seconds` so far, and other cases `sent` ahead.

    `answered` counts those of them that have their answers.
    """

    seconds: float
    sent: int
    answered: Callable[[], int]


class Observer:
    """Follows a run. Subclasses override the methods for events that they need."""

    def warned(self, text: str) -> None:
        """Called when something limits the run."""

    def gates_cannot_pass(self, lines: Sequence[str]) -> None:
        """Called before any request, with a line for each gate that the cases cannot pass."""

    def estimated(self, estimated: Estimated) -> None:
        """Called instead of a run with --tooleval-estimate."""

    def waited(self, wait: Wait) -> None:
        """Called repeatedly while waiting for one answer."""

    def case_done(self, case: KeptCase) -> None:
        """Called when a case has its result, and again after each rerun."""

    def decided(self) -> None:
        """Called when all cases are done and the run has its verdict."""

    def finished(self) -> None:
        """Called when the run is over, even if it was cut short."""


class Observers(Observer):
    """Several observers, called in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[Observer] = []

    def add(self, observer: Observer) -> None:
        self._all.append(observer)

    def warned(self, text: str) -> None:
        for each in self._all:
            each.warned(text)

    def gates_cannot_pass(self, lines: Sequence[str]) -> None:
        for each in self._all:
            each.gates_cannot_pass(lines)

    def estimated(self, estimated: Estimated) -> None:
        for each in self._all:
            each.estimated(estimated)

    def waited(self, wait: Wait) -> None:
        for each in self._all:
            each.waited(wait)

    def case_done(self, case: KeptCase) -> None:
        for each in self._all:
            each.case_done(case)

    def decided(self) -> None:
        for each in self._all:
            each.decided()

    def finished(self) -> None:
        with ExitStack() as stack:  # each of them, even if Ctrl-C interrupts another one
            for each in reversed(self._all):
                stack.callback(each.finished)
