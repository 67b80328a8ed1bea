"""Judges and simulated users: models that are not judged themselves."""

from __future__ import annotations

from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ModelError
from ..record.run import Role
from ..record.transcript import Reply
from .cassettes.cassette import NotRecorded
from .clients.base import ChatRequest
from .models.spec import ModelSpec

Read = Callable[[Reply], object]
# Asks, and does not record an answer that cannot be read.
AskOne = Callable[[ChatRequest, Read], Awaitable[Reply]]
_TITLES = {"judge": "the judge", "user": "the user, played by"}


@contextmanager
def errors_of(role: Role, spec: ModelSpec) -> Iterator[None]:
    """Name the judge or the user in errors, as they are not those of the judged model."""
    try:
        yield
    except ModelError as error:
        text = f"{_TITLES[role]} {spec.label}: {error.message}"
        if isinstance(error, NotRecorded):
            raise NotRecorded(error.asked, text) from None
        raise ModelError(text, kind=error.kind) from None
