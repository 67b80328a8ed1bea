"""Replaying a case without a model, from a cassette alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Coroutine
from collections.abc import Mapping
from typing import Any

from ...record.transcript import Reply
from ...record.transcript import Transcript
from ...suite.model import ResolvedCase
from ..asking import Answered
from ..asking import last_of
from ..asking import sampling_for
from ..clients.base import ChatAnswer
from ..clients.base import ChatRequest
from ..conversation import converse
from ..executors.live import Live
from ..executors.live import LiveTools
from ..judge import require_judge
from ..judge import with_verdicts
from ..models.spec import ModelSpec
from ..others import AskOne
from ..others import Read
from ..reply import read_run
from ..user import played_user
from .cassette import Cassette
from .cassette import NotRecorded
from .cassette import key_of
from .cassette import question

Find = Callable[[str], "ChatAnswer | None"]


def _asks(spec: ModelSpec, find: Find) -> Callable[[ChatRequest], Coroutine[Any, Any, Answered]]:
    """Asking with recorded answers for the model's; NotRecorded where one is missing."""

    async def ask(request: ChatRequest) -> Answered:
        asked = question(spec, request)
        found = find(key_of(asked))
        if found is None:
            raise NotRecorded(asked)
        return read_run(found, request, cached=True)

    return ask


async def _replay(
    case: ResolvedCase,
    spec: ModelSpec,
    find: Find,
    trial: int,
    live: LiveTools | None = None,
    judge: ModelSpec | None = None,
    user: ModelSpec | None = None,
) -> Transcript:
    """The conversation with recorded answers; NotRecorded at the first that is missing."""

    def other(spec: ModelSpec | None) -> AskOne:
        async def ask(request: ChatRequest, read: Read) -> Reply:
            assert spec is not None
            return last_of(await _asks(spec, find)(request))

        return ask

    require_judge(case, judge)
    played = played_user(case, user, other(user), trial)
    sampling = sampling_for(spec, case)
    transcript = await converse(case, _asks(spec, find), sampling, trial, live, played)
    return await with_verdicts(case, transcript, judge, other(judge))


def recorded(
    case: ResolvedCase, spec: ModelSpec, cassette: Cassette, trial: int = 0
) -> Transcript | None:
    """The conversation of a single-turn case if its answer is on the cassette, at once; else None.

    Thousands of these would keep an event loop and its thread busy with nothing to wait for.
    """
    if case.goes_on or cassette.is_empty:
        return None
    try:
        # It never waits: there is one question, and its answer is here.
        _replay(case, spec, cassette.known, trial).send(None)
    except StopIteration as finished:
        transcript: Transcript = finished.value
        return transcript
    except NotRecorded:
        pass
    return None


def first_missing(
    case: ResolvedCase,
    spec: ModelSpec,
    cassette: Cassette,
    trial: int = 0,
    server: Live | None = None,
    judge: ModelSpec | None = None,
    user: ModelSpec | None = None,
) -> Mapping[str, Any] | None:
    """The first question of the case that the cassette has no answer to, or None.

    It may be one to the `server` of live tools, whose cassette must be one that never asks.
    """
    live = None
    if server is not None and case.goes_on:
        live = LiveTools(server, case, spec, trial)
    try:
        asyncio.run(_replay(case, spec, cassette.find, trial, live, judge, user))
    except NotRecorded as missing:
        return missing.asked
    return None
