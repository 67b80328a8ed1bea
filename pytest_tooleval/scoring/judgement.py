"""How an answer is judged, whatever the kind of its case. Explanations are built when they are read."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from typing import NamedTuple

from ..record.calls import ToolCall
from ..record.results import Check
from ..record.results import FailureCategory
from ..record.results import Score


class Line(NamedTuple):
    """A check behind a score.

    `says` makes of it, once it has its place, the one line of a failed trial; None: the explanation of
    the score says more.
    """

    check: Check
    says: Callable[[Check], str] | None


Explained = tuple[str, Sequence[Line]]
# The acceptable tools (none for an extra call), and the call that was made.
Pair = tuple[Sequence[str], ToolCall | None]


class Draft(NamedTuple):
    """The value of a built-in metric, and how to explain it: few explanations are ever read."""

    value: float | None
    explain: Callable[[], Explained] | str

    def explained(self) -> Explained:
        return (self.explain, ()) if isinstance(self.explain, str) else self.explain()

    def score(self, *, explained: bool) -> Score:
        """The score, with or without its explanation."""
        if not explained:
            return Score(self.value)
        text, lines = self.explained()
        return Score(self.value, text, tuple(line.check for line in lines))


class Judgement(NamedTuple):
    """What a kind of case finds in an answer."""

    # All metrics of the kind but `arguments_valid`, which looks at `calls`, and `tool_found`.
    drafts: dict[str, Draft]
    calls: Sequence[ToolCall]
    # The most important mistake by these metrics, which are too low; None if there is none.
    failure: Callable[[Collection[str]], FailureCategory | None]
    # The parts of `overall` that show a failure of this category, the most telling first.
    parts: Callable[[FailureCategory], Sequence[str]]
    # Each expected call with the one made for it, and each extra call with no tools.
    pairs: Callable[[], list[Pair]] = list
    # A line for each call that the record answers with an error, and the world would not.
    not_played: Sequence[str] = ()


def expected_got(check: Check) -> str:
    return f"{check.name}: expected {check.expected}, got {check.actual}"


def with_reason(check: Check) -> str:
    return f"{check.name}: {check.reason}"
