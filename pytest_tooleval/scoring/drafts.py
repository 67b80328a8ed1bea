"""A score whose explanation is built on demand."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import NamedTuple

from ..record.calls import ToolCall
from ..record.results import Check
from ..record.results import Score

Explained = tuple[str, list[Check]]
# The acceptable tools (none for an extra call), and the call that was made.
Pair = tuple[Sequence[str], ToolCall | None]


class Draft(NamedTuple):
    """The value of a built-in metric, and how to explain it: few explanations are ever read."""

    value: float | None
    explain: Callable[[], Explained] | str

    def score(self, *, explained: bool) -> Score:
        """The score, with or without its explanation."""
        if not explained:
            return Score(self.value)
        text, checks = (self.explain, []) if isinstance(self.explain, str) else self.explain()
        return Score(self.value, text, tuple(checks))
