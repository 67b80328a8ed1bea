"""What must hold over all calls of a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval import TrialResult, score_calls, score_messages
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

NAMES = ("get_order", "refund", "send_email", "cancel", "charge")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": None}} for name in NAMES]
OF_ORDER = {"tool": "get_order", "params": {"id": {"$same": "/order"}}}
TOTAL = {"$from": {**OF_ORDER, "at": "/total"}}

LOOKED = {"tool": "refund", "only_after": OF_ORDER}
LOOKED_AT_ANY = {"tool": "refund", "only_after": "get_order"}
ONE_MAIL = {"tool": "send_email", "at_most": 1}
MAIL = {"tool": "send_email", "at_least": 1}
NO_CHARGE = {"tool": "charge", "never_after": "cancel"}
NO_MORE_THAN_PAID = {"tool": "refund", "expected_params": {"amount": {"$lte": TOTAL}}}
ALL_OF_IT = {"tool": "refund", "expected_params": {"amount": TOTAL}}
LARGE = {"tool": "refund", "params": {"amount": {"$gt": 100}}, "only_after": "send_email"}

VERIFIED = {"tool": "refund", "only_after": {"tool": "get_order", "result": {"verified": True}}}
AFTER_ERROR = {"tool": "send_email", "only_after": {"tool": "refund", "status": "error"}}
NO_CHARGE_IF_DONE = {"tool": "charge", "never_after": {"tool": "cancel", "result": "cancelled"}}
SAID_YES = {"tool": "refund", "only_after": {"user": {"$regex": r"(?i)^yes\b"}}}
ONCE_PER_ORDER = {"tool": "refund", "at_most": 1, "per": "/order"}
UP_TO_100 = {"tool": "refund", "at_most": 100, "sum": "/amount"}
FEW = {"tool": "*", "at_most": 2}
KNOWN_ID = {
    "tool": "refund",
    "expected_params": {
        "order": {"$any_of": {"$from": {"tool": "get_order", "at": "/ids", "any": True}}}
    },
}

ORDER = '{"id": "A1", "total": 40.0}'
ERROR = '{"error": "no such order"}'


def get(id: str = "A1", answer: Any = ORDER) -> tuple[str, dict[str, Any], Any]:
    return "get_order", {"id": id}, answer


def refund(amount: Any = 40, order: str = "A1") -> tuple[str, dict[str, Any], Any]:
    return "refund", {"order": order, "amount": amount}, '{"ok": true}'


MAILED = ("send_email", {"to": "ada"}, "sent")
UNSENT = ("send_email", {"to": "ada"}, '{"error": "busy"}')
OTHER_MAIL = ("send_email", {"to": "bob"}, "sent")
CANCELLED: Any = ("cancel", {}, "cancelled")
NOT_CANCELLED: Any = ("cancel", {}, '{"error": "too late"}')
CHARGED: Any = ("charge", {}, "charged")


def suite_of(*policies: dict[str, Any], **case: Any) -> Suite:
    test = {"id": "one", "turns": [{"prompt": "?"}], "forbidden_calls": [], **case}
    test = {"policies": list(policies), **test}
    return Suite.model_validate({"name": "suite", "tools": TOOLS, "test_cases": [test]})


def messages(*replies: Any) -> list[dict[str, Any]]:
    """Each reply is a list of calls with their answers (None: unanswered), or a text from the user."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
    for number, reply in enumerate(replies):
        if isinstance(reply, str):
            found += [{"role": "assistant", "content": "yes?"}, {"role": "user", "content": reply}]
            continue
        made, answers = [], []
        for place, (name, arguments, answer) in enumerate(reply):
            id = f"{number}.{place}"
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            made.append({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
            given = answer if isinstance(answer, list) else [] if answer is None else [answer]
            answers += [{"role": "tool", "tool_call_id": id, "content": each} for each in given]
        found += [{"role": "assistant", "content": None, "tool_calls": made}, *answers]
    return [*found, {"role": "assistant", "content": "done"}]


def judged(policy: dict[str, Any], *replies: Any, **case: Any) -> TrialResult:
    turns = [{"prompt": "?"}, *({"prompt": each} for each in replies if isinstance(each, str))]
    suite = suite_of(policy, **{"turns": turns, "thresholds": {"arguments_valid": None}, **case})
    return score_messages(suite, "one", messages(*replies))


KEPT: list[tuple[dict[str, Any], list[Any]]] = [
    (LOOKED, [[get()], [refund()]]),
    (LOOKED, [[get()], "and all of it", [refund()]]),
    (LOOKED, [[get(answer=ERROR)], [get()], [refund()]]),
    (LOOKED, [[get(), get("B2")], [refund(order="B2"), refund()]]),
    (LOOKED, [[get()]]),
    (LOOKED_AT_ANY, [[get("B2")], [refund()]]),
    (ONE_MAIL, [[MAILED]]),
    (ONE_MAIL, [[UNSENT], [MAILED]]),
    (ONE_MAIL, [[UNSENT], [UNSENT], [MAILED]]),
    (ONE_MAIL, [[get()], [get()], [MAILED]]),
    (MAIL, [[MAILED], [OTHER_MAIL]]),
    (NO_CHARGE, [[CHARGED], [CANCELLED]]),
    (NO_CHARGE, [[CHARGED, CANCELLED]]),
    (NO_CHARGE, [[NOT_CANCELLED], [CHARGED]]),
    (NO_CHARGE, [[("cancel", "{", ERROR)], [CHARGED]]),
    (LOOKED, [[get(answer=[ERROR, ORDER])], [refund()]]),
    (NO_MORE_THAN_PAID, [[get()], [refund(40)]]),
    (NO_MORE_THAN_PAID, [[get()], [refund(39.5)]]),
    (ALL_OF_IT, [[get()], [refund(40)]]),
    (ALL_OF_IT, [[get(answer='{"total": 10}')], [get()], [refund(40)]]),
    (LARGE, [[refund(100)]]),
    (VERIFIED, [[get(answer='{"verified": true, "id": 1}')], [refund()]]),
    (AFTER_ERROR, [[("refund", {}, ERROR)], [MAILED]]),
    (NO_CHARGE_IF_DONE, [[("cancel", {}, "asked for")], [CHARGED]]),
    (SAID_YES, [[get()], "Yes, do it", [refund()]]),
    (SAID_YES, [[get()], "yes", [refund()], "yes", [refund(1)]]),
    (SAID_YES, [[get()], "yes", [("refund", {"order": "A1", "amount": 40}, ERROR)], [refund()]]),
    (ONCE_PER_ORDER, [[refund(), refund(1, "B2")]]),
    (UP_TO_100, [[refund(60)], [refund(40, "B2")]]),
    (UP_TO_100, [[("refund", {"amount": 90}, ERROR)], [refund(90)]]),
    (UP_TO_100, [[refund(0.1)], [refund(0.2)], [refund(99.7)]]),
    (FEW, [[get()], [refund()]]),
    (KNOWN_ID, [[get(answer='{"ids": ["A1"]}')], [get(answer='{"ids": []}')], [refund()]]),
    (LARGE, [[MAILED], [refund(101)]]),
]
BROKEN: list[tuple[dict[str, Any], list[Any], str]] = [
    (LOOKED, [[refund()]], 'no earlier call of get_order(id="A1")'),
    (LOOKED, [[get("B2")], [refund()]], 'no earlier call of get_order(id="A1")'),
    (
        LOOKED,
        [[get(), refund()]],
        'get_order(id="A1") was called in the same reply, so its answer was not known',
    ),
    (LOOKED, [[get(answer=ERROR)], [refund()]], 'get_order(id="A1") was answered with an error'),
    (LOOKED, [[get(answer=None)], [refund()]], 'get_order(id="A1") was not answered'),
    (LOOKED, [[refund()], [get()]], 'no earlier call of get_order(id="A1")'),
    (LOOKED, [[get()], [("refund", {"amount": 40}, "ok")]], "the call has nothing at /order"),
    (LOOKED, [[get()], [("refund", '{"amount"', None)]], "the call has nothing at /order"),
    (LOOKED_AT_ANY, [[refund()]], "no earlier call of get_order"),
    (ONE_MAIL, [[MAILED], [OTHER_MAIL]], "called 2 times"),
    (ONE_MAIL, [[MAILED], [MAILED]], "called 2 times"),
    (ONE_MAIL, [[UNSENT], [OTHER_MAIL]], "called 2 times"),
    (ONE_MAIL, [[UNSENT], [MAILED], [MAILED]], "called 2 times"),
    (ONE_MAIL, [[UNSENT], [MAILED], [UNSENT], [MAILED]], "called 2 times"),
    (ONE_MAIL, [[UNSENT, UNSENT]], "called 2 times"),
    (
        LOOKED,
        [[get(answer=[ORDER, ERROR])], [refund()]],
        'get_order(id="A1") was answered with an error',
    ),
    (
        LOOKED,
        [[get(answer='{"error": "timed out"}')], [refund()]],
        'nobody knows how get_order(id="A1") ended',
    ),
    (MAIL, [[get()]], "called 0 times"),
    (NO_CHARGE, [[CANCELLED], [CHARGED]], "after cancel"),
    (NO_CHARGE, [[CANCELLED, CHARGED]], "after cancel"),
    (NO_CHARGE, [[("cancel", "{", "cancelled")], [CHARGED]], "after cancel"),
    (NO_CHARGE, [[("cancel", {}, '{"error": "timeout"}')], [CHARGED]], "after cancel"),
    (NO_CHARGE, [[("cancel", {}, None)], [get()], [CHARGED]], "after cancel"),
    (NO_MORE_THAN_PAID, [[get()], [refund(41)]], 'amount: expected {"$lte": 40.0}, got 41'),
    (NO_MORE_THAN_PAID, [[refund(1)]], 'no earlier answer of get_order(id="A1")'),
    (NO_MORE_THAN_PAID, [[get(answer=ERROR)], [refund(1)]], 'no earlier answer of get_order(id="A1")'),
    (
        NO_MORE_THAN_PAID,
        [[get(answer='{"sum": 40}')], [refund(1)]],
        'the answer of get_order(id="A1") has nothing at /total',
    ),
    (
        NO_MORE_THAN_PAID,
        [[get(answer='{"total": "much"}')], [refund(1)]],
        '$lte: expected a finite number, got the string "much"',
    ),
    (NO_MORE_THAN_PAID, [[get()], [refund("40")]], 'amount: expected {"$lte": 40.0}, got "40"'),
    (ALL_OF_IT, [[get()], [get(answer='{"total": 10}')], [refund(40)]], "amount: expected 10, got 40"),
    (ALL_OF_IT, [[get()], [("refund", {"order": "A1"}, "ok")]], "amount is missing"),
    (
        NO_MORE_THAN_PAID,
        [[get(answer=['{"total": 50}', '{"total": 5}'])], [refund(10)]],
        'amount: expected {"$lte": 5}, got 10',
    ),
    (LARGE, [[refund(101)], [MAILED]], "no earlier call of send_email"),
    (
        VERIFIED,
        [[get(answer='{"verified": false}')], [refund()]],
        'get_order was answered {"verified": false}',
    ),
    (AFTER_ERROR, [[refund()], [MAILED]], "refund was ok"),
    (NO_CHARGE_IF_DONE, [[CANCELLED], [CHARGED]], "after cancel"),
    (NO_CHARGE_IF_DONE, [[("cancel", {}, None)], [get()], [CHARGED]], "after cancel"),
    (SAID_YES, [[get()], [refund()]], "the user did not say so"),
    (SAID_YES, [[get()], "no, yesterday", [refund()]], "the user did not say so"),
    (
        SAID_YES,
        [[get()], "yes", [refund()], [refund(1)]],
        "the user did not say so since the call before it",
    ),
    (
        SAID_YES,
        [[get()], "yes", [refund(), refund(1)]],
        "the user did not say so since the call before it",
    ),
    (ONCE_PER_ORDER, [[refund()], [refund(1)]], 'called 2 times with "A1" at /order'),
    (ONCE_PER_ORDER, [[refund()], [refund(1, "a1")]], 'called 2 times with "A1" at /order'),
    (ONCE_PER_ORDER, [[("refund", {}, "ok")]], "the call has nothing at /order"),
    (UP_TO_100, [[refund(60)], [refund(40.5)]], "/amount adds up to 100.5 in 2 calls"),
    (
        UP_TO_100,
        [[("refund", {"amount": 90}, '{"error": "timed out"}')], [refund(90)]],
        "/amount adds up to 180 in 2 calls",
    ),
    (UP_TO_100, [[refund(-1)]], "/amount is no number of at least 0: -1"),
    (UP_TO_100, [[refund("4")]], '/amount is no number of at least 0: "4"'),
    (UP_TO_100, [[refund(True)]], "/amount is no number of at least 0: true"),
    (UP_TO_100, [[("refund", {}, "ok")]], "the call has nothing at /amount"),
    (FEW, [[get()], [refund(), MAILED]], "called 3 times"),
    (
        KNOWN_ID,
        [[get(answer='{"ids": ["B2"]}')], [refund()]],
        'order: expected {"$any_of": ["B2"]}, got "A1"',
    ),
]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"approved": True}, 1.0),
        ({"approved": True, "status": "error"}, 1.0),
        ({"status": "refused"}, 1.0),
        ({"status": "waiting"}, 1.0),
        ({}, 0.0),
        ({"status": "error"}, 0.0),
        ({"approved": "yes"}, 0.0),
        ({"approved": False}, 0.0),
    ],
)
def test_a_call_runs_only_after_it_was_approved(fields: dict[str, Any], value: float) -> None:
    run = messages([get()], [refund()])
    run[-2] |= fields
    found = score_messages(suite_of({"tool": "refund", "after_approval": True}), "one", run)
    assert found.scores["policies"].value == value
    (check,) = found.scores["policies"].checks
    assert (check.reason == "it ran, and no approval is recorded") == (value == 0)


def test_of_several_answers_to_a_call_the_last_one_says_whether_it_was_approved() -> None:
    suite = suite_of({"tool": "refund", "after_approval": True})
    run = messages([get()], [refund()])
    waiting = {**run[-2], "status": "waiting"}
    for first, last, value in ((None, True, 1.0), (True, None, 0.0), (True, False, 0.0)):
        made = [*run[:-2], {**waiting, "approved": first}, {**run[-2], "approved": last}, run[-1]]
        assert score_messages(suite, "one", made).scores["policies"].value == value


@pytest.mark.parametrize(
    ("policy", "calls"),
    [(LOOKED, [refund(), get()]), (NO_MORE_THAN_PAID, [refund(), get()])],
)
def test_several_replies_are_judged_in_a_case_with_a_single_prompt_too(policy: Any, calls: Any) -> None:
    expected = [{"tool": "refund"}, {"tool": "get_order"}]
    suite = suite_of(policy, turns=None, prompt="?", expected_calls=expected)
    found = score_messages(suite, "one", messages(*([each] for each in calls)))
    assert found.failure == "broken_policy"
    assert score_messages(suite, "one", messages(*([each] for each in reversed(calls)))).passed


def test_whoever_never_asks_has_no_approval_in_a_case_with_a_single_prompt_either() -> None:
    policy = {"tool": "refund", "after_approval": True}
    suite = suite_of(policy, turns=None, prompt="?", expected_tool="refund")
    assert score_messages(suite, "one", messages([refund()])).failure == "broken_policy"
    assert score_calls(suite, "one", [_call(refund())]).passed


def test_a_call_without_an_answer_counts_as_one_that_ran_unapproved() -> None:
    found = judged({"tool": "cancel", "after_approval": True}, [("cancel", {}, None)])
    assert found.scores["policies"].value == 0.0


@pytest.mark.parametrize(("policy", "replies"), KEPT)
def test_a_right_agent_keeps_them(policy: dict[str, Any], replies: list[Any]) -> None:
    found = judged(policy, *replies)
    assert (found.scores["policies"].value, found.passed) == (1.0, True), found.scores["policies"]


@pytest.mark.parametrize(("policy", "replies", "why"), BROKEN)
def test_a_wrong_agent_breaks_them(policy: dict[str, Any], replies: list[Any], why: str) -> None:
    found = judged(policy, *replies)
    assert (found.scores["policies"].value, found.passed) == (0.0, False)
    assert (found.failure, found.mistake.startswith("policy ")) == ("broken_policy", True)
    assert found.mistake.endswith(f": {why}")


def test_the_explanation_counts_what_was_checked() -> None:
    found = judged(LOOKED, [MAILED]).scores["policies"]
    assert found.explanation == "1 of 1 policy kept, 0 calls checked"
    found = judged(LOOKED, [get()], [refund()], [refund(1, "B2")]).scores["policies"]
    assert found.explanation == "0 of 1 policy kept, 2 calls checked"
    assert [(each.expected, each.actual) for each in found.checks] == [
        ("refund only after get_order", 'refund(order="B2", amount=1)')
    ]


def test_where_nothing_was_recorded_calls_count_as_answered_and_the_explanation_says_so() -> None:
    found = judged(LOOKED, [get(answer=None)], [("refund", {"order": "A1"}, None)])
    assert found.passed
    assert found.scores["policies"].explanation == (
        "1 of 1 policy kept, 1 call checked; no answers were recorded, so calls count as answered"
    )
    found = judged(NO_CHARGE, [("cancel", {}, None)], [("charge", {}, None)])
    assert found.failure == "broken_policy"


def test_a_named_end_has_to_be_known() -> None:
    policy = {"tool": "refund", "only_after": {"tool": "get_order", "status": "ok"}}
    found = judged(policy, [get(answer=None)], [("refund", {"order": "A1"}, None)])
    assert (found.failure, found.mistake[-26:]) == ("broken_policy", "get_order was not answered")


def test_an_error_of_our_own_world_counts_in_a_sum(tmp_path: Path) -> None:
    world = "class Desk:\n    def refund(self, order: str, amount: float): raise ValueError('no')\n"
    (tmp_path / "summed_desk.py").write_text(world, encoding="utf-8")
    data = suite_of(UP_TO_100, may_change_nothing=True).model_dump(exclude_unset=True)
    suite = parse_suite(
        json.dumps({**data, "world": "summed_desk:Desk"}), str(tmp_path / "s.tooleval.json")
    )
    case = resolve(suite, suite.case("one"))
    for by_suite, value in ((True, 0.0), (False, 1.0)):
        call = ToolCall("refund", {"order": "A1", "amount": 101}, id="c")
        answer = {"role": "tool", "tool_call_id": "c", "content": ERROR}
        made = Reply(
            message={},
            calls=(call,),
            tool_answers=(answer,),
            statuses=("error",),
            ran_by_suite=(by_suite,),
        )
        ends = Reply(message={"role": "assistant", "content": "no"})
        assert score_transcript(case, Transcript((), (made, ends))).values["policies"] == value


def test_answers_in_the_messages_of_the_case_count() -> None:
    prompt = [*messages([get()])[:-1], {"role": "user", "content": "refund it"}]
    for turns in ({"turns": [{"prompt": prompt}]}, {"turns": None, "prompt": prompt}):
        suite = suite_of(LOOKED, NO_MORE_THAN_PAID, **turns, **_one_call(turns))
        assert score_calls(suite, "one", [_call(refund())]).passed
        assert score_calls(suite, "one", [_call(refund(50))]).failure == "broken_policy"
        assert score_calls(suite, "one", [_call(refund(1, "B2"))]).failure == "broken_policy"


def _one_call(turns: dict[str, Any]) -> dict[str, Any]:
    return {} if turns["turns"] else {"expected_tool": "refund"}


def _call(made: tuple[str, dict[str, Any], Any]) -> dict[str, Any]:
    return {"name": made[0], "arguments": made[1]}


def test_in_a_single_reply_nothing_is_answered_by_design() -> None:
    suite = suite_of(LOOKED, NO_MORE_THAN_PAID, turns=None, prompt="?", expected_tool="refund")
    found = score_calls(suite, "one", [_call(refund())])
    assert (found.passed, found.scores["policies"].value) == (True, None)
    suite = suite_of(ONE_MAIL, turns=None, prompt="?", expected_tool="send_email")
    found = score_calls(suite, "one", [_call(MAILED), _call(OTHER_MAIL)])
    assert found.failure == "broken_policy"


def test_those_of_the_suite_hold_for_every_case_that_has_the_tool() -> None:
    test = {"id": "one", "turns": [{"prompt": "?"}], "forbidden_calls": [], "policies": [ONE_MAIL]}
    other = {**test, "id": "other", "policies": [], "tools": TOOLS[:1]}
    data = {"name": "s", "tools": TOOLS, "policies": [LOOKED], "test_cases": [test, other]}
    suite = Suite.model_validate(data)
    found = score_messages(suite, "one", messages([refund()], [MAILED]))
    assert (found.scores["policies"].value, found.failure) == (0.5, "broken_policy")
    assert score_messages(suite, "other", messages([get()])).scores["policies"].value is None


def test_a_threshold_of_null_takes_them_away() -> None:
    found = judged(LOOKED, [refund()], thresholds={"policies": None})
    assert (found.passed, found.scores["policies"].value) == (True, 0.0)


def test_bfcl_judges_them_too() -> None:
    fields = {"param_scoring": "bfcl", "turns": None, "prompt": "?", "expected_tool": "charge"}
    suite = suite_of(ONE_MAIL, **fields)
    made = [_call(each) for each in (CHARGED, MAILED, OTHER_MAIL)]
    assert score_calls(suite, "one", made).failure == "broken_policy"


@pytest.mark.parametrize("name", ["Refund", "functions.refund", "REFUND:0"])
def test_a_call_in_any_spelling_that_may_run_is_judged(name: str) -> None:
    found = judged(LOOKED, [(name, {"order": "A1"}, "ok")])
    assert found.failure == "broken_policy"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["$any_of", "$from"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["$any_of"]), inner),
)


@given(VALUES, VALUES)
def test_what_a_model_or_a_tool_sends_is_data(value: Any, other: Any) -> None:
    """A key such as `$any_of` in it is no matcher, and never stops the scoring."""
    policy = {
        "tool": "refund",
        "expected_params": {"amount": {"$from": {"tool": "get_order", "at": ""}}},
    }
    found = judged(policy, [get(answer=json.dumps(value))], [refund(other)])
    same = json.dumps(value) == json.dumps(other)
    assert found.passed if same and value is not None else found.scores["policies"].value in (0.0, 1.0)
