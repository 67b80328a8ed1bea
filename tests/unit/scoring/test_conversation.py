"""Conversations: each expectation is a check, and each check names what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import Suite, TrialResult, score_calls, score_messages
from pytest_tooleval.errors import ScoringError
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.scoring.texts import says
from pytest_tooleval.suite.load import parse_suite

DESK = """
class Desk:
    def __init__(self):
        self.orders = {"A1": {"total": 40, "refunded": 0}}
    def look(self, order: str):
        return self.orders[order]
    def refund(self, order: str, amount: float):
        self.orders[order]["refunded"] += amount
        return {"ok": True}
"""
LOOK = ("look", {"order": "A1"})
REFUND = ("refund", {"order": "A1", "amount": 40})
HALF = ("refund", {"order": "A1", "amount": 20})


def calls(*made: Any) -> list[dict[str, Any]]:
    return [{"tool": name, "params": params} for name, params in made]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(DESK, encoding="utf-8")
    return tmp_path


def suite_of(folder: Path, *turns: dict[str, Any], **case: Any) -> Suite:
    written = [{"prompt": f"turn {number}", **turn} for number, turn in enumerate(turns, 1)]
    test = {"id": "one", "turns": written, **case}
    data = {"name": "s", "world": "desk:Desk", "test_cases": [test]}
    return parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))


def says_and_calls(*turns: list[Any]) -> list[dict[str, Any]]:
    """Each turn is a list of calls and of texts of the assistant."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        messages.append({"role": "user", "content": "go on"})
        for each in turn:
            if isinstance(each, str):
                messages.append({"role": "assistant", "content": each})
                continue
            name, arguments = each
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": "c", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "c", "content": None})
    return messages


def score(suite: Suite, *turns: list[Any]) -> TrialResult:
    return score_messages(suite, suite.case("one"), says_and_calls(*turns))


@pytest.mark.parametrize(
    ("match", "made", "value", "failure", "wrong"),
    [
        ("exact", [REFUND], 1.0, None, ""),
        ("exact", [LOOK, REFUND], 0.5, "surplus_call", "surplus call: look: not expected"),
        ("contains", [LOOK, REFUND, HALF], 1.0, None, ""),
        ("contains", [LOOK], 0.0, "missing_call", "call 1: expected refund, got (no call)"),
        ("contains", [HALF], 0.8, "wrong_value", "call 1: amount: expected 40, got 20"),
        ("within", [], 1.0, None, ""),
        ("within", [REFUND], 1.0, None, ""),
        ("within", [REFUND, LOOK], 0.5, "surplus_call", "surplus call: look: not expected"),
        (
            "within",
            [REFUND, REFUND],
            0.5,
            "surplus_call",
            "surplus call: refund: more often than expected",
        ),
        ("state", [HALF, LOOK, HALF], 1.0, None, ""),
        ("state", [HALF], 0.0, "wrong_state", 'Desk.orders["A1"].refunded: expected 40, got 20'),
        ("state", [], 0.0, "wrong_state", 'Desk.orders["A1"].refunded: expected 40, got 0'),
    ],
)
def test_match(
    desk: Path, match: str, made: list[Any], value: float, failure: str | None, wrong: str
) -> None:
    suite = suite_of(desk, {"expected_calls": calls(REFUND), "match": match}, may_change_nothing=True)
    trial = score(suite, [*made, "done"])
    assert trial.values["overall"] == pytest.approx(value)
    assert (trial.failure, trial.mistake) == (failure, wrong)
    assert trial.passed == (failure is None)
    by_calls = score_calls(suite, suite.case("one"), [{"name": n, "arguments": a} for n, a in made])
    assert by_calls.values == trial.values


@pytest.mark.parametrize(
    ("expected", "made", "passes"),
    [
        ({"expected_tool": "refund", "expected_params": REFUND[1]}, [REFUND], True),
        ({"expected_tool": "refund", "expected_params": REFUND[1]}, [HALF], False),
        ({"expected_tool": "refund"}, [HALF], True),
        ({"expected_tool": "refund"}, [LOOK, REFUND], False),
        ({"expected_tool": "refund", "match": "contains"}, [LOOK, REFUND], True),
        ({"expected_tool": ["refund", "look"]}, [LOOK], True),
        ({"expected_tool": "*"}, [LOOK, REFUND], True),
        ({"expected_tool": "*"}, [], False),
        ({"expected_tool": None}, [], True),
        ({"expected_tool": None}, [LOOK], False),
        (
            {"expected_tool": "refund", "expected_params": REFUND[1], "match": "state"},
            [HALF, HALF],
            True,
        ),
        ({"expected_tool": "refund", "expected_params": REFUND[1], "match": "state"}, [HALF], False),
        ({"expected_tool": "refund", "forbidden_calls": "*"}, [REFUND], True),
        ({"expected_tool": "refund", "forbidden_calls": "*"}, [LOOK, REFUND], False),
    ],
)
def test_one_tool_is_expected_in_a_turn_as_in_a_case(
    desk: Path, expected: dict[str, Any], made: list[Any], passes: bool
) -> None:
    assert score(suite_of(desk, expected), [*made, "done"]).passed is passes


def answered(*made: Any, then: str = "Done.") -> list[dict[str, Any]]:
    """Calls, each in its own reply with the fields of the tool's message, or None for none."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go on"}]
    for number, ((name, arguments), answer) in enumerate(made):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if answer is not None:
            messages.append({"role": "tool", "tool_call_id": f"c{number}", **answer})
    return [*messages, {"role": "assistant", "content": then}]


def refunded(folder: Path, *made: Any, **case: Any) -> tuple[float, TrialResult]:
    """What has been refunded on the world after these calls, and the result."""
    fields = {"answers": "recorded", **case}
    suite = suite_of(folder, {"expected_state": {"orders.A1.refunded": {"$lte": -1}}}, **fields)
    result = score_messages(suite, "one", answered(*made))
    return float(result.scores["state"].checks[0].actual), result


UNAVAILABLE = {"content": '{"error": "503"}'}
OK = {"content": '{"ok": true}'}


@pytest.mark.parametrize(
    ("made", "amount"),
    [
        ([(REFUND, {"content": '{"error": "blocked by policy"}'})], 0),
        ([(REFUND, {"content": "It waits for an approval.", "status": "pending"})], 0),
        ([(REFUND, UNAVAILABLE), (REFUND, OK)], 40),
        ([(REFUND, OK), (REFUND, OK)], 80),
        ([(HALF, UNAVAILABLE), (HALF, OK), (REFUND, UNAVAILABLE), (HALF, OK)], 40),
        # Nothing says that these did not run.
        ([(REFUND, None), (HALF, None)], 60),
        ([(REFUND, {"content": '{"error": null, "ok": true}'})], 40),
        ([(REFUND, {"content": "error"})], 40),
        ([(REFUND, {**UNAVAILABLE, "status": "ok"}), (REFUND, OK)], 80),
    ],
)
def test_a_call_that_was_blocked_changed_nothing(desk: Path, made: list[Any], amount: float) -> None:
    assert refunded(desk, *made)[0] == amount


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"content": "no", "status": "rejected"}, "refused"),  # openai-agents, our adapters
        ({"content": "no", "outcome": "denied"}, "refused"),  # pydantic-ai
        ({"content": "no", "status": "waiting"}, "waiting"),
        ({"content": "no", "status": "error"}, "error"),  # LangChain
        ({"content": "no", "outcome": "retried"}, "error"),  # pydantic-ai
        ({"content": "no", "is_error": True}, "error"),  # Anthropic
        ({"content": "no", "isError": True}, "error"),  # MCP
        ({"content": '{"content": [], "isError": true}'}, "error"),  # MCP's result, as by ADK
        ({"content": [{"type": "text", "text": '{"error": {"code": 503}}'}]}, "error"),
        ({"content": '{"error": "no"}', "status": "success"}, "error"),
        ({"content": "Error: no", "status": "success", "is_error": False}, "ok"),
        ({"content": "[" * 100_000}, "ok"),
        ({"content": '{"error": "no"}', "status": "ok"}, "ok"),
        ({"content": "no", "status": "timed_out"}, None),
        ({"content": '{"error": "ReadTimeout"}'}, None),
        ({"content": "deadline exceeded", "is_error": True}, None),
        ({"content": '{"error": "timed out"}', "status": "error"}, "error"),
    ],
)
def test_what_became_of_a_call_is_read_from_its_answer(
    desk: Path, answer: dict[str, Any], status: str | None
) -> None:
    (amount, result) = refunded(desk, (REFUND, answer))
    assert result.transcript is not None
    assert result.transcript.replies[0].statuses == (status,)
    assert amount == (40 if status in ("ok", None) else 0)
    assert len(result.not_played) == (status == "error")


@pytest.mark.parametrize(
    ("end", "answers", "value", "wrong"),
    [
        ({"status": "ok"}, ["done"], 1.0, ""),
        ({"status": "ok"}, ['{"error": "denied"}'], 0.8, "call 1: status: expected ok, got error"),
        ({"status": "ok"}, [], 0.8, "call 1: status: expected ok, got unknown"),
        ({"status": "error"}, ['{"error": "denied"}'], 1.0, ""),
        ({"status": "ok"}, ['{"error": "busy"}', "done"], 1.0, ""),
        ({"result": {"n": 1}}, ['{"n": 1, "id": 7}'], 1.0, ""),
        (
            {"result": {"n": {"$gt": 1}}},
            ['{"n": 1}'],
            0.8,
            'call 1: result: expected {"n": {"$gt": 1}}, got {"n": 1}',
        ),
        ({"result": None}, ["null"], 1.0, ""),
        ({"result": None}, [], 0.8, "call 1: result: expected null, got (absent)"),
        ({"result": {"$contains": "done"}, "status": "ok"}, ["all done"], 1.0, ""),
    ],
)
def test_an_expected_call_says_how_it_must_end(
    desk: Path, end: dict[str, Any], answers: list[str], value: float, wrong: str
) -> None:
    suite = suite_of(desk, {"expected_calls": [{"tool": "refund", "params": {"order": "A1"}, **end}]})
    run = [each for each in says_and_calls([REFUND, "done"]) if each["role"] != "tool"]
    made = next(each for each in run if each.get("tool_calls"))
    id = made["tool_calls"][0]["id"]
    told = [{"role": "tool", "tool_call_id": id, "content": each} for each in answers]
    place = run.index(made) + 1
    result = score_messages(suite, "one", [*run[:place], *told, *run[place:]])
    assert result.values["calls"] == pytest.approx(value)
    assert (result.passed, result.failure, result.mistake) == (
        value == 1.0,
        "wrong_end" if wrong else None,
        wrong,
    )


def test_the_result_names_the_failed_calls_that_were_not_played(desk: Path) -> None:
    suite = suite_of(desk, {}, {"expected_state": {"orders.A1.refunded": 40}})
    missing = ("refund", {"order": "B7", "amount": 1})  # on which the world fails, too
    again = answered((missing, UNAVAILABLE), (REFUND, UNAVAILABLE), (REFUND, OK))
    result = score_messages(suite, "one", [*answered(then="Hi."), *again])
    assert result.passed
    line = 'turn 2: refund was answered {"error": "503"}, so it was not played on the world'
    assert result.not_played == (line,)


def test_a_case_can_say_that_failed_calls_did_run(desk: Path) -> None:
    made = [(REFUND, UNAVAILABLE), (REFUND, OK), (HALF, {"content": "no", "status": "rejected"})]
    amount, result = refunded(desk, *made, play_failed_calls=True)
    assert (amount, result.not_played) == (80, ())


def test_a_blocked_call_still_counts_as_made(desk: Path) -> None:
    blocked = answered((REFUND, {"content": "no", "status": "rejected"}))
    suite = suite_of(desk, {"expected_calls": calls(REFUND)})
    assert score_messages(suite, "one", blocked).passed
    suite = suite_of(desk, {"expected_calls": calls(REFUND), "match": "state"})
    assert not score_messages(suite, "one", blocked).passed
    suite = suite_of(desk, {"expected_calls": calls(LOOK), "match": "state", "results": True})
    looked = score_messages(suite, "one", answered((LOOK, UNAVAILABLE)))
    assert looked.failure == "missing_result"
    suite = suite_of(desk, {"expected_calls": [], "forbidden_calls": ["refund"], "match": "state"})
    assert score_messages(suite, "one", blocked).failure == "forbidden_call"


def test_retries_that_failed_are_left_out_at_once(desk: Path) -> None:
    began = desk / "began"
    note = f"        open({str(began)!r}, 'a').write('.')\n"
    text = DESK.replace("(self):\n", f"(self):\n{note}", 1)
    (desk / "desk.py").write_text(text, encoding="utf-8")
    amount, result = refunded(desk, *[(REFUND, UNAVAILABLE)] * 150, (REFUND, OK), max_rounds=200)
    assert (amount, len(result.not_played)) == (40, 150)
    assert len(began.read_text()) < 10  # scored and explained


def test_a_case_fails_with_more_failed_calls_than_a_world_is_made_for(desk: Path) -> None:
    made = [(("refund", {"order": "A1", "amount": n}), UNAVAILABLE) for n in range(1, 102)]
    unchanged = {"expected_state": {"orders.A1.refunded": 0}, "may_change_nothing": True}
    suite = suite_of(desk, unchanged, max_rounds=200)
    assert score_messages(suite, "one", answered(*made[:100])).passed
    result = score_messages(suite, "one", answered(*made))
    assert (result.passed, result.failure) == (False, "wrong_state")
    (row,) = result.scores["state"].checks
    assert "more than 100 different calls" in row.reason
    assert 'set "play_failed_calls": true' in row.reason


TIMED_OUT = {"content": '{"error": "timed out"}'}


@pytest.mark.parametrize(
    ("state", "made", "known"),
    [
        ({"orders.A1.refunded": 40}, [(REFUND, TIMED_OUT)], False),
        ({"orders.A1.refunded": 40}, [(REFUND, TIMED_OUT), (REFUND, OK)], False),
        (
            {"orders.A1.refunded": 80},
            [(REFUND, {"content": "no", "status": "timeout"}), (REFUND, OK)],
            False,
        ),
        ({"orders.A1.refunded": 40}, [(LOOK, TIMED_OUT), (REFUND, OK)], True),
        # What the state is judged by does not depend on it.
        ({"orders.A1.refunded": {"$gte": 40}}, [(REFUND, TIMED_OUT), (REFUND, OK)], True),
    ],
)
def test_a_state_that_depends_on_a_call_that_may_have_run_is_an_error(
    desk: Path, state: dict[str, Any], made: list[Any], known: bool
) -> None:
    suite = suite_of(desk, {"expected_state": state})
    if known:
        assert score_messages(suite, "one", answered(*made)).passed
        return
    with pytest.raises(
        ScoringError, match="so nobody knows whether it ran, and the state depends on it"
    ):
        score_messages(suite, "one", answered(*made))
    ran = suite_of(desk, {"expected_state": state}, play_failed_calls=True)
    assert score_messages(ran, "one", answered(*made)).scores["state"].value is not None


ORDER = {"total": 40, "refunded": 0}


@pytest.mark.parametrize("answer", ["Error: timeout", "null", "false", "40", "[]", ""])
def test_an_answer_of_another_type_disagrees_with_the_world(desk: Path, answer: str) -> None:
    def suite(**fields: Any) -> Suite:
        expected = [{"tool": "look", "params": LOOK[1]}]
        return suite_of(desk, {"expected_calls": expected, "match": "state", "results": True}, **fields)

    with pytest.raises(ScoringError, match="the transcript and the world disagree: look was answered"):
        score_messages(suite(), "one", answered((LOOK, {"content": answer})))
    recorded = suite(answers="recorded")
    trial = score_messages(recorded, "one", answered((LOOK, {"content": answer})))
    assert trial.failure == "missing_result"
    assert score_messages(recorded, "one", answered((LOOK, {"content": json.dumps(ORDER)}))).passed


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (json.dumps(ORDER), True),
        (json.dumps({**ORDER, "total": 40.0}, indent=1), True),
        (str(ORDER), True),  # as libraries write a dict
        (json.dumps({**ORDER, "total": 41}), False),  # another order
    ],
)
def test_results_are_judged_by_what_the_agent_was_answered(
    desk: Path, answer: str, passes: bool
) -> None:
    expected = [{"tool": "look", "params": LOOK[1]}]
    suite = suite_of(desk, {"expected_calls": expected, "match": "state", "results": True})
    trial = score_messages(suite, "one", answered((LOOK, {"content": answer})))
    assert trial.failure == (None if passes else "missing_result")


WRITTEN = {"role": "assistant", "content": json.dumps({"name": REFUND[0], "arguments": REFUND[1]})}


@pytest.mark.parametrize(("id", "status"), [("c0", ("refused",)), ("c1", ()), (None, ())])
def test_a_late_answer_to_an_earlier_call_answers_no_written_call(
    desk: Path, id: str | None, status: tuple[str, ...]
) -> None:
    messages = answered((LOOK, None))
    messages[2:2] = [WRITTEN, {"role": "tool", "tool_call_id": id, **OK}]
    state = {"orders.A1.refunded": 0 if status else 40}
    turn = {"expected_state": state, "may_change_nothing": bool(status)}
    suite = suite_of(desk, turn, answers="recorded")
    result = score_messages(suite, "one", messages)
    assert result.passed
    assert result.transcript is not None
    assert result.transcript.replies[1].statuses == status


@pytest.mark.parametrize("calls", ["refund", 5, True, {"name": "refund"}, ["refund"], [5], [None]])
def test_calls_of_any_type_are_scored(desk: Path, calls: object) -> None:
    suite = suite_of(desk, {"expected_calls": [{"tool": "look", "params": LOOK[1]}]})
    message = {"role": "assistant", "content": "Done.", "tool_calls": calls}
    assert not score_messages(suite, "one", [{"role": "user", "content": "turn 1"}, message]).passed
    assert not score_messages(suite, "one", [message, message]).passed


def test_results_must_have_been_given_by_the_end_of_the_turn(desk: Path) -> None:
    suite = suite_of(
        desk,
        {"expected_calls": calls(REFUND)},
        {"expected_calls": calls(LOOK)},
        match="state",
        results=True,
    )
    assert score(suite, [REFUND, "done"], [LOOK, "40"]).passed
    trial = score(suite, [REFUND, LOOK, "done"], ["40"])
    assert trial.failure == "missing_result"
    assert trial.mistake == "turn 2: results: expected at least one call, got (no call)"
    trial = score(suite, [REFUND, "done"], [REFUND, "40"])
    assert trial.mistake == 'turn 2: Desk.orders["A1"].refunded: expected 40, got 80'
    assert trial.values["results"] == 0.5


def test_nothing_is_to_change(desk: Path) -> None:
    suite = suite_of(desk, {"expected_calls": [], "match": "state"})
    assert score(suite, [LOOK, "no"]).passed
    assert not score(suite, [REFUND, "no"]).passed
    assert not score(suite_of(desk, {"expected_calls": []}), [LOOK, "no"]).passed


def test_expectations_of_the_whole_case(desk: Path) -> None:
    suite = suite_of(
        desk,
        {},
        {},
        expected_calls=calls(REFUND),
        match="state",
        expected_state={"orders.A1.refunded": {"$lte": 40}, 'Desk.orders["A1"].total': 40},
        expected_text=["refunded"],
        forbidden_calls="*",
    )
    assert score(suite, [HALF, "half"], [HALF, "Refunded all"]).passed
    trial = score(suite, [HALF, "half"], [HALF, HALF, "Refunded all"])
    assert trial.values["state"] == pytest.approx(1 / 3)
    trial = score(suite, [REFUND, "Refunded"], [LOOK, "x"])
    assert (trial.failure, trial.mistake) == (
        "forbidden_call",
        "turn 2: called look, which is forbidden",
    )
    assert trial.values["overall"] == 0.0


def test_each_turn_chooses_how_its_calls_compare(desk: Path) -> None:
    by_state = {"expected_calls": calls(REFUND), "match": "state"}
    suite = suite_of(desk, {"expected_calls": calls(LOOK)}, by_state)
    assert score(suite, [LOOK, "Refund it?"], [HALF, HALF, "done"]).passed
    assert score(suite, [LOOK, "Refund it?"], [HALF, "done"]).failure == "wrong_state"


def test_what_a_turn_forbids_is_free_in_others(desk: Path) -> None:
    suite = suite_of(desk, {"forbidden_calls": ["refund"]}, {"max_calls": 1}, may_change_nothing=True)
    assert score(suite, ["who?"], [REFUND, "ok"]).passed
    trial = score(suite, [REFUND, "ok"], ["ok"])
    assert trial.mistake == "turn 1: called refund, which is forbidden"
    trial = score(suite, ["who?"], [LOOK, REFUND, "ok"])
    assert trial.mistake == "turn 2: calls made: expected at most 1, got 2"
    assert trial.values["conduct"] == 0.5


def test_a_call_that_nobody_made_though_it_is_forbidden_raises_nothing(desk: Path) -> None:
    for forbidden in ({}, {"forbidden_calls": ["look"]}):
        suite = suite_of(desk, {"expected_calls": calls(REFUND), **forbidden}, **forbidden)
        trial = score(suite, ["I will not."])
        assert trial.values["overall"] == 0.0
        assert score(suite, [REFUND, "Done."]).passed
    assert trial.values["conduct"] == 1.0
    assert trial.scores["overall"].explanation == "0 = the mean of 1 check: calls 0 of 1"
    assert score(suite, [LOOK, REFUND, "Done."]).values["overall"] == 0.0


def test_a_turn_that_does_not_end(desk: Path) -> None:
    suite = suite_of(desk, {"max_calls": 9}, max_rounds=2, may_change_nothing=True)
    trial = score(suite, [LOOK, LOOK])
    assert trial.failure == "unfinished_turn"
    assert trial.mistake == "end: expected a reply without calls, got calls in every reply"
    suite = suite_of(desk, {"expected_calls": calls(REFUND)})
    trial = score(suite, [REFUND])
    assert (trial.failure, trial.values["conduct"]) == ("unfinished_turn", 0.0)
    assert score_calls(suite, "one", [{"name": "refund", "arguments": REFUND[1]}]).passed


def test_a_turn_that_never_began(desk: Path) -> None:
    suite = suite_of(desk, {"max_calls": 9}, {"expected_text": [{"$not": "no"}], "expected_calls": []})
    trial = score(suite, ["ok"])
    assert trial.failure == "unfinished_turn"
    assert trial.values["overall"] == 0.5
    assert trial.values["text"] is None
    assert trial.mistake == "turn 2: end: expected a reply without calls, got no reply"


def test_a_call_that_a_run_only_has_as_text_did_not_run(desk: Path) -> None:
    suite = suite_of(desk, {"expected_state": {"orders.A1.refunded": 40}, "max_calls": 1})
    written = json.dumps({"name": "refund", "arguments": REFUND[1]})
    messages = says_and_calls([written, "Done."])
    trial = score_messages(suite, "one", messages)
    assert (trial.calls_made, trial.failure) == (1, "wrong_state")
    messages.insert(2, {"role": "tool", "tool_call_id": "c", "content": '{"ok": true}'})
    assert score_messages(suite, "one", messages).passed


def test_more_turns_than_expected(desk: Path) -> None:
    suite = suite_of(desk, {"max_calls": 1}, may_change_nothing=True)
    with pytest.raises(ScoringError, match="the conversation has 2 turns, 1 expected"):
        score(suite, ["a"], ["b"])


def test_calls_alone_do_not_say_in_which_turn(desk: Path) -> None:
    suite = suite_of(desk, {"max_calls": 1}, {}, may_change_nothing=True)
    with pytest.raises(ScoringError, match="has 2 turns; use score_messages"):
        score_calls(suite, suite.case("one"), [])


FORTY = ("refund", {"order": "A1", "amount": "forty"})
INVENTED = ("look", {"order": "A1", "as": "html"})
UNKNOWN: tuple[str, dict[str, Any]] = ("refuse", {})


@pytest.mark.parametrize(
    ("turns", "failure"),
    [
        ([[FORTY, REFUND]], None),
        ([[FORTY, FORTY, LOOK, REFUND]], None),
        ([[FORTY, REFUND], ["hi"]], None),
        ([[INVENTED, LOOK, REFUND]], None),
        ([[INVENTED, REFUND]], "unexpected_argument"),
        ([[LOOK, INVENTED, REFUND]], "unexpected_argument"),
        ([[INVENTED, INVENTED, REFUND]], "unexpected_argument"),
        ([[INVENTED, "hi"], [LOOK, REFUND]], "unexpected_argument"),
        ([[UNKNOWN, REFUND]], "hallucinated_tool"),
        ([[REFUND, FORTY]], "invalid_arguments"),
    ],
)
def test_an_invalid_call_that_a_later_one_of_its_turn_mends_passes(
    desk: Path, turns: list[list[Any]], failure: str | None
) -> None:
    case = {"expected_state": {"orders.A1.refunded": 40}, "answers": "recorded"}
    suite = suite_of(desk, *({} for _ in turns), **case)
    trial = score(suite, *([*turn, "Done."] for turn in turns))
    assert (trial.failure, trial.values["arguments_valid"]) == (failure, float(failure is None))
    assert trial.values["overall"] == 1.0
    lax = suite_of(desk, *({} for _ in turns), **case, thresholds={"arguments_valid": None})
    assert score(lax, *([*turn, "Done."] for turn in turns)).passed


def test_a_call_of_the_same_reply_mends_nothing(desk: Path) -> None:
    suite = suite_of(desk, {"expected_calls": calls(LOOK), "match": "contains"})
    made = [{"name": name, "arguments": arguments} for name, arguments in (INVENTED, LOOK)]
    assert score_calls(suite, "one", made).failure == "unexpected_argument"


def test_what_a_turn_expects_is_not_held_against_its_schema(desk: Path) -> None:
    suite = suite_of(desk, {"expected_calls": calls(INVENTED)})
    assert score(suite, [INVENTED, "Done."]).passed


@pytest.mark.parametrize(
    ("turns", "made", "value"),
    [
        ([{"expected_calls": calls(REFUND)}], [[REFUND]], 1.0),
        ([{"expected_calls": calls(REFUND)}], [[LOOK, REFUND]], 0.0),
        ([{"expected_calls": calls(REFUND), "match": "state"}], [[LOOK, REFUND]], 0.0),
        ([{"expected_calls": calls(REFUND), "match": "within"}], [[REFUND, REFUND]], 0.0),
        ([{"expected_calls": calls(REFUND), "match": "contains"}], [[LOOK, REFUND]], None),
        ([{"expected_tool": "*"}], [[LOOK, REFUND]], None),
        ([{"expected_calls": []}, {"expected_text": ["Done"]}], [[], [LOOK]], 1.0),
        ([{"expected_calls": {"$any_of": [calls(LOOK), calls(LOOK, REFUND)]}}], [[LOOK, REFUND]], 1.0),
    ],
)
def test_extra_calls_of_a_turn_are_measured_where_a_threshold_asks(
    desk: Path, turns: list[dict[str, Any]], made: list[list[Any]], value: float | None
) -> None:
    said = [[*each, "Done."] for each in made]
    low = {"overall": 0.1, "no_extra_calls": 1.0}
    trial = score(suite_of(desk, *turns, thresholds=low, may_change_nothing=True), *said)
    assert trial.values["no_extra_calls"] == value
    assert trial.passed is (value != 0.0)
    assert trial.failure == ("surplus_call" if value == 0.0 else None)
    without = suite_of(desk, *turns, may_change_nothing=True)
    assert "no_extra_calls" not in score(without, *said).values


@pytest.mark.parametrize(
    ("expected", "text", "right"),
    [
        ("Order a1", "Your  ORDER\nA1 is here", True),
        ("1000", "It costs 1,000 dollars", True),
        ("943 Maple Drive", "943 Maple Drive, Chicago", True),
        ("Maple Drive Chicago", "943 Maple Drive,\nChicago", True),
        ("Caf\u00e9 STRASSE", "im cafe\u0301  Stra\xdfe", True),
        ({"$number": 40}, "You get $40.00 back", True),
        ({"$number": 1234.5}, "1,234.50", True),
        ({"$number": 1}, "order A1", False),
        ({"$number": 40}, "400", False),
        ({"$number": -5}, "at -5 degrees", True),
        ({"$regex": "A[0-9]"}, "order A1", True),
        ({"$not": {"$number": 40}}, "it is 40", False),
        ({"$not": "sorry"}, "Done", True),
    ],
)
def test_texts(expected: Any, text: str, right: bool) -> None:
    assert says(expected, ["Hello", text]) is right


def test_a_forbidden_text_is_shown_with_the_message_that_has_it(desk: Path) -> None:
    def wrong(*turns: dict[str, Any], **case: Any) -> str:
        return score(suite_of(desk, *turns, **case), ["I am sorry."], ["Hello.", "Done."]).mistake

    not_sorry = {"expected_text": [{"$not": "sorry"}]}
    assert wrong({}, {}, **not_sorry) == (
        'text: expected {"$not": "sorry"}, but "I am sorry." was said in turn 1'
    )
    assert wrong(not_sorry, {}) == 'turn 1: text: expected {"$not": "sorry"}, but "I am sorry." was said'
    assert wrong({}, not_sorry) == ""


def test_a_conversation_with_a_played_user_has_as_many_turns_as_it_took(desk: Path) -> None:
    expected = {"expected_calls": calls(REFUND), "match": "state", "expected_text": ["done"]}
    case = {"turns": None, "user": {"goal": "Get 40 back."}, "forbidden_calls": ["look"], **expected}
    suite = suite_of(desk, **case)
    result = score(suite, ["Which order?"], [REFUND, "Done."], ["You are welcome."])
    assert result.passed
    assert not score(suite, ["No."], ["Done."]).passed
    lost = score(suite, ["Which order?"], [LOOK, REFUND, "Done."])
    assert (lost.failure, lost.mistake) == ("forbidden_call", "turn 2: called look, which is forbidden")
    assert (
        score_calls(suite, suite.test_cases[0], [{"name": "refund", "arguments": REFUND[1]}])
        .scores["state"]
        .value
    )


def test_rubrics_are_judged_elsewhere(desk: Path) -> None:
    polite, brief = {"$judge": "Is polite"}, {"$judge": "Is brief"}
    suite = suite_of(desk, {"expected_text": [polite]}, expected_text=[brief])
    messages = says_and_calls([REFUND, "Here you are."])

    def judge(**judged: bool) -> TrialResult:
        met = {f"Is {name}": each for name, each in judged.items()}
        return score_messages(suite, suite.test_cases[0], messages, met)

    assert judge(polite=True, brief=True).passed
    result = judge(polite=True, brief=False)
    assert (result.failure, result.scores["text"].value) == ("wrong_text", 0.5)
    with pytest.raises(ScoringError, match='the rubric "Is brief" needs a judge'):
        judge(polite=True)


def test_nobody_judges_what_was_not_said(desk: Path) -> None:
    suite = suite_of(desk, {"expected_text": [{"$judge": "Is polite."}]}, forbidden_calls=["look"])
    assert score(suite, [REFUND, ""]).mistake == 'judge: nothing was said ("Is polite.")'
    assert score(suite, [LOOK, "Please."]).failure == "forbidden_call"


@pytest.mark.parametrize(
    ("ending", "failure"),
    [
        ({"content": None, "refusal": "No."}, "refused"),
        ({"content": "", "finish_reason": "content_filter"}, "blocked"),
        ({"content": "You g", "finish_reason": "stop", "stop_reason": "max_tokens"}, "cut_off"),
        ({"content": "", "finish_reason": "stop"}, "empty_answer"),
        ({"content": "Hello."}, None),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_a_turn_that_ends_without_a_usable_answer_never_passes(
    desk: Path, ending: dict[str, Any], failure: str | None, last: bool
) -> None:
    suite = suite_of(desk, {"expected_calls": []}, {"expected_calls": []})
    messages = says_and_calls(["Hello."], ["Bye."])
    messages[3 if last else 1] = {"role": "assistant", **ending}
    result = score_messages(suite, "one", messages)
    assert (result.passed, result.failure) == (failure is None, failure)


def test_what_the_provider_broke_off_says_nothing_of_the_model(desk: Path) -> None:
    messages = [*says_and_calls([]), {"role": "assistant", "content": "", "finish_reason": "error"}]
    with pytest.raises(ScoringError, match="s::one: the provider ended the answer with error"):
        score_messages(suite_of(desk, {"expected_calls": []}), "one", messages)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_reminder_begins_no_turn(desk: Path, role: str) -> None:
    reminder = {"role": role, "content": "Be brief."}
    messages = [*says_and_calls([REFUND]), reminder, {"role": "assistant", "content": "Done."}]
    assert score_messages(suite_of(desk, {"expected_calls": calls(REFUND)}), "one", messages).passed
    transcript = transcript_of(messages)
    assert (len(transcript.turns), transcript.messages) == (1, tuple(messages))
    both = transcript_of([*messages, reminder, *says_and_calls(["Hi."])])
    assert both.turns[1][0].prompt == (reminder, {"role": "user", "content": "go on"})
