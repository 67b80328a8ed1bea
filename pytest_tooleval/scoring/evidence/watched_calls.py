"""The expected calls of a case, one after the other, and what each changes beside the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...explain import listing
from ...suite.case import ResolvedCase
from ...suite.expectations import Expectations
from ...worlds.plain import Connection, StatePath, differences, path_text
from ...worlds.play import look
from ...worlds.world import State, World
from ..references import expected_calls, judged_by_state, play_key


class CallEffects(NamedTuple):
    """The state after a turn, and by index what calls that did not change it may change elsewhere.

    `unseen` is empty for a turn that is not judged by state.
    """

    state: State
    unseen: Mapping[int, str]


def call_effects(case: ResolvedCase, expectations: Sequence[Expectations]) -> list[CallEffects]:
    """Make the expected calls of these parts on a new world. Raises WorldError.

    The last cases that were watched are remembered.
    """
    assert case.world is not None
    look_at = partial(_watch, case, expectations)
    by_state = (judged_by_state(case, each) for each in expectations)
    key = ("watched", *play_key(case, map(expected_calls, expectations)), *by_state)
    return case.world.memory.recall(key, partial(look, case.world, look_at))


def _watch(case: ResolvedCase, expectations: Sequence[Expectations], world: World) -> list[CallEffects]:
    offered = {tool.name for tool in case.tools}
    watched = []
    state, every = world.state(), None
    for expected in expectations:
        unseen = {}
        for index, call in enumerate(expected_calls(expected)):
            if not judged_by_state(case, expected):
                world.call(call.name, call.arguments, offered)
                every = None
                continue
            before, seen = state, world.everything() if every is None else every
            world.call(call.name, call.arguments, offered)
            state, every = world.state(), world.everything()
            if next(differences(before, state), None) is None and (text := _unseen(seen, every)):
                unseen[index] = text
        if every is None:
            state = world.state()
        watched.append(CallEffects(state, unseen))
    return watched


def _unseen(before: State, after: State) -> str:
    """Say what a call that left the state as it was changed; empty if that is nothing."""
    changed = dict.fromkeys(_named(path) for path, _, _ in differences(before, after))
    if changed:
        return f"it changes only {listing(list(changed))}, which the state does not show"
    closed = listing(list(dict.fromkeys(map(path_text, _closed(after)))))
    return closed and f"what it changes may be behind {closed}, which the state does not show"


def _named(path: StatePath) -> str:
    """Name a place in a world, without what is inside of private data."""
    private = (depth for depth, part in enumerate(path, 1) if str(part).startswith("_"))
    named = path[: next(private, 2)]
    return (
        path_text(named) if any(isinstance(part, int) for part in named) else ".".join(map(str, named))
    )


def _closed(value: Any, path: StatePath = ()) -> Iterator[StatePath]:
    """Yield the places of connections."""
    if isinstance(value, Connection):
        yield path
    for name, each in value.items() if isinstance(value, dict) else ():
        yield from _closed(each, (*path, name))
