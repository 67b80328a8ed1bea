"""Applies a variant's changes to the tool answers of one trial."""

from __future__ import annotations

from ..record.transcript import CallStatus
from ..suite.altered import BEFORE, AlteredAnswers


class Alterations:
    """One trial's alterations, none if `altered` is None. Remembers which tools have answered."""

    def __init__(self, altered: AlteredAnswers | None) -> None:
        self._altered = altered
        self._answered: set[str] = set()
        self._checked: set[str] = set()

    def is_missing(self, tool: str, content: str, status: CallStatus | None) -> bool:
        """Whether an answer in an agent's run should have been altered, but was not.

        The toolbox gives its own answers the status `executed`. The content alone proves nothing,
        because any text could be the first half of a longer one.
        """
        altered = self._altered
        if altered is None or not altered.is_about(tool) or (altered.is_fault and tool in self._checked):
            return False
        self._checked.add(tool)
        return status != "executed" or not altered.shows_in(content)

    def is_about(self, tool: str) -> bool:
        return self._altered is not None and self._altered.is_about(tool)

    def answers_itself(self, tool: str) -> bool:
        """Whether this is the tool that the injected text asks for."""
        return self._altered is not None and tool == self._altered.asks_for

    def instead(self, tool: str) -> str | None:
        """The answer to give instead of running the call; None if the call runs."""
        if self._altered is None or not self._alters(tool) or self._altered.kind not in BEFORE:
            return None
        self._answered.add(tool)
        return BEFORE[self._altered.kind]

    def of(self, tool: str, content: str) -> str:
        """A source's answer as the model gets it, altered or unchanged."""
        alters = self._alters(tool)
        self._answered.add(tool)
        return self._altered.changed(content) if self._altered and alters else content

    def skip(self, tool: str) -> None:
        """Count an earlier answer, such as one in a transcript."""
        self._answered.add(tool)

    def _alters(self, tool: str) -> bool:
        altered = self._altered
        if altered is None or not altered.is_about(tool):
            return False
        return not altered.is_fault or tool not in self._answered
