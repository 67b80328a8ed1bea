"""Reads a provider's answer as a `Reply`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, structs

from ..record.transcript import Reply, Usage, read_message, text_of, with_refused
from .clients.base import ChatAnswer, ChatRequest
from .tool_features import choice_text, known_tools

# Reads a reply of a judge or a simulated user. Raises ModelError if it is unusable.
Read = Callable[[Reply], object]


class Replies(Struct, frozen=True):
    """A model's reply, or with `is_run` all replies of an agent that has run its own loop."""

    all: tuple[Reply, ...]
    is_run: bool = False

    @property
    def last(self) -> Reply:
        return self.all[-1]


def read_reply(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Reply:
    """Read an answer. Its message may contain anything.

    Calls that the model wrote as text are recovered, unless `tool_choice` is `none`.
    """
    message = dict(answer.message)
    asked = choice_text(request.tool_choice) if request.tools else None
    tool_choice = answer.fallbacks.get("tool_choice", asked)
    found = read_message(
        message,
        text_of(message),
        known_tools(request, in_text=tool_choice != "none"),
        answer.finish_reason,
        answer.finish_message,
    )
    left_out = "temperature" in answer.fallbacks
    return structs.replace(
        found,
        tool_choice=tool_choice,
        temperature=None if left_out else request.sampling.get("temperature"),
        cached=cached,
        answers=answer.answers,
        status=answer.status,
        **{name: getattr(answer, name) for name in Usage.__struct_fields__},
    )


def read_run(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Replies:
    """A model's reply, or all replies of an agent's run."""
    if answer.earlier is None:
        return Replies((read_reply(answer, request, cached=cached),))
    replies = (read_reply(each, request, cached=cached) for each in answer.replies)
    return Replies(tuple(with_refused(replies)), is_run=True)
