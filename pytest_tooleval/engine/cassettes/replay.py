"""Replaying a trial without a model, from its cassette alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ...errors import ModelError
from ...record.run import Role
from ...record.transcript import Transcript
from ..clients.base import ChatAnswer
from ..clients.base import ChatRequest
from ..models.spec import ModelSpec
from ..reply import Read
from ..reply import Replies
from ..reply import read_run
from ..trial import Trial
from ..trial import hold
from .cassette import NotRecorded
from .cassette import key_of
from .cassette import question


class RecordedModels:
    """Models whose answers are found by their keys; NotRecorded where one is missing."""

    def __init__(self, find: Callable[[str], ChatAnswer | None]) -> None:
        self._find = find

    async def ask(
        self, spec: ModelSpec, request: ChatRequest, role: Role | None = None, read: Read | None = None
    ) -> Replies:
        asked = question(spec, request)
        found = self._find(key_of(asked))
        if found is None:
            raise NotRecorded(asked)
        return read_run(found, request, cached=True)


def recorded(trials: Sequence[Trial]) -> list[Transcript | ModelError] | None:
    """The transcripts of a single-turn case if all its answers are on the cassette, at once; else None.

    Thousands of these would keep an event loop and its thread busy with nothing to wait for.
    """
    found = [each for each in map(_recorded, trials) if each is not None]
    return [*found] if len(found) == len(trials) else None


def _recorded(trial: Trial) -> Transcript | None:
    cassette = trial.cassette
    if cassette is None or trial.fresh or trial.case.has_tool_rounds:
        return None
    try:
        if not cassette.is_empty:
            # It never waits: there is one question, and its answer is here.
            hold(trial, RecordedModels(cassette.known)).send(None)
    except StopIteration as finished:
        transcript: Transcript = finished.value
        return transcript
    except ModelError:
        pass  # it is missing, or the cassette cannot be read, which asking says
    return None


def replayed(trial: Trial) -> Transcript:
    """The transcript of a trial from its cassette, which must be one that never asks.

    Raises NotRecorded for the first question without an answer, which may be one to the server of live
    tools.
    """
    assert trial.cassette is not None
    return asyncio.run(hold(trial, RecordedModels(trial.cassette.find), trial.live_tools()))


def first_missing(trial: Trial) -> Mapping[str, Any] | None:
    """The first question of the trial that its cassette has no answer to, or None."""
    try:
        replayed(trial)
    except NotRecorded as missing:
        return missing.asked
    return None
