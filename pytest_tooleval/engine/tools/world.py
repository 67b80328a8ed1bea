"""Tools that are methods of a world, which a trial creates at its first call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from ...errors import ModelError, WorldError
from ...keys import PublicTexts
from ...record.calls import ToolCall
from ...record.transcript import Message
from ...worlds.play import Worker, free_worker, leave, time_limit, too_slow
from ...worlds.world import World, WorldSpec
from ..exchange.tool_answers import ToolAnswer
from .source import ToolSource

_T = TypeVar("_T")


class WorldTools(ToolSource):
    """The world of one trial. The toolbox adds its identity to cassette keys."""

    # The world reports a bad call itself, here as in scoring.
    answers_all = True

    def __init__(self, spec: WorldSpec, public: PublicTexts | None = None) -> None:
        self._public = public
        self._world = World(spec)
        self._worker: Worker | None = None
        self._closed = False
        self._played = 0

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer:
        """The world's answer. Raises ModelError if the world cannot be used."""
        try:
            worker = await self._begun()
            content = await self._within(
                time_limit(made=True),
                worker,
                lambda: self._world.call(call.name, call.arguments, offered),
            )
        except WorldError as error:
            raise ModelError(self._world.with_printed(error), kind="world") from None
        if self._public is not None:
            # The code is the user's own, and a model may have to pass on a value that looks like a key.
            self._public.add(content)
        return ToolAnswer(content)

    async def _begun(self) -> Worker:
        """The world's thread, once the world has been made."""
        if self._worker is None:
            self._worker = free_worker()
        if not self._world.objects:
            await self._within(time_limit(made=False), self._worker, self._world.begin)
        return self._worker

    def made(self, ran: Sequence[ToolCall]) -> tuple[object, ...]:
        """The world's objects, if they are made and no calls that `ran` elsewhere are missing."""
        return self._world.objects if len(ran) == self._played else ()

    async def objects(self, ran: Sequence[ToolCall], offered: Collection[str]) -> tuple[object, ...]:
        """The world's objects, after the calls that `ran` elsewhere, as in an agent's own loop.

        Raises ModelError if the world cannot be used.
        """
        try:
            worker = await self._begun()
            for call in ran[self._played :]:
                self._played += 1
                run = partial(self._world.call, call.name, call.arguments, offered)
                await self._within(time_limit(made=True), worker, run)
        except WorldError as error:
            raise ModelError(self._world.with_printed(error), kind="world") from None
        if self._closed:
            self.close()
        return self._world.objects

    async def _within(self, limit: float, worker: Worker, work: Callable[[], _T]) -> _T:
        future = asyncio.wrap_future(worker.submit(work))
        # Not `wait_for`, because nothing can stop a thread.
        finished, _ = await asyncio.wait([future], timeout=limit)
        if not finished:
            raise too_slow(self._world, limit)
        return future.result()

    @property
    def printed(self) -> str:
        """The output that the world's code has printed."""
        return self._world.printed

    def close(self) -> None:
        self._closed = True
        if self._worker is not None:
            leave(self._worker, self._worker.submit(self._world.close))
            self._worker = None
