"""A conversation that ran elsewhere, whatever its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import Location
from ..record.transcript import Message, Usage
from ..record.untrusted import objects_in
from ..text import plural, shown
from .call_like import UNREAD, may_be_call, type_of_item

_NAMED = 10
NO_NAME = "transcript"  # the model of those that do not name it


class OutsideTranscript(NamedTuple):
    """A conversation that ran elsewhere, and its place, a problem without a message.

    `messages` are as in the chat API; answers to import begin at `answers_from`. `case` names its test
    case, as ID or SUITE::ID; its own `id` may also be that of a case. `usage` is of all replies; `tools`
    are the offered ones, if known, in any dialect, and `choice` is how to choose among them.
    `error` says what went wrong. If several of a `group` name a case, only those that begin like it
    belong to it. Replies of agents that were tools are marked as `INNER`, as have the answers to
    their calls; `is_inner` is for a conversation that stands so in another one.
    """

    at: Location
    messages: Sequence[Message]
    case: str = ""
    id: str = ""
    model: str = NO_NAME
    usage: Usage = Usage()
    tools: Sequence[Any] | None = None
    choice: Any = None
    answers_from: int = 0
    error: str = ""
    group: str = ""
    is_inner: bool = False

    @property
    def place(self) -> str:
        return f"{self.at.path}:{self.at.line}" + (f": {self.at.field}" if self.at.field else "")

    @property
    def unread(self) -> list[str]:
        """The types of items in it that are not known here, and are not calls."""
        items = (item for message in self.messages for item in objects_in(message.get(UNREAD)))
        return [type_of_item(item) for item in items if not may_be_call(item)]


def unread_text(kinds: Iterable[str]) -> str:
    """`3 items of types that are not known here: riddle (2), omen`; empty if there are none."""
    counts = Counter(kinds)
    if not counts:
        return ""
    most = counts.most_common(_NAMED)
    named = (f"{shown(kind)} ({count})" if count > 1 else shown(kind) for kind, count in most)
    more = ", ..." if len(counts) > _NAMED else ""
    items = plural(counts.total(), "item")
    return f"{items} of types that are not known here: {', '.join(named)}{more}"


def as_words(message: Message) -> Message:
    """The message with a word in place of each picture or file."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": "\n".join(map(_text, content))}


def _text(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else f"[{kind}]"
