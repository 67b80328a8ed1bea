"""Play calls on a world, within a time limit."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from ..errors import WorldError
from ..record.calls import ToolCall
from ..record.status import reports_error
from ..threads import DaemonThreads
from .world import State, World, WorldSpec

# Seconds for a call of a world.
TIME_LIMIT_S = 10.0
# Making a world may take this many times as long, as it may import and read a lot.
_TO_BE_MADE = 6
_STEPS = 20
# The most different calls: all calls are played again for each that is left out.
_MOST_LEFT_OUT = 100

# Their worlds are closed.
WORKERS = DaemonThreads()

_T = TypeVar("_T")
_CallIndex = tuple[int, int]  # the turn and the call, from 0


class CallsToPlay(NamedTuple):
    """The calls of a turn, and the tools that it offers.

    `failed` are the indexes of calls to leave out unless the world also answers them with an error.
    `must_run` means that each has to have a method that takes its arguments, as expected calls do.
    """

    calls: Sequence[ToolCall]
    offered: Collection[str]
    failed: Collection[int] = ()
    must_run: bool = False


class Plays(NamedTuple):
    """The answers to each turn's calls, except those `left_out`, and the state after each turn."""

    tool_answers: list[list[str]]
    states: list[State]
    left_out: Collection[_CallIndex] = ()


class TooManyFailed(WorldError):
    """A world would run too many of the failed calls without an error."""


def play(spec: WorldSpec, turns: Sequence[CallsToPlay]) -> Plays:
    """Play the calls on a fresh world. Raises WorldError."""
    if not any(turn.calls for turn in turns):
        begins = spec.memory.once(("begins", *spec.key), lambda: look(spec, World.state))
        return Plays([[] for _ in turns], [begins] * len(turns))
    left_out: set[_CallIndex] = set()
    # A world cannot undo a call, but a fresh one repeats all others.
    for _ in range(_MOST_LEFT_OUT + 1):
        world = World(spec)
        played = run_limited(world, partial(_play, world, turns, left_out))
        if isinstance(played, Plays):
            return played
        left_out |= _retries(turns, played)
    raise TooManyFailed(
        f"it would have run more than {_MOST_LEFT_OUT} different calls that were answered with errors; "
        'if they did run, set "play_failed_calls": true in the case'
    )


def _retries(turns: Sequence[CallsToPlay], at: _CallIndex) -> set[_CallIndex]:
    """Return the places of a failed call and of later failed calls with the same arguments."""
    first = turns[at[0]].calls[at[1]]
    return {
        (number, index)
        for number, (calls, _, failed, _) in enumerate(turns)
        for index in failed
        if (number, index) >= at
        and (calls[index].name, calls[index].arguments) == (first.name, first.arguments)
    }


def _play(
    world: World, turns: Sequence[CallsToPlay], left_out: Collection[_CallIndex]
) -> Plays | _CallIndex:
    """Play all calls but those left out, or return the place of the next one to leave out."""
    played = Plays([], [], left_out)
    try:
        world.begin()
        for number, turn in enumerate(turns):
            for call in turn.calls if turn.must_run else ():
                if problem := world.cannot_run(call.name, call.arguments or {}, turn.offered):
                    raise WorldError(f"the expected call of {call.name} cannot run: {problem}")
            indexes = [index for index in range(len(turn.calls)) if (number, index) not in left_out]
            answers = _answers(world, turn, indexes)
            if isinstance(answers, int):
                return number, answers
            played.tool_answers.append(answers)
            played.states.append(world.state())
    finally:
        world.close()
    return played


def _answers(world: World, turn: CallsToPlay, indexes: Sequence[int]) -> list[str] | int:
    """Return the answers to these calls of a turn, or the index of the first to leave out."""
    answers = []
    for index in indexes:
        call = turn.calls[index]
        answers.append(world.call(call.name, call.arguments, turn.offered))
        if index in turn.failed and not reports_error(answers[-1]):
            return index
    return answers


def run_limited(world: World, function: Callable[[], _T]) -> _T:
    """Run a function on a world in its own thread. Raises WorldError if it takes too long."""
    worker = WORKERS.take()
    started = time.monotonic()
    future = worker.submit(function)
    try:
        # Wait in steps, as each call that the world begins restarts the clock.
        while not concurrent.futures.wait([future], TIME_LIMIT_S / _STEPS).done:
            limit = time_limit(is_made=world.begun is not None)
            if time.monotonic() > (world.begun or started) + limit:
                raise too_slow(world, limit)
        return future.result()
    except WorldError as error:
        raise WorldError(world.with_output(error)) from None
    finally:
        WORKERS.give_back(worker, future)


def look(spec: WorldSpec, function: Callable[[World], _T]) -> _T:
    """Look at a new world, which is closed afterwards. Raises WorldError."""
    world = World(spec)

    def looked() -> _T:
        try:
            return function(world.begin())
        finally:
            world.close()

    return run_limited(world, looked)


def time_limit(*, is_made: bool) -> float:
    """Return the seconds for a call if the world is made, else for making it."""
    return TIME_LIMIT_S if is_made else _TO_BE_MADE * TIME_LIMIT_S


def too_slow(world: World, limit: float) -> WorldError:
    return WorldError(f"{world.doing} gave no answer within {limit:g} s")
