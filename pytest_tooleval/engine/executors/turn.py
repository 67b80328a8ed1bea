"""Answers the calls of an agent with its own loop, as a model's calls are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ...record.calls import ToolCall
from ...record.transcript import Reply
from ...record.transcript import Round
from ...record.transcript import Transcript
from ...scoring.conversation import forbidden_in
from ...scoring.problems import CannotCompare
from ...scoring.tool_selection import is_expected
from ...suite.model import ResolvedCase
from .live import LiveTools
from .mocks import Mocks
from .worlds import WorldTools

# More calls than any single-turn case needs.
_MOST_CALLS = 50
# After such a call a model is not asked again, but an agent continues, and would retry after an error.
_NOT_RUN = '{"status": "accepted; the tool is not run in this test"}'


class TurnTools:
    """The tools of one turn; `number` counts from 0.

    Calls that end a chain, and all calls outside of chains and conversations, are scored, but not run.
    """

    def __init__(
        self,
        case: ResolvedCase,
        mocks: Mocks,
        live: LiveTools | None = None,
        world: WorldTools | None = None,
        number: int = 0,
    ) -> None:
        self._case = case
        self._mocks = mocks
        self._live = live
        self._world = world
        self._number = number
        self._offered = mocks.offered
        self.most_calls = case.max_rounds if case.goes_on else _MOST_CALLS

    async def answer(self, call: ToolCall) -> str:
        if self._world is not None:
            return await self._world.answer(call, {tool.name for tool in self._offered})
        case, mocks, live = self._case, self._mocks, self._live
        ends = not case.goes_on or (not case.turns and is_expected(call.name, case))
        names = {tool.name.casefold() for tool in self._offered}
        sound = call.arguments is not None and call.name.casefold() in names
        if ends and sound and not mocks.has(call.name):
            return _NOT_RUN
        if live is not None and sound and not mocks.has(call.name) and live.runs(call.name):
            return await live.run(call)
        return await asyncio.to_thread(mocks.answer, call)

    async def ends(self, call: ToolCall) -> bool:
        """Whether this call ends the run, unanswered."""
        case = self._case
        return case.forbids and await asyncio.to_thread(is_lost, case, [call], self._number)

    @property
    def known_by(self) -> Mapping[str, Any]:
        """What may change the answers, for the key of the cassette."""
        case = self._case
        known_by: dict[str, Any] = {}
        of_turn = case.turns[self._number].turn.forbidden_calls if case.case.turns else None
        if forbidden := [*case.forbidden_calls, *(of_turn or ())]:
            known_by["forbidden_calls"] = [
                each if isinstance(each, str) else each.model_dump(mode="json") for each in forbidden
            ]
        if case.goes_on:
            known_by |= {"mock_responses": case.case.mock_responses, "max_rounds": case.max_rounds}
            if case.world is not None:
                known_by["world"] = case.world.identity
            if self._live is not None:
                known_by["live"] = self._live.known_by
        return known_by


def is_lost(case: ResolvedCase, calls: Sequence[ToolCall], turn: int) -> bool:
    """Whether a call is forbidden: then no tool runs, and no later error can hide it."""
    before, now = Reply(message={}), Reply(message={}, calls=tuple(calls))
    rounds = (Round(reply, (), ({"role": "user"},)) for reply in (*[before] * turn, now))
    try:
        return forbidden_in(case, Transcript((), tuple(rounds))) is not None
    except CannotCompare:
        return True  # scoring reports it
