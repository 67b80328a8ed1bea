"""Tools that are methods of a world, which a trial creates at its first call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from ...errors import ModelError, WorldError
from ...keys import PublicTexts
from ...record.calls import ToolCall
from ...record.transcript import Message
from ...threads import Worker
from ...worlds.play import WORKERS, time_limit, too_slow
from ...worlds.world import World, WorldSpec
from ..exchange.tool_answers import ToolAnswer
from .source import ToolSource

_T = TypeVar("_T")


class WorldTools(ToolSource):
    """The world of one trial. The toolbox adds its identity to cassette keys."""

    # The world reports a bad call itself, here as in scoring.
    answers_all = True

    def __init__(self, spec: WorldSpec, public_texts: PublicTexts | None = None) -> None:
        self._public_texts = public_texts
        self._world = World(spec)
        self._worker: Worker | None = None
        self._closed = False
        self._ran = 0

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer:
        """The world's answer. Raises ModelError if the world cannot be used."""
        content = await self._in_worker(lambda: self._world.call(call.name, call.arguments, offered))
        if self._public_texts is not None:
            # The code is the user's own, and a model may have to pass on a value that looks like a key.
            self._public_texts.add(content)
        return ToolAnswer(content)

    def note_end(self) -> None:
        """Note that a Python test is over, in the test's thread: what it has patched is still so."""
        self._world.note_end()

    def objects_with(self, ran: Sequence[ToolCall]) -> tuple[object, ...]:
        """The world's objects, if they are made and no calls that `ran` elsewhere are missing."""
        return self._world.objects if len(ran) == self._ran else ()

    async def objects(self, ran: Sequence[ToolCall], offered: Collection[str]) -> tuple[object, ...]:
        """The world's objects, after the calls that `ran` elsewhere, as in an agent's own loop.

        Raises ModelError if the world cannot be used.
        """

        def play() -> None:
            for call in ran[self._ran :]:
                self._ran += 1
                self._world.call(call.name, call.arguments, offered)

        await self._in_worker(play)
        if self._closed:
            self.close()
        return self._world.objects

    async def _in_worker(self, function: Callable[[], _T]) -> _T:
        """Do something with the world, in its thread. The first time, this makes it."""
        world, started = self._world, time.monotonic()
        self._worker = self._worker or WORKERS.take()

        def begun() -> _T:
            if not world.objects:
                world.begin()
            return function()

        future = asyncio.wrap_future(self._worker.submit(begun))
        try:
            # Not `wait_for`, because nothing can stop a thread. In steps, as each call has its own time.
            while not future.done():
                limit = time_limit(is_made=bool(world.begun))
                left = max(started, world.begun or started) + limit - time.monotonic()
                if left <= 0:
                    raise too_slow(world, limit)
                await asyncio.wait([future], timeout=min(left, time_limit(is_made=True)))
            return future.result()
        except WorldError as error:
            raise ModelError(world.with_output(error), kind="world") from None

    @property
    def output(self) -> str:
        """The output that the world's code has printed."""
        return self._world.output

    def close(self) -> None:
        self._closed = True
        if self._worker is not None:
            WORKERS.give_back(self._worker, self._worker.submit(self._world.close))
            self._worker = None
