"""`parallel`: expected calls in one reply, or each in a reply of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval import SuiteError, TrialResult
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_trial
from pytest_tooleval.suite.altered import AlteredAnswers
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.load import parse_suite

from .cases import resolved, suite_of

NAMED = [{"tool": "a"}, {"tool": "b"}]
TWO, BOTH, APART, SWAPPED = NAMED, [["a", "b"]], [["a"], ["b"]], [["b"], ["a"]]
THREE = [*NAMED, {"tool": "c"}]
OPTIONAL = [*NAMED, {"tool": "c", "optional": True}]
SOME = [{"tool": "a"}, {"tool": "b", "optional": True}]
ANY = {"$any_of": [[{"tool": "c"}], NAMED]}
FREE = [*NAMED, {"tool": "*", "optional": True}]


def reply(*calls: ToolCall, **more: Any) -> Reply:
    answers = tuple({"role": "tool", "tool_call_id": call.id, "content": "1"} for call in calls)
    return Reply(
        message={"role": "assistant", "content": None},
        calls=calls,
        **{"tool_answers": answers, "statuses": ("ok",) * len(calls), **more},
    )


def made(name: str, id: str = "") -> ToolCall:
    return ToolCall(name, {}, id=id or name)


def judged(case: ResolvedCase, *replies: Reply) -> TrialResult:
    done = Reply(message={"role": "assistant", "content": "Done."})
    last = (done,) if case.kind == "conversation" else ()
    return score_trial(case, Transcript((), (*replies, *last))).explain()


def talk(expected: Any, parallel: bool | None, **turn: Any) -> ResolvedCase:
    turn = {"prompt": "?", "expected_calls": expected, "parallel": parallel, **turn}
    return resolved(None, prompt=None, turns=[turn])


@pytest.mark.parametrize(
    ("expected", "match", "replies", "in_one", "each_alone"),
    [
        (TWO, "exact", BOTH, True, False),
        (TWO, "exact", APART, False, True),
        (TWO, "exact", SWAPPED, False, True),
        (THREE, "exact", [["a", "b"], ["c"]], False, False),
        (THREE, "exact", [["a", "b", "c"]], True, False),
        (THREE, "exact", [["a"], ["b"], ["c"]], False, True),
        # A missing call is in no reply, unless it may be missing.
        (TWO, "exact", [["a"]], False, False),
        (TWO, "exact", [], False, False),
        (OPTIONAL, "exact", BOTH, True, False),
        (OPTIONAL, "exact", APART, False, True),
        (OPTIONAL, "exact", [["a", "b"], ["c"]], False, False),
        (SOME, "exact", [["a"]], True, True),
        (SOME, "exact", BOTH, True, False),
        (TWO, "within", [["b"]], True, True),
        (TWO, "within", [], True, True),
        (TWO, "within", APART, False, True),
        # Other calls may stand anywhere.
        (TWO, "contains", [["c"], ["a", "b", "c"]], True, False),
        (TWO, "contains", [["a", "c"], ["b"]], False, True),
        (FREE, "exact", [["a", "b"], ["c"], ["c"]], True, False),
        (FREE, "exact", [["a", "c"], ["b", "c"]], False, True),
        # The same call made before does not matter.
        (TWO, "contains", [["a"], ["a", "b"]], True, True),
        # The list that fits best is the one that counts.
        (ANY, "exact", [["c"]], True, True),
        (ANY, "exact", BOTH, True, False),
        (ANY, "exact", APART, False, True),
    ],
)
def test_in_a_conversation(
    expected: Any, match: str, replies: list[list[str]], in_one: bool, each_alone: bool
) -> None:
    for parallel, right in ((True, in_one), (False, each_alone)):
        case = talk(expected, parallel, match=match, may_change_nothing=True)
        calls = [
            reply(*(made(name, f"{n}{k}") for k, name in enumerate(names)))
            for n, names in enumerate(replies)
        ]
        trial = judged(case, *calls)
        assert trial.values["conduct"] == float(right), (parallel, trial.mistake)
        without = judged(talk(expected, None, match=match, may_change_nothing=True), *calls)
        assert trial.passed == (without.passed and right)
        if not right and without.passed:
            assert trial.failure == "wrong_replies"


def test_the_reason() -> None:
    three = [reply(made("a"), made("b")), reply(made("c"))]
    trial = judged(talk(THREE, True), *three)
    assert trial.mistake == "replies: expected all calls in one reply, got a and b, then c"
    trial = judged(talk(THREE, False), *three)
    assert trial.mistake == "replies: expected each call in its own reply, got a and b, then c"


def test_a_case_judges_the_whole_conversation() -> None:
    turns = [{"prompt": "?"}, {"prompt": "!"}]
    case = resolved(None, prompt=None, turns=turns, expected_calls=NAMED, parallel=True)
    next_turn = {"prompt": ({"role": "user", "content": "!"},)}
    done = Reply(message={"role": "assistant", "content": "Done."})
    assert judged(case, done, reply(made("a"), made("b"), **next_turn)).passed
    trial = judged(case, reply(made("a")), done, reply(made("b"), **next_turn))
    assert trial.failure == "wrong_replies"


@pytest.mark.parametrize(
    ("unanswered", "in_one", "each_alone"),
    [((0, 1, 2), True, False), ((0, 0, 0), False, True), ((0, 1, 0), False, False)],
)
def test_an_agent_with_its_own_loop(
    unanswered: tuple[int, int, int], in_one: bool, each_alone: bool
) -> None:
    """Each of its calls is a reply, and begins before some of the earlier ones were answered."""
    replies = [reply(made(name), unanswered_before=n) for name, n in zip("abc", unanswered, strict=True)]
    assert judged(talk(THREE, True), *replies).passed == in_one
    assert judged(talk(THREE, False), *replies).passed == each_alone


def test_messages_whose_answers_come_later_are_parallel() -> None:
    first, second = reply(made("a"), tool_answers=(), statuses=()), reply(made("b"))
    late = structs.replace(second, tool_answers=(*second.tool_answers, *reply(made("a")).tool_answers))
    assert judged(talk(TWO, True), first, late).passed
    assert not judged(talk(TWO, False), first, late).passed


def test_an_agent_that_is_a_tool_makes_its_calls_in_replies_of_its_own() -> None:
    by = [{"tool": "a"}, {"tool": "b", "agent": "inner"}]
    outer = reply(made("a"), agent="outer", tool_answers=(), statuses=())
    inner = reply(structs.replace(made("b"), agent="inner"), agent="inner", is_inner=True)
    answered = structs.replace(inner, tool_answers=(*inner.tool_answers, *reply(made("a")).tool_answers))
    assert judged(talk(by, False), outer, answered).passed
    assert not judged(talk(by, True), outer, answered).passed


def test_a_prompt_that_an_agent_or_a_recording_answers_in_two_replies() -> None:
    case = resolved(None, expected_calls=NAMED, parallel=True)
    assert judged(case, reply(made("a"), made("b"))).passed
    trial = judged(case, reply(made("a")), reply(made("b")))
    assert (trial.passed, trial.failure) == (False, "wrong_replies")
    assert trial.mistake == "replies: expected all calls in one reply, got a, then b"
    assert trial.scores["overall"].explanation == ("0.5 = the mean of 2 checks: calls 1, replies 0 of 1")
    several = resolved(None, expected_calls=ANY, parallel=True)
    assert not judged(several, reply(made("a")), reply(made("b"))).passed
    assert judged(several, reply(made("c"))).passed


@pytest.mark.parametrize("faulted", ["a", "b"])
def test_a_call_that_a_fault_made_the_model_repeat_counts_where_it_was_first_made(faulted: str) -> None:
    altered = AlteredAnswers("error", tool=faulted)
    again = reply(made(faulted, "again"))
    for parallel, replies in (
        (True, [reply(made("a"), made("b")), again]),
        (False, [reply(made("a")), reply(made("b")), again]),
    ):
        case = structs.replace(talk(TWO, parallel), altered=altered)
        assert judged(case, *replies).passed
        other = structs.replace(talk(TWO, not parallel), altered=altered)
        assert judged(other, *replies).failure == "wrong_replies"


def turns(**turn: Any) -> dict[str, Any]:
    return {"prompt": None, "turns": [{"prompt": "?", "expected_calls": NAMED, **turn}]}


FEW = 'has no effect with fewer than two expected_calls, not counting "\\*"; remove it'


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (turns(parallel=True, expected_calls=[{"tool": "a"}]), f"turns.0..parallel: {FEW}"),
        (turns(parallel=False, expected_calls=[]), FEW),
        (turns(parallel=True, expected_calls=[{"tool": "a"}, {"tool": "*"}]), FEW),
        (turns(parallel=True, expected_calls={"$any_of": [[{"tool": "a"}], [{"tool": "b"}]]}), FEW),
        ({**turns(), "parallel": True}, f"test_cases.0..parallel: {FEW}"),
        ({"expected_tool": "a", "parallel": True}, FEW),
        (
            {"expected_calls": NAMED, "parallel": False},
            'a prompt ends after one reply; add "world": "module:Class" to the case, or write turns',
        ),
        (
            {"expected_tool": "a", "multi_turn": True, "parallel": True},
            "not allowed in a multi-turn case, which ends with one call; remove it",
        ),
        (
            {**turns(parallel=True), "match": "state"},
            'with "match": "state", other calls may lead to the same state; write "contains"',
        ),
        (turns(parallel="yes"), 'expected true or false, got the string "yes"'),
    ],
)
def test_validate_refuses(case: dict[str, Any], problem: str) -> None:
    test = {
        key: value for key, value in {"id": "one", "prompt": "?", **case}.items() if value is not None
    }
    tools = [{"type": "function", "function": {"name": name}} for name in "abc"]
    text = json.dumps({"name": "s", "tools": tools, "test_cases": [test]})
    with pytest.raises(SuiteError, match=problem):
        parse_suite(text, "s.tooleval.json")


@pytest.mark.parametrize(
    "case",
    [
        {"expected_calls": NAMED, "parallel": True},
        turns(parallel=True),
        turns(parallel=False),
        turns(parallel=True, match="contains"),
        turns(parallel=False, match="within", expected_text=["done"]),
        turns(parallel=True, expected_calls=ANY),
        {**turns(parallel=True), "policies": [{"tool": "a", "at_most": 1}]},
        {"prompt": None, "turns": [{"prompt": "?"}], "expected_calls": NAMED, "parallel": False},
    ],
)
def test_mutate_breaks_it(case: dict[str, Any]) -> None:
    (found,) = mutate_suite(suite_of(None, **case)).cases
    assert found.unknown == ""
    assert "wrong_replies" not in [each.kind for each in found.survivors]
    # Without a threshold that it costs, the wrong answer passes: so it was tried.
    (loose,) = mutate_suite(suite_of(None, **case, thresholds={"overall": 0.01})).cases
    assert "wrong_replies" in [each.kind for each in loose.survivors]
