"""Which of several agents made a call, and calls of agents that were used as tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import tool

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.record.names import NO_TOOLS
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.reports.text import render_transcript
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import resolve

ANY = {"type": "object", "properties": {"order": {"type": "string"}}}
TOOLS = [tool(name, ANY) for name in ("look", "refund", "cancel", "ask_billing")]
Message = dict[str, Any]


def case_of(**fields: Any) -> ResolvedCase:
    turn = {"prompt": "Refund A1.", **fields.pop("turn", {})}
    case = {"id": "one", "turns": [turn], "mock_responses": {"look": "open"}, **fields}
    suite = parse_suite(json.dumps({"name": "s", "tools": TOOLS, "test_cases": [case]}))
    return resolve(suite, suite.test_cases[0])


def says(text: str = "", agent: str = "", *calls: str, inner: bool = False) -> list[Message]:
    """A reply, and the answers to its calls, `name` or `name:id`."""
    made = [(each.partition(":")[0], each) for each in calls]
    wire = [{"id": id, "function": {"name": name, "arguments": '{"order": "A1"}'}} for name, id in made]
    marks = {"inner": True} if inner else {}
    said: Message = {"role": "assistant", "content": text, **marks}
    said |= {"agent": agent} if agent else {}
    answers = [{"role": "tool", "tool_call_id": id, "content": "open", **marks} for _, id in made]
    return [said | ({"tool_calls": wire} if wire else {}), *answers]


def score(case: ResolvedCase, *messages: list[Message]) -> TrialResult:
    return score_transcript(case, transcript(*messages))


def transcript(*messages: list[Message]) -> Transcript:
    prompt = {"role": "user", "content": "Refund A1."}
    flat = [each for message in messages for each in message]
    return transcript_of([prompt, *flat], offered=[NO_TOOLS])


LOOK, DONE = says("", "triage", "look"), says("Done.", "billing")
REFUND = says("", "billing", "refund")
ASKED, *ANSWERED = says("", "triage", "ask_billing")
# The agent billing is a tool of triage.
INSIDE = [
    [ASKED],
    says("", "billing", "look:in1", inner=True),
    says("", "billing", "cancel:in2", inner=True),
    says("I cancelled it.", "billing", inner=True),
    ANSWERED,
    says("Done.", "triage"),
]
ASKS = {"expected_calls": [{"tool": "ask_billing"}]}


def calls(*expected: tuple[str, str | None]) -> Message:
    made = [{"tool": name, **({"agent": agent} if agent else {})} for name, agent in expected]
    return {"turn": {"expected_calls": made}}


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        (calls(("look", "triage"), ("refund", "billing")), None),
        (calls(("look", " Triage"), ("refund", "BILLING")), None),
        (calls(("look", None), ("refund", None)), None),
        (calls(("look", "triage"), ("refund", "triage")), "wrong_agent"),
        ({"forbidden_calls": [{"tool": "refund", "agent": "triage"}]}, None),
        ({"forbidden_calls": [{"tool": "refund", "agent": "billing"}]}, "forbidden_call"),
        ({"policies": [{"tool": "refund", "only_after": {"tool": "look", "agent": "triage"}}]}, None),
        (
            {"policies": [{"tool": "refund", "only_after": {"tool": "look", "agent": "billing"}}]},
            "broken_policy",
        ),
        ({"policies": [{"tool": "*", "agent": "triage", "at_most": 1}]}, None),
        ({"policies": [{"tool": "*", "agent": "billing", "at_most": 0}]}, "broken_policy"),
        (
            {"policies": [{"tool": "refund", "never_after": {"tool": "look", "agent": "triage"}}]},
            "broken_policy",
        ),
    ],
)
def test_a_handoff_says_who_called(fields: Message, failure: str | None) -> None:
    fields.setdefault("turn", {"expected_text": ["done"]})
    assert score(case_of(**fields), LOOK, REFUND, DONE).failure == failure


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"turn": ASKS}, None),
        ({"turn": {"expected_calls": [{"tool": "ask_billing"}, {"tool": "cancel"}]}}, "missing_call"),
        (calls(("ask_billing", None), ("cancel", "billing")), None),
        (calls(("ask_billing", None), ("cancel", "triage")), "missing_call"),
        ({"turn": {**ASKS, "max_calls": 1}}, None),
        ({"turn": {**ASKS, "expected_text": ["cancelled"]}}, "wrong_text"),
        ({"turn": ASKS, "forbidden_calls": ["cancel"]}, "forbidden_call"),
        ({"turn": ASKS, "forbidden_calls": [{"tool": "cancel", "agent": "triage"}]}, None),
        ({"turn": ASKS, "policies": [{"tool": "cancel", "at_most": 0}]}, "broken_policy"),
        ({"turn": ASKS, "policies": [{"tool": "cancel", "only_after": "look"}]}, None),
        # The agent has answered only after its own calls.
        ({"turn": ASKS, "policies": [{"tool": "cancel", "only_after": "ask_billing"}]}, "broken_policy"),
        ({"turn": ASKS, "thresholds": {"max_calls": 1}}, None),
    ],
)
def test_calls_of_an_agent_that_is_a_tool_are_no_surplus(fields: Message, failure: str | None) -> None:
    result = score(case_of(**fields), *INSIDE)
    assert (result.failure, result.calls_made) == (failure, 1)


def test_in_a_chain_too() -> None:
    chain = {
        "id": "one",
        "prompt": "Refund A1.",
        "multi_turn": True,
        "expected_tool": "ask_billing",
        "mock_responses": {"look": "open"},
    }
    suite = parse_suite(json.dumps({"name": "s", "tools": TOOLS, "test_cases": [chain]}))
    case = resolve(suite, suite.test_cases[0])
    assert score(case, *INSIDE).passed


@pytest.mark.parametrize("field", ["forbidden_calls", "policies"])
def test_what_nobody_knows_to_be_another_agents_call_counts(field: str) -> None:
    rule: Message = {"tool": "refund", "agent": "billing"}
    rules = {field: [rule | ({"at_most": 0} if field == "policies" else {})]}
    case = case_of(turn={"expected_calls": [{"tool": "refund"}]}, **rules)
    unknown = score(case, says("", "", "refund"), says("Done."))
    assert not unknown.passed
    expecting = case_of(**calls(("refund", "billing")))
    assert score(expecting, says("", "", "refund"), says("Done.")).failure == "wrong_agent"


def test_reasons_name_the_agent_where_there_are_several() -> None:
    case = case_of(forbidden_calls=["cancel"], turn=ASKS)
    assert score(case, *INSIDE).mistake == "billing called cancel, which is forbidden"
    alone = score(case, says("", "billing", "cancel"), says("Done.", "billing"))
    assert alone.mistake == "called cancel, which is forbidden"
    policy = {"tool": "refund", "agent": "billing", "at_most": 0}
    case = case_of(policies=[policy], turn={"expected_text": ["done"]})
    broken = score(case, LOOK, REFUND, DONE)
    assert broken.mistake == (
        'policy refund by billing at most 0 times: refund(order="A1") by billing: called 1 time'
    )
    wrong = score(case_of(**calls(("look", None), ("refund", "triage"))), LOOK, REFUND, DONE)
    assert wrong.mistake == "call 2: agent: expected triage, got billing"


def test_the_terminal_names_the_agents() -> None:
    shown = render_transcript(TrialResult(transcript=transcript(*INSIDE)))
    lines = [line.strip() for line in shown.splitlines()]
    assert 'billing    calls cancel(order="A1")' in lines
    assert 'triage     calls ask_billing(order="A1")' in lines
    alone = render_transcript(TrialResult(transcript=transcript(REFUND, DONE)))
    assert 'assistant  calls refund(order="A1")' in [line.strip() for line in alone.splitlines()]


def test_what_an_agent_says_inside_is_no_part_of_the_conversation() -> None:
    made = transcript(*INSIDE)
    texts = [each.get("content") for each in made.messages]
    assert texts == ["Refund A1.", "", "open", "Done."]
    assert made.agents == ("triage", "billing")
    first, *_ = made.replies
    assert [each["tool_call_id"] for each in first.tool_answers] == ["ask_billing"]
    assert [each.is_inner for each in made.replies] == [False, True, True, True, False]


def test_a_state_does_not_say_who_called() -> None:
    turn = {"expected_calls": [{"tool": "look", "agent": "billing"}], "match": "state"}
    with pytest.raises(SuiteError, match=r"agent: with .* it does not matter who makes a call"):
        case_of(turn=turn, world="desk:Desk", mock_responses={})
