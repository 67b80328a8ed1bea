"""A trial's models: the one under test, and those that judge or play the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from ..errors import ModelError
from ..record.run import Role
from ..record.transcript import Reply
from .cassettes.cassette import NotRecorded
from .clients.base import ChatRequest
from .models.spec import ModelSpec
from .reply import Read, Replies

T = TypeVar("T")
_TITLES = {"judge": "the judge", "user": "the user, played by"}


class Models(Protocol):
    """Queries a trial's models, or finds their recorded answers."""

    async def ask(
        self, spec: ModelSpec, request: ChatRequest, role: Role | None = None, read: Read | None = None
    ) -> Replies:
        """A model's reply; for an agent, possibly all its replies. Raises ModelError.

        `role` is None for the model under test. Replies that `read` rejects are not recorded.
        """
        ...


async def ask_other(
    role: Role, models: Models, spec: ModelSpec, request: ChatRequest, read: Callable[[Reply], T]
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
