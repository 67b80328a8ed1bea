"""What a variant does to the answers of tools in one trial, which counts the answers of each tool."""

from __future__ import annotations

from ..suite.altered import BEFORE
from ..suite.altered import AlteredAnswers


class Alterations:
    """The altered answers of one trial; none if nothing is altered."""

    def __init__(self, altered: AlteredAnswers | None) -> None:
        self._altered = altered
        self._answered: set[str] = set()
        self._checked: set[str] = set()

    def is_missing(self, tool: str, content: str) -> bool:
        """Whether an agent's own answer should have been altered, but was not."""
        altered = self._altered
        if altered is None or not altered.is_about(tool) or (altered.is_fault and tool in self._checked):
            return False
        self._checked.add(tool)
        return not altered.shows_in(content)

    def is_about(self, tool: str) -> bool:
        return self._altered is not None and self._altered.is_about(tool)

    def answers_itself(self, tool: str) -> bool:
        """Whether this is the tool that a note asks to call."""
        return self._altered is not None and tool == self._altered.asks_for

    def instead(self, tool: str) -> str | None:
        """The answer in place of a call, which then does not run; None if it runs."""
        if self._altered is None or not self._alters(tool) or self._altered.kind not in BEFORE:
            return None
        self._answered.add(tool)
        return BEFORE[self._altered.kind]

    def of(self, tool: str, content: str) -> str:
        """The answer that is told for the one that a source gave."""
        alters = self._alters(tool)
        self._answered.add(tool)
        return self._altered.changed(content) if self._altered and alters else content

    def skip(self, tool: str) -> None:
        """Count an answer that was given before, as in a transcript."""
        self._answered.add(tool)

    def _alters(self, tool: str) -> bool:
        altered = self._altered
        if altered is None or not altered.is_about(tool):
            return False
        return not altered.is_fault or tool not in self._answered
