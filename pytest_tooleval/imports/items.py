"""What an import reads in a file: conversations, expectations, lists of tools, suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import Location, Problem
from ..record.transcript import Message
from ..replies.outside_transcript import OutsideTranscript

# A call's tool and arguments; None for a text alone, and where any will do.
ToolUse = tuple[str, "Mapping[str, Any] | None"]


class Exercise(NamedTuple):
    """A prompt and the calls that a set expects, without an answer. With `is_ordered`, in this order.

    `more` are further fields of the case.
    """

    at: Location
    messages: Sequence[Message]
    calls: Sequence[ToolUse]
    tools: Sequence[Any] | None = None
    is_ordered: bool = False
    more: Mapping[str, Any] = MappingProxyType({})


class ToolList(NamedTuple):
    """Tools as a suite has them, those that it cannot have, settings of a new suite, and what to say."""

    at: Location
    tools: Sequence[dict[str, Any]]
    left_out: Sequence[Problem] = ()
    settings: Mapping[str, Any] = MappingProxyType({})
    remarks: Sequence[str] = ()


class WholeSuite(NamedTuple):
    """A whole suite: one under another name, or made of a benchmark."""

    at: Location
    suite: dict[str, Any]


Item = OutsideTranscript | Exercise | ToolList | WholeSuite | Problem


def reply(content: Any, calls: Sequence[Message], **others: Any) -> Message:
    """A reply in a chat message."""
    message = {"role": "assistant", "content": content or (None if calls else "")}
    return {**others, **message, **({"tool_calls": [*calls]} if calls else {})}


def call_message(id: Any, name: Any, arguments: Any) -> Message:
    """A call in a chat message."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
