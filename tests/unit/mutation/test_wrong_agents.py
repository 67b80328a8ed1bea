"""The wrong agents made from a transcript, and which of them a test accepts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.mutation.wrong_agents import (
    MAX_AGENTS,
    AgentTrial,
    WrongAgent,
    WrongKind,
    agent_turns,
    agents_of,
    sort_out,
)
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.transcript import Reply, Transcript


def reply(*calls: ToolCall, text: str = "", turn: bool = False, inner: bool = False) -> Reply:
    prompt = ({"role": "user", "content": "and?"},) if turn else ()
    message = {"role": "assistant", "content": text}
    return Reply(message=message, calls=calls, prompt=prompt, is_inner=inner)


LOOK = ToolCall("get_order", {"id": "A1"})
REFUND = ToolCall("refund", {"order": "A1", "amount": 40})
REFUNDED = Transcript((), (reply(LOOK), reply(REFUND), reply(text="I refunded 40 euros.")))
TALK = Transcript((), (reply(text="Which?"), reply(LOOK, turn=True), reply(LOOK, inner=True)))


def test_what_an_agent_did_in_each_turn() -> None:
    asked, answered = agent_turns(TALK)
    assert (asked.calls, asked.text) == ((), "Which?")
    assert [call.name for call in answered.calls] == ["get_order"]


def test_an_agent_broken_as_agents_break() -> None:
    assert [agent.what for agent in agents_of(REFUNDED)[1:]] == [
        "does nothing",
        "says the same, and does nothing",
        'says "I refunded 41 euros." instead of "I refunded 40 euros."',
        "makes all calls at once",
        "leaves out get_order",
        "makes get_order twice",
        'get_order: id "A2" instead of "A1"',
        "makes refund before get_order",
        "leaves out refund",
        "makes refund twice",
        'refund: order "A2" instead of "A1"',
        "refund: amount 87 instead of 40",
    ]


def test_calls_keep_their_replies() -> None:
    both = Transcript((), (reply(LOOK, REFUND), reply(LOOK), reply(text="Done.")))
    sizes = {agent.what: [*map(len, agent.turns[0].replies)] for agent in agents_of(both)}
    assert sizes[""] == [2, 1]
    assert sizes["makes one call at a time"] == [1, 1, 1]
    assert sizes["makes all calls at once"] == [3]
    assert sizes["makes refund before get_order"] == [2, 1]
    assert sizes["makes refund twice"] == [3, 1]
    assert sizes["leaves out refund"] == [1, 1]


VALUES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
)
CALLS = st.builds(
    ToolCall, st.sampled_from("abc"), st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
)


@given(st.lists(st.tuples(st.lists(CALLS, max_size=3), st.text(max_size=5), st.booleans()), max_size=4))
def test_each_wrong_agent_does_something_else(
    replies: Sequence[tuple[Sequence[ToolCall], str, bool]],
) -> None:
    made = Transcript((), tuple(reply(*calls, text=text, turn=turn) for calls, text, turn in replies))
    recorded, *wrong = agents_of(made)
    assert recorded.turns == agent_turns(made)
    assert len(wrong) <= MAX_AGENTS
    assert all(agent.turns != recorded.turns and agent.what for agent in wrong)
    assert all(len(agent.turns) == len(recorded.turns) for agent in wrong)


@pytest.mark.parametrize(
    ("kind", "state", "recorded", "judged"),
    [
        ("argument", "refunded 40", "refunded 40", False),  # the same came of it
        ("argument", "refunded 87", "refunded 40", True),
        ("repeated", "refunded 80", "refunded 40", True),
        ("repeated", "nothing", "nothing", False),  # where nothing has an effect
        ("order", None, None, False),
        ("left_out", "nothing", "nothing", True),
        ("argument", None, None, True),
        ("claims", "refunded 40", "refunded 40", True),
        ("lies", "refunded 40", "refunded 40", True),
    ],
)
def test_an_agent_that_does_the_same_is_not_wrong(
    kind: WrongKind, state: str | None, recorded: str | None, *, judged: bool
) -> None:
    idle = "nothing" if recorded is not None else None
    agents = [WrongAgent("recorded", "", ()), WrongAgent("idle", "", ()), WrongAgent(kind, "", ())]
    tried = [AgentTrial(True, recorded), AgentTrial(False, idle), AgentTrial(True, state)]
    caught, accepted = sort_out(agents, tried)
    assert [agent.kind for agent in caught] == ["idle"]
    assert [agent.kind for agent in accepted] == ([kind] if judged else [])


def test_what_was_not_tried_does_not_count() -> None:
    agents = [WrongAgent("recorded", "", ()), WrongAgent("idle", "", ())]
    assert sort_out(agents, [AgentTrial(True), AgentTrial(False, untried="no answer")]) == ([], [])
