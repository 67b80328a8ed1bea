"""The agent that a test has seen, broken as agents break things: the test should notice each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Literal

from msgspec import Struct, structs

from ..record.transcript import Transcript
from ..text import json_text
from .changes import changes, near_text
from .results import MutantCall

MAX_AGENTS = 24  # for each test
# Variables for the process that tries them: the file of the agents by node id, and that of what came of
# each, by node id and number.
AGENTS, OUTCOMES = "TOOLEVAL_WRONG_AGENTS", "TOOLEVAL_WRONG_AGENTS_OUTCOMES"
_DONE = "Done."
# What the wrong agents differ in. Those of the last three kinds may be right, whatever they do.
WrongKind = Literal[
    "recorded", "idle", "claims", "lies", "left_out", "argument", "repeated", "order", "replies",
]  # fmt: skip
# A call, and the number of its reply.
_Placed = tuple[int, MutantCall]


class AgentTurn(Struct, frozen=True):
    """A turn of an agent: the calls of each reply, then a text."""

    replies: tuple[tuple[MutantCall, ...], ...]
    text: str

    @property
    def calls(self) -> tuple[MutantCall, ...]:
        return tuple(chain.from_iterable(self.replies))


class WrongAgent(Struct, frozen=True):
    """An agent's turns, and the mistake in them, in words."""

    kind: WrongKind
    what: str
    turns: tuple[AgentTurn, ...]


class AgentTrial(Struct, frozen=True):
    """Whether an agent `passed` the test, and its world's last state, or why it was not tried."""

    passed: bool
    state: str | None = None
    untried: str = ""


def agent_turns(transcript: Transcript) -> tuple[AgentTurn, ...]:
    """What the agent did in each turn. Calls of agents that it used as tools are theirs."""
    turns: list[AgentTurn] = []
    for reply in transcript.replies:
        if reply.is_inner:
            continue
        if not turns or reply.prompt:
            turns.append(AgentTurn((), ""))
        calls = (MutantCall(call.name, dict(call.arguments or {})) for call in reply.calls)
        replies = (tuple(calls),) if reply.calls else ()
        turns[-1] = AgentTurn((*turns[-1].replies, *replies), reply.text or turns[-1].text)
    return tuple(turns)


def agents_of(transcript: Transcript) -> list[WrongAgent]:
    """The agent of a transcript, and the wrong ones made from it, at most `MAX_AGENTS`."""
    turns = agent_turns(transcript)
    agents = [WrongAgent("recorded", "", turns)]
    seen = [turns]
    for agent in _wrong(turns):
        if agent.turns not in seen and len(agents) <= MAX_AGENTS:
            seen.append(agent.turns)
            agents.append(agent)
    return agents


def _wrong(turns: Sequence[AgentTurn]) -> Iterator[WrongAgent]:
    every = [call for turn in turns for call in turn.calls]
    yield WrongAgent("idle", "does nothing", tuple(AgentTurn((), _DONE) for _ in turns))
    if every:
        lies = tuple(structs.replace(turn, replies=()) for turn in turns)
        yield WrongAgent("claims", "says the same, and does nothing", lies)
    for number, turn in enumerate(turns):

        def broken(kind: WrongKind, what: str, wrong: AgentTurn, at: int = number) -> WrongAgent:
            return WrongAgent(kind, what, (*turns[:at], wrong, *turns[at + 1 :]))

        if (lie := near_text(turn.text)) != turn.text:
            what = f"says {json_text(lie, 60)} instead of {json_text(turn.text, 60)}"
            yield broken("lies", what, structs.replace(turn, text=lie))
        if len(turn.replies) < len(turn.calls):
            apart = tuple((call,) for call in turn.calls)
            yield broken("replies", "makes one call at a time", structs.replace(turn, replies=apart))
        if len(turn.replies) > 1:
            together = structs.replace(turn, replies=(turn.calls,))
            yield broken("replies", "makes all calls at once", together)
        placed = [(at, call) for at, calls in enumerate(turn.replies) for call in calls]
        for kind, what, calls in _wrong_calls(placed, every):
            yield broken(kind, what, structs.replace(turn, replies=_replies(calls)))


def _replies(placed: Iterable[_Placed]) -> tuple[tuple[MutantCall, ...], ...]:
    groups = groupby(placed, key=itemgetter(0))
    return tuple(tuple(call for _, call in group) for _, group in groups)


def _wrong_calls(
    placed: Sequence[_Placed], every: Sequence[MutantCall]
) -> Iterator[tuple[WrongKind, str, Sequence[_Placed]]]:
    """Break the calls of a turn, one at a time; `every` are those of all turns."""
    for index, (at, call) in enumerate(placed):
        before, after = placed[:index], placed[index + 1 :]
        yield "left_out", f"leaves out {call.name}", [*before, *after]
        yield "repeated", f"makes {call.name} twice", [*before, (at, call), (at, call), *after]
        for name, value in call.arguments.items():
            other = _other(value, name, every)
            what = f"{call.name}: {name} {json_text(other, 40)} instead of {json_text(value, 40)}"
            changed = MutantCall(call.name, {**call.arguments, name: other})
            yield "argument", what, [*before, (at, changed), *after]
        if after and after[0][1] != call:
            later, other_call = after[0]
            what = f"makes {other_call.name} before {call.name}"
            yield "order", what, [*before, (at, other_call), (later, call), *after[1:]]


def _other(value: Any, name: str, calls: Sequence[MutantCall]) -> Any:
    """Another value for an argument: one of the same argument, a neighbour, or any."""
    used = (call.arguments[name] for call in calls if name in call.arguments)
    other = next((each for each in used if each != value and type(each) is type(value)), None)
    if other is not None:
        return other
    if isinstance(value, str) and near_text(value) != value:
        return near_text(value)
    changed = [(kind, each) for kind, each in changes(value, {}) if each != value]
    return next((each for kind, each in changed if kind == "wrong_value"), changed[0][1])


def sort_out(
    agents: Sequence[WrongAgent], tried: Sequence[AgentTrial]
) -> tuple[list[WrongAgent], list[WrongAgent]]:
    """The wrong agents that a test noticed, and those that it accepts.

    Where the recorded calls change the world's state, an agent that says the same and leads to the same
    state is right. Where they do not, it may repeat and reorder them. Most tests accept calls in any
    replies.
    """
    ends = {agent.kind: each.state for agent, each in zip(agents, tried, strict=True)}
    recorded = ends["recorded"]
    has_effect = recorded is not None and recorded != ends.get("idle")
    caught: list[WrongAgent] = []
    accepted: list[WrongAgent] = []
    for agent, outcome in zip(agents[1:], tried[1:], strict=True):
        says_so = agent.kind not in ("idle", "claims", "lies")
        same = has_effect and outcome.state == recorded
        harmless = not has_effect and agent.kind in ("repeated", "order")
        is_right = outcome.passed if agent.kind == "replies" else says_so and (same or harmless)
        if outcome.untried or is_right:
            continue
        (accepted if outcome.passed else caught).append(agent)
    return caught, accepted
