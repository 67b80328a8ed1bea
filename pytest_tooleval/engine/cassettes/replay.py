"""Replaying a trial without a model, from its cassette alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from ...record.run import Role
from ...record.transcript import Reply
from ...record.transcript import Transcript
from ..asking import Answered
from ..asking import last_of
from ..clients.base import ChatAnswer
from ..clients.base import ChatRequest
from ..models.spec import ModelSpec
from ..others import AskOne
from ..others import Read
from ..players import Ask
from ..reply import read_run
from ..trial import Trial
from ..trial import hold
from .cassette import NotRecorded
from .cassette import key_of
from .cassette import question

Find = Callable[[str], "ChatAnswer | None"]


def _asks(spec: ModelSpec, find: Find) -> Ask:
    """Asking with recorded answers for the model's; NotRecorded where one is missing."""

    async def ask(request: ChatRequest) -> Answered:
        asked = question(spec, request)
        found = find(key_of(asked))
        if found is None:
            raise NotRecorded(asked)
        return read_run(found, request, cached=True)

    return ask


async def _replay(trial: Trial, find: Find) -> Transcript:
    """The transcript, from recorded answers; NotRecorded at the first that is missing."""

    def other(role: Role, spec: ModelSpec | None) -> AskOne:
        async def ask(request: ChatRequest, read: Read) -> Reply:
            assert spec is not None
            return last_of(await _asks(spec, find)(request))

        return ask

    return await hold(trial, _asks(trial.model, find), other, trial.live_tools())


def recorded(trial: Trial) -> Transcript | None:
    """The transcript of a single-turn case if its answer is on the cassette, at once; else None.

    Thousands of these would keep an event loop and its thread busy with nothing to wait for.
    """
    cassette = trial.cassette
    if cassette is None or trial.case.goes_on or cassette.is_empty:
        return None
    try:
        # It never waits: there is one question, and its answer is here.
        _replay(trial, cassette.known).send(None)
    except StopIteration as finished:
        transcript: Transcript = finished.value
        return transcript
    except NotRecorded:
        pass
    return None


def first_missing(trial: Trial) -> Mapping[str, Any] | None:
    """The first question of the trial that its cassette has no answer to, or None.

    It may be one to the server of live tools, whose cassette must be one that never asks.
    """
    assert trial.cassette is not None
    try:
        asyncio.run(_replay(trial, trial.cassette.find))
    except NotRecorded as missing:
        return missing.asked
    return None
