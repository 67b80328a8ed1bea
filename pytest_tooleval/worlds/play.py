"""Playing calls on a world, never for longer than it may take."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from typing import NamedTuple
from typing import TypeVar

from ..errors import WorldError
from ..record.calls import ToolCall
from .world import State
from .world import World
from .world import WorldSpec

# Seconds that a world may take to answer a call.
TIME_LIMIT_S = 10.0
# As many times that to be made: the first one may have much to import and to read.
_TO_BE_MADE = 6

_T = TypeVar("_T")


class Worker:
    """A thread that does one thing after the other, and never keeps the process from ending.

    Connections of a world, such as those to SQLite, may be used in the thread alone that opened them.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="tooleval-world", daemon=True).start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def submit(self, function: Callable[[], _T]) -> concurrent.futures.Future[_T]:
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def job() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._jobs.put(job)
        return future

    def close(self) -> None:
        self._jobs.put(None)


class Calls(NamedTuple):
    """Calls of one turn, and the tools that are offered in it."""

    calls: Sequence[ToolCall]
    offered: Collection[str]


class Played(NamedTuple):
    """What came of playing turns: the answers to the calls of each, and the states after them."""

    answers: list[list[str]]
    states: list[State]


def play(spec: WorldSpec, turns: Sequence[Calls]) -> Played:
    """Play the calls on a fresh world. Raises WorldError."""
    world = World(spec)

    def run() -> Played:
        played = Played([], [])
        try:
            world.begin()
            for calls, offered in turns:
                played.answers.append([world.call(c.name, c.arguments, offered) for c in calls])
                played.states.append(world.state())
        finally:
            world.close()
        return played

    return bounded(world, run)


def bounded(world: World, function: Callable[[], _T]) -> _T:
    """What a function does with a world, in a thread of its own; WorldError when it takes too long."""
    worker = Worker()
    try:
        future = worker.submit(function)
        waited, begun = 0.0, world.begun
        while True:
            try:
                return future.result(TIME_LIMIT_S)
            except concurrent.futures.TimeoutError:
                waited = waited + TIME_LIMIT_S if world.begun == begun else 0.0
                begun = world.begun
                if waited and waited >= time_limit(world):
                    raise too_slow(world) from None
    except WorldError as error:
        raise WorldError(world.with_printed(error)) from None
    finally:
        worker.close()


def time_limit(world: World) -> float:
    """Seconds that it may take for what it is at."""
    return TIME_LIMIT_S if world.begun else _TO_BE_MADE * TIME_LIMIT_S


def too_slow(world: World) -> WorldError:
    return WorldError(f"{world.doing} gave no answer within {time_limit(world):g} s")
