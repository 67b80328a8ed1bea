"""A conversation that ran elsewhere, whatever its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Problem
from ..record.call_like import UNREAD, is_call_like, kind_of
from ..record.endings import NoAnswer
from ..record.transcript import Message, Usage
from ..record.untrusted import objects_in
from ..text import counted, shown

_NAMED = 10
NO_NAME = "transcript"  # the model of those that do not name it


class Conversation(NamedTuple):
    """A conversation that ran elsewhere, and its place, as in `errors.Problem`.

    `messages` are as in the chat API. `case` names its test case, as ID or SUITE::ID; its own `id` may
    also be that of a case. `usage` is of all replies; `tools` are the offered ones, if known.
    `no_answer` says why the model did not finish, `error` what else went wrong. `may_stop` is for a
    benchmark that stops after many calls, and still judges them in the last turn, `by_benchmark` for one
    that only looks at native calls. If several of a `group` name a case, only those that begin like
    it belong to it.
    """

    path: str
    line: int
    messages: Sequence[Message]
    field: str = ""
    case: str = ""
    id: str = ""
    model: str = NO_NAME
    usage: Usage = Usage()
    tools: Sequence[Mapping[str, Any]] | None = None
    no_answer: NoAnswer | None = None
    error: str = ""
    may_stop: bool = False
    by_benchmark: bool = False
    group: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" + (f": {self.field}" if self.field else "")

    @property
    def unread(self) -> list[str]:
        """The types of items in it that are not known here, and that are no calls."""
        items = (item for message in self.messages for item in objects_in(message.get(UNREAD)))
        return [kind_of(item) for item in items if not is_call_like(item)]

    def problem(self, message: str) -> Problem:
        return Problem(self.path, self.line, 1, self.field, message)


def unread_text(kinds: Iterable[str]) -> str:
    """`3 items of types that are not known here: riddle (2), omen`; empty if there are none."""
    counts = Counter(kinds)
    if not counts:
        return ""
    most = counts.most_common(_NAMED)
    named = (f"{shown(kind)} ({count})" if count > 1 else shown(kind) for kind, count in most)
    more = ", ..." if len(counts) > _NAMED else ""
    items = counted(counts.total(), "item")
    return f"{items} of types that are not known here: {', '.join(named)}{more}"
