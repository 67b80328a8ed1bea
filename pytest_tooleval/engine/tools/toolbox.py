"""The toolbox: the one place that answers or refuses a tool call.

Every call passes through it, whether it comes from our own loop, an agent's loop, or a replay. It
checks whether a call of the reply is forbidden, whether the tool is offered, and whether it may run.
Then a tool source answers: a mock, the world, or a live server, perhaps altered by a variant.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec import structs

from ...errors import CannotCompare, ModelError
from ...matchers.modes import DEFAULT_MODE
from ...record.calls import ToolCall
from ...record.names import KnownTools
from ...record.status import NOT_RUN, reports_error
from ...record.transcript import Message, Reply, Transcript, text_of
from ...scoring.turns import forbidden_in
from ...suite.case import ResolvedCase
from ...suite.expectations import ANY_TOOL, ExpectedCall
from ...suite.resolved import find_tool, is_expected, known_tools
from ..exchange.tool_answers import ToolAnswer
from .alterations import Alterations, AlteredSource
from .source import ToolSource, allowing

# More calls than any single-turn case needs.
_MOST_CALLS = 50
# A reply may be hostile, and a server slow. No provider's model makes this many calls in one reply.
_MOST_IN_A_REPLY = 128


class Toolbox:
    """The tools of one turn. Turns count from 0.

    `sources` are the trial's sources, in order. `alterations` applies a variant to their answers.
    `allowed` are the tools that the command line allows.
    """

    def __init__(
        self,
        case: ResolvedCase,
        sources: Sequence[ToolSource] = (),
        allowed: Sequence[str] = (),
        turn: int = 0,
        alterations: Alterations | None = None,
    ) -> None:
        self.case = case
        self._alterations = alterations or Alterations(case.altered)
        self._sources = sources
        if case.altered is not None:
            self._sources = [AlteredSource(each, case, self._alterations) for each in sources]
        self._allowed = allowed
        self._turn = turn
        # If a model plays the user, the case has a single turn, which applies to all.
        self.tools = case.turns[min(turn, len(case.turns) - 1)].tools if case.turns else case.tools

    @cached_property
    def known_tools(self) -> KnownTools:
        """The tools that a call may mean."""
        return known_tools(self.case)

    @property
    def most_calls(self) -> int:
        """The maximum number of calls by an agent with its own loop."""
        return self.case.round_limit if self.case.has_tool_rounds else _MOST_CALLS

    @property
    def approvals(self) -> Mapping[str, str]:
        """`approve` or `reject` for each tool, by name, whose approval the case decides."""
        answers = self.case.approvals.items()
        pairs = ((find_tool(self.case, name), answer) for name, answer in answers)
        return {tool.name: answer for tool, answer in pairs if tool is not None}

    async def answer_calls(
        self, calls: Sequence[ToolCall], messages: Sequence[Message] | None = None
    ) -> list[ToolAnswer] | None:
        """The answer to each call of a reply; None if one is forbidden, because then none runs."""
        if await self.forbids(calls):
            return None
        answers = [await self._answer(call, messages) for call in calls[:_MOST_IN_A_REPLY]]
        most = _refused(f"at most {_MOST_IN_A_REPLY} calls of a reply are run")
        return answers + [most] * (len(calls) - len(answers))

    async def check_own(self, call: ToolCall) -> ToolAnswer | None:
        """Check a call of an agent's own tool. Returns an empty answer, or a refusal.

        Returns None if the call is forbidden. Raises ModelError if the command line does not allow
        the tool.
        """
        if await self.forbids([call]):
            return None
        offered = self._offered(self._named(call))
        if isinstance(offered, ToolAnswer):
            return offered
        if self._alterations.is_about(offered.name):
            raise self._cannot_alter(offered.name)
        allowed = (find_tool(self.case, name) for name in self._allowed)
        if not any(tool is not None and tool.name == offered.name for tool in allowed):
            text = f"its own tool {offered.name}, which may run only with {allowing(offered.name)}"
            raise ModelError(f"the agent called {text}", kind="tool_server")
        return ToolAnswer("")

    def _cannot_alter(self, tool: str) -> ModelError:
        return ModelError(
            f"the agent runs its own tool {tool}, whose answers the variant {self.case.variant.label} "
            "cannot change; it would have to use call_tool",
            kind="callable",
        )

    def require_altered(self, replies: Sequence[Reply]) -> None:
        """Raise ModelError if an agent itself ran a tool whose answers a variant alters."""
        for reply in replies if self.case.altered is not None else ():
            answers = {answer.get("tool_call_id"): text_of(answer) for answer in reply.tool_answers}
            for call, status, ours in reply.calls_with_status:
                offered = self._offered(call)
                if isinstance(offered, ToolAnswer) or call.id not in answers:
                    continue
                missing = self._alterations.is_missing(offered.name, answers[call.id], ours=ours)
                if missing and status not in NOT_RUN:
                    raise self._cannot_alter(offered.name)

    async def repeat(self, replies: Sequence[Reply]) -> None:
        """Repeat a transcript's calls in the sources, because the next turn builds on their state."""
        for reply in replies:
            for call, _, ours in reply.calls_with_status:
                if ours:
                    await self._answer(call, None, repeated=True)
                elif not isinstance(offered := self._offered(call), ToolAnswer):
                    self._alterations.skip(offered.name)

    @property
    def key_fields(self) -> Mapping[str, Any]:
        """Everything that may change the answers to an agent's calls, for the cassette key."""
        case = self.case
        fields: dict[str, Any] = {}
        is_written = self._turn < len(case.turns) and case.user is None
        of_turn = case.turns[self._turn].turn.forbidden_calls if is_written else None
        if forbidden := [*case.forbidden_calls, *(of_turn or ())]:
            fields["forbidden_calls"] = [
                each if isinstance(each, str) else _forbidden_field(each) for each in forbidden
            ]
        if ANY_TOOL in forbidden:  # all tools except these
            expected = (call.tools for call in case.expected.calls or ())
            fields["not_forbidden"] = sorted({*case.valid_prerequisites, *chain(*expected)})
        if case.param_scoring != DEFAULT_MODE and (forbidden or case.mock_responses):
            fields["param_scoring"] = case.param_scoring
        if self.approvals:
            fields["approvals"] = self.approvals
        if case.has_tool_rounds:
            fields |= {"mock_responses": case.mock_responses, "max_rounds": case.round_limit}
            if case.world is not None:
                fields["world"] = case.world.identity
            for source in self._sources:
                fields |= source.key_fields
        return fields

    async def _answer(
        self, call: ToolCall, messages: Sequence[Message] | None, *, repeated: bool = False
    ) -> ToolAnswer:
        if call.hosted:
            return ToolAnswer("")  # by the provider
        names = [tool.name for tool in self.tools]
        call = self._named(call)
        offered = self._offered(call)
        for source in self._sources:
            own_call = call if source.answers_all else offered
            if isinstance(own_call, ToolAnswer) or (repeated and source.is_live):
                continue
            answer = await source.answer(own_call, names, messages)
            if answer is not None:
                failed = answer.by_suite and reports_error(answer.text)
                return answer._replace(status="error") if failed else answer
        return offered if isinstance(offered, ToolAnswer) else _refused(f"{call.name} is not available")

    def _offered(self, call: ToolCall) -> ToolCall | ToolAnswer:
        """The call with the offered tool's own name, or a refusal if there is no such tool."""
        if call.arguments is None:
            return _refused(call.why_malformed)
        tool = find_tool(self.case, call.name)
        if tool is None or tool.name not in (each.name for each in self.tools):
            return _refused(f"there is no tool {call.name!r}")
        return call if tool.name == call.name else structs.replace(call, name=tool.name)

    async def forbids(self, calls: Sequence[ToolCall]) -> bool:
        """Whether one of these calls is forbidden."""
        if not self.case.forbids or not calls:
            return False
        arguments = self.case, list(map(self._named, calls)), self._turn
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # of a recorded answer, which is read without one
            return _is_forbidden(*arguments)
        # In a thread, because a slow pattern must not block the loop.
        return await asyncio.to_thread(_is_forbidden, *arguments)

    def _named(self, call: ToolCall) -> ToolCall:
        """The call with its tool's full name, because agents may leave out the namespace."""
        return self.known_tools.read(call)


def _forbidden_field(call: ExpectedCall) -> dict[str, Any]:
    """A forbidden call in a cassette key, with later fields only if the suite sets them."""
    dumped = call.model_dump(mode="json", exclude_unset=True)
    return {"params": None, "optional": False, **dumped}


def ends_chain(case: ResolvedCase, calls: Sequence[ToolCall]) -> bool:
    """Whether a chain ends with these calls: they are scored, but not run."""
    return case.kind != "conversation" and any(is_expected(call.name, case) for call in calls)


def _refused(reason: str) -> ToolAnswer:
    return ToolAnswer(json.dumps({"error": reason}, ensure_ascii=False), "refused")


def _is_forbidden(case: ResolvedCase, calls: Sequence[ToolCall], turn: int) -> bool:
    """Whether a call is forbidden in this turn. If so, no tool runs, and no later error can hide it."""
    before = Reply(message={}, prompt=({"role": "user"},))
    now = structs.replace(before, calls=tuple(calls))
    try:
        return forbidden_in(case, Transcript((), (*[before] * turn, now))) is not None
    except CannotCompare:
        return True  # scoring reports it
