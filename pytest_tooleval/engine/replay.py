"""Replays a trial without a model, from its cassette alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ModelError
from ..record.run import HelperRole
from ..record.transcript import Transcript
from .cassettes.cassette import Cassette
from .cassettes.questions import key_of, question_of
from .exchange.chat import ChatRequest
from .exchange.errors import NotRecorded
from .exchange.reply import OnReply, Replies, read_replies
from .models.spec import ModelSpec
from .trial import TrialRequest, run_trial


class RecordedModels:
    """Models whose answers come from a cassette. Raises NotRecorded for a missing one."""

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette

    async def ask(
        self,
        spec: ModelSpec,
        request: ChatRequest,
        role: HelperRole | None = None,
        accept: OnReply | None = None,
    ) -> Replies:
        question = question_of(spec, request)
        answer = self._cassette.find(key_of(question), spec.folder)
        if answer is None:
            raise NotRecorded(question)
        return read_replies(answer, request, cached=True)


def recorded_transcripts(trials: Sequence[TrialRequest]) -> list[Transcript | ModelError] | None:
    """The transcripts of a single-turn case if all its answers are recorded, else None.

    Returns them without the event loop, which thousands of replayed trials would keep busy for
    nothing.
    """
    outcomes = [each for each in map(_recorded, trials) if each is not None]
    return [*outcomes] if len(outcomes) == len(trials) else None


def _recorded(trial: TrialRequest) -> Transcript | None:
    cassette = trial.job.cassette
    if cassette is None or trial.is_fresh or trial.job.case.has_tool_rounds:
        return None
    try:
        if not cassette.is_empty:
            # It never waits: the only question has its answer here.
            run_trial(trial, RecordedModels(cassette), None).send(None)
    except StopIteration as finished:
        transcript: Transcript = finished.value
        return transcript
    except ModelError:
        pass  # the answer is missing, or the cassette is unreadable, which the request will report
    return None


def first_missing(trial: TrialRequest) -> Mapping[str, Any] | None:
    """The trial's first question, calls to live tools included, that its cassette cannot answer.

    The cassette's mode must be `none`. Returns None if nothing is missing.
    """
    cassette = trial.job.cassette
    assert cassette is not None
    try:
        asyncio.run(run_trial(trial, RecordedModels(cassette), trial.live_tools()))
    except NotRecorded as missing:
        return missing.asked
    return None
