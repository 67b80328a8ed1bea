"""Reads a provider's answer as a `Reply`, and asks the models of a trial for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from ...errors import ModelError
from ...record.run import HelperRole
from ...record.transcript import Reply, Usage, text_of
from ...replies.messages import read_message, with_refused
from ..models.spec import ModelSpec
from .chat import ChatAnswer, ChatRequest
from .errors import NotRecorded
from .tools import choice_text, known_in_request

T = TypeVar("T")
_TITLES = {"judge": "the judge", "user": "the user, played by"}
# Reads a reply of a judge or a simulated user. Raises ModelError if it is unusable.
OnReply = Callable[[Reply], object]


class Replies(Struct, frozen=True):
    """A model's reply, or with `is_agents_loop` all replies of an agent that has run its own loop."""

    all: tuple[Reply, ...]
    is_agents_loop: bool = False

    @property
    def last(self) -> Reply:
        return self.all[-1]


def read_reply(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Reply:
    """Read an answer. Its message may contain anything.

    Calls that the model wrote as text are recovered, unless `tool_choice` is `none`.
    """
    message = dict(answer.message)
    choice = choice_text(request.tool_choice) if request.tools else None
    tool_choice = answer.fallbacks.get("tool_choice", choice)
    reply = read_message(
        message,
        text_of(message),
        known_in_request(request, in_text=tool_choice != "none"),
        answer.finish_reason,
        answer.finish_message,
        request.messages,  # type: ignore[arg-type]
    )
    left_out = "temperature" in answer.fallbacks
    return structs.replace(
        reply.by(answer.agent, inner=answer.is_inner),
        tool_choice=tool_choice,
        temperature=None if left_out else request.sampling.get("temperature"),
        cached=cached,
        tool_answers=answer.tool_answers,
        statuses=answer.statuses,
        ran_by_suite=answer.ran_by_suite,
        unanswered_before=answer.unanswered_before,
        **{name: getattr(answer, name) for name in Usage.__struct_fields__},
    )


def read_replies(answer: ChatAnswer, request: ChatRequest, *, cached: bool) -> Replies:
    """A model's reply, or all replies of an agent's run."""
    if answer.earlier is None:
        return Replies((read_reply(answer, request, cached=cached),))
    replies = (read_reply(each, request, cached=cached) for each in answer.replies)
    return Replies(tuple(with_refused(replies)), is_agents_loop=True)


class AsksModels(Protocol):
    """Queries a trial's models, or finds their recorded answers."""

    async def ask(
        self,
        spec: ModelSpec,
        request: ChatRequest,
        role: HelperRole | None = None,
        accept: OnReply | None = None,
    ) -> Replies:
        """A model's reply; for an agent, possibly all its replies. Raises ModelError.

        `role` is None for the model under test. Replies that `accept` rejects are not recorded.
        """
        ...


async def ask_other(
    role: HelperRole,
    models: AsksModels,
    spec: ModelSpec,
    request: ChatRequest,
    read: Callable[[Reply], T],
) -> tuple[Reply, T]:
    """The reply of the judge or the simulated user, and the result of reading it with `read`.

    Errors name the judge or the user, because the model under test did not cause them.
    """
    try:
        reply = (await models.ask(spec, request, role, read)).last
        return reply, read(reply)
    except ModelError as error:
        text = f"{_TITLES[role]} {spec.label}: {error.message}"
        if isinstance(error, NotRecorded):
            raise NotRecorded(error.asked, text) from None
        raise ModelError(text, kind=error.kind) from None
