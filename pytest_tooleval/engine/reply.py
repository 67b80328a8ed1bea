"""Reads a provider's answer as a `Reply`."""

from __future__ import annotations

from collections.abc import Callable

from ..record.calls import own_calls
from ..record.endings import no_answer
from ..record.recovery import calls_in
from ..record.transcript import Reply
from ..record.transcript import Usage
from ..record.transcript import searches_in
from ..record.transcript import text_of
from ..record.transcript import with_refused
from .clients.base import ChatAnswer
from .clients.base import ChatRequest
from .tool_features import choice_text
from .tool_features import known_names

# A reply, or all replies of an agent that has run its own loop.
Replies = Reply | tuple[Reply, ...]
# Reads a reply of a judge or a simulated user. Raises ModelError if it is unusable.
Read = Callable[[Reply], object]


def last_of(answered: Replies) -> Reply:
    """The reply, or the last one of a whole run."""
    return answered if isinstance(answered, Reply) else answered[-1]


def read_reply(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Reply:
    """Read an answer. Its message may contain anything.

    Calls that the model wrote as text are recovered, unless `tool_choice` is `none`.
    """
    message = dict(answer.message)
    tool_names = known_names(request.tools)
    asked = choice_text(request.tool_choice) if request.tools else None
    tool_choice = answer.fallbacks.get("tool_choice", asked)
    text = text_of(message)
    calls, format = calls_in(message, "" if tool_choice == "none" else text, tool_names)
    left_out = "temperature" in answer.fallbacks
    return Reply(
        message=message,
        calls=calls,
        searches=searches_in(message),
        format=format,
        tool_choice=tool_choice,
        temperature=None if left_out else request.sampling.get("temperature"),
        finish_reason=answer.finish_reason,
        cached=cached,
        no_answer=no_answer(
            own_calls(calls, tool_names), text, answer.finish_reason, answer.finish_message
        ),
        answers=answer.answers,
        status=answer.status,
        **{name: getattr(answer, name) for name in Usage.__struct_fields__},
    )


def read_run(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Replies:
    """A model's reply, or all replies of an agent's run."""
    if answer.earlier is None:
        return read_reply(answer, request, cached=cached)
    replies = (read_reply(each, request, cached=cached) for each in answer.replies)
    return tuple(with_refused(replies))
