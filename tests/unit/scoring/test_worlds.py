"""Cases judged by the state of a world: what is compared, with what, and when nothing can be said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import Suite, score_messages
from pytest_tooleval.errors import ScoringError
from pytest_tooleval.suite.load import parse_suite

SHOP = """
import datetime as dt, json

class Shop:
    def __init__(self):
        self.address = ""
        self.refunded = 0
        self.at = None
        self.log = []
    def move(self, city: str) -> str:
        self.address = city
        return "ok"
    def refund(self, amount: float) -> dict:
        if amount > 1000:
            raise ValueError("too much")
        self.refunded += amount
        self.log.append(json.dumps({"amount": amount}))
        return {"refunded": amount, "id": 7, "ok": True}
    def plan(self, when: str) -> str:
        self.at = dt.datetime.fromisoformat(when)
        return "ok"
    def broken(self) -> dict:
        self.refunded += 1
        return {"error": "printed no receipt"}
"""
REFUND = {"tool": "refund", "params": {"amount": 40}}
PAY = {"tool": "pay", "params": {}}
STATE = {"expected_calls": [REFUND], "match": "state"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    return tmp_path


def suite_of(folder: Path, *turns: dict[str, Any], **case: Any) -> Suite:
    written = [{"prompt": f"turn {number}", **turn} for number, turn in enumerate(turns, 1)]
    data = {"name": "s", "world": "shop:Shop", "test_cases": [{"id": "one", "turns": written, **case}]}
    return parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))


def messages_of(*turns: list[tuple[str, dict[str, Any], Any]]) -> list[dict[str, Any]]:
    """Turns of calls with their answers, as JSON unless they are texts."""
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        messages.append({"role": "user", "content": "go on"})
        for index, (name, arguments, answer) in enumerate(turn):
            id = f"c{number}-{index}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": id, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            content = answer if isinstance(answer, str) else json.dumps(answer)
            messages.append({"role": "tool", "tool_call_id": id, "content": content})
        messages.append({"role": "assistant", "content": "Done."})
    return messages


def refund(amount: float, **answer: Any) -> tuple[str, dict[str, Any], Any]:
    return "refund", {"amount": amount}, {"refunded": amount, "id": 7, "ok": True, **answer}


MOVE = ("move", {"city": "NYC"}, "ok")


@pytest.mark.parametrize(
    ("most", "forbidden", "failure", "replies"),
    [
        (4, [], None, 4),
        (3, [], "unfinished_turn", 3),
        (2, [], "unfinished_turn", 2),
        (2, ["refund"], "forbidden_call", 4),
    ],
)
def test_a_recorded_conversation_is_cut_off_where_a_live_one_would_be(
    shop: Path, most: int, forbidden: list[str], failure: str | None, replies: int
) -> None:
    """The last of four replies ends the turn; the third makes the refund."""
    suite = suite_of(
        shop, {"expected_state": {"address": "NYC"}}, max_rounds=most, forbidden_calls=forbidden
    )
    result = score_messages(suite, "one", messages_of([MOVE, MOVE, refund(40)]))
    assert (result.failure, result.passed) == (failure, failure is None)
    assert result.transcript is not None
    assert len(result.transcript.replies) == replies
    if failure == "unfinished_turn":
        assert "got calls in every reply" in result.mistake


@pytest.mark.parametrize(
    ("looser", "made"),
    [
        (
            {"expected_tool": "move", "expected_params": {"city": {"$any_of": ["New York", "NYC"]}}},
            [MOVE],
        ),
        ({"expected_tool": "move"}, [MOVE]),
        ({"expected_tool": ["move", "plan"]}, [MOVE]),
        ({"expected_tool": "move", "match": "contains"}, [MOVE, refund(5)]),
        ({"expected_text": ["done"]}, [MOVE]),
    ],
)
def test_a_turn_begins_where_a_looser_one_before_it_has_led(
    shop: Path, looser: dict[str, Any], made: list[Any]
) -> None:
    suite = suite_of(shop, looser, STATE)
    assert score_messages(suite, "one", messages_of(made, [refund(40)])).passed
    assert not score_messages(suite, "one", messages_of(made, [refund(41)])).passed
    assert not score_messages(suite, "one", messages_of(made, [])).passed


@pytest.mark.parametrize(("exact", "passes"), [(None, True), (True, False)])
def test_numbers_and_instants_are_equal_by_value(shop: Path, exact: bool | None, passes: bool) -> None:
    plan = {"tool": "plan", "params": {"when": "2026-01-01T12:00:00+00:00"}}
    suite = suite_of(
        shop, {"expected_calls": [REFUND, plan], "match": "state", "results": True}, exact_state=exact
    )
    later = ("plan", {"when": "2026-01-01T13:00:00+01:00"}, "ok")
    assert score_messages(suite, "one", messages_of([refund(40.0), later])).passed is passes


def test_floats_are_equal_if_they_differ_by_rounding(shop: Path) -> None:
    calls = [{"tool": "refund", "params": {"amount": amount}} for amount in (0.1, 0.2)]
    suite = suite_of(shop, {"expected_calls": calls}, match="state", expected_state={"refunded": 0.3})
    result = score_messages(suite, "one", messages_of([refund(0.1), refund(0.2)]))
    assert [check.value for check in result.scores["state"].checks] == [1.0, 0.0]  # 0.3 is in the suite


def test_a_recorded_run_with_which_the_world_disagrees_is_an_error(shop: Path) -> None:
    suite = suite_of(shop, STATE)
    declined = refund(40, ok=False)
    for wrong in ([declined], [("refund", {"amount": 4000}, {"refunded": 4000}), refund(40)]):
        with pytest.raises(ScoringError, match=r'the world disagree: .*"answers": "recorded"'):
            score_messages(suite, "one", messages_of(wrong))
    result = score_messages(suite_of(shop, STATE, answers="recorded"), "one", messages_of([declined]))
    assert result.passed
    (line,) = result.differing
    assert '"ok": false' in line
    assert '"ok": true' in line


def test_other_differences_from_a_recorded_run_are_shown(shop: Path) -> None:
    result = score_messages(suite_of(shop, STATE), "one", messages_of([refund(40, id=8)]))
    assert result.passed
    assert len(result.differing) == 1
    # An agent may put an error into its own words, and a world may have failed in the run as well.
    words = ("refund", {"amount": 4000}, "Sorry: ValueError: too much")
    assert score_messages(suite_of(shop, STATE), "one", messages_of([words, refund(40)])).differing == ()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"tool": "refund", "params": {"amonut": 40}}, "no parameter amonut, did you mean amount"),
        ({"tool": "refund", "params": {}}, "missing a required argument: 'amount'"),
    ],
)
def test_an_expected_call_that_cannot_run_judges_nobody(
    shop: Path, call: dict[str, Any], why: str
) -> None:
    suite = suite_of(shop, {"expected_calls": [call], "match": "state"})
    for made in ([], [refund(40)]):
        with pytest.raises(ScoringError, match=f"cannot run.*{why}"):
            score_messages(suite, "one", messages_of(made))


def test_an_expected_call_may_answer_with_an_error_if_it_changes_the_state(shop: Path) -> None:
    suite = suite_of(shop, {"expected_calls": [{"tool": "broken"}], "match": "state"})
    receipt: tuple[str, dict[str, Any], Any] = ("broken", {}, {"error": "printed no receipt"})
    assert score_messages(suite, "one", messages_of([receipt])).passed
    assert not score_messages(suite, "one", messages_of([])).passed


@pytest.mark.parametrize(
    ("turn", "case", "passes"),
    [
        ({"expected_calls": [], "match": "state"}, {}, True),
        ({"expected_state": {"refunded": 0}, "may_change_nothing": True}, {}, True),
        ({"expected_state": {"refunded": 0}}, {"may_change_nothing": True}, True),
        ({"expected_state": {"refunded": 0}}, {}, None),
        ({"expected_calls": [{"tool": "move", "params": {"city": ""}}], "match": "state"}, {}, None),
        # A lower threshold, or a text, does not change that nothing was looked at.
        (
            {"expected_state": {"refunded": 0}, "expected_text": ["refunded"]},
            {"thresholds": {"overall": 0.5}},
            None,
        ),
        # Neither does an end that is expected.
        ({"expected_state": {"refunded": 0}}, {"expected_stop": True}, None),
    ],
)
def test_an_agent_that_does_nothing_passes_only_where_the_case_says_so(
    shop: Path, turn: dict[str, Any], case: dict[str, Any], passes: bool | None
) -> None:
    suite = suite_of(shop, turn, **case)
    if passes is None:
        with pytest.raises(ScoringError, match="an agent that makes no call passes"):
            score_messages(suite, "one", messages_of([]))
    else:
        assert score_messages(suite, "one", messages_of([])).passed


def test_parallel_calls_are_played_in_the_order_of_their_answers(shop: Path) -> None:
    expected = [{"tool": "move", "params": {"city": city}} for city in ("Oslo", "Rome")]
    suite = suite_of(shop, {"expected_calls": expected, "match": "state"})

    def run(*order: str) -> bool:
        calls = [
            {
                "id": city,
                "type": "function",
                "function": {"name": "move", "arguments": json.dumps({"city": city})},
            }
            for city in ("Rome", "Oslo")
        ]
        answers: list[dict[str, Any]] = [
            {"role": "tool", "tool_call_id": city, "content": "ok"} for city in order
        ]
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "go"},
            message,
            *answers,
            {"role": "assistant", "content": "."},
        ]
        return score_messages(suite, "one", messages).passed

    assert run("Oslo", "Rome")
    assert not run("Rome", "Oslo")


@pytest.mark.parametrize("expected", [40, 40.0, "40.00", {"$approx": {"value": 40, "abs": 0.5}}])
def test_an_amount_is_expected_as_a_number_or_as_its_text(tmp_path: Path, expected: Any) -> None:
    code = """
import datetime as dt
from decimal import Decimal

class Shop:
    def __init__(self): self.paid, self.at = Decimal("0.00"), None
    def pay(self):
        self.paid += Decimal("40.00")
        self.at = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
"""
    (tmp_path / "shop.py").write_text(code, encoding="utf-8")
    state = {"paid": expected, "at": "2026-01-01T13:00:00+01:00"}
    suite = suite_of(tmp_path, {"expected_state": state})
    assert score_messages(suite, "one", messages_of([("pay", {}, "null")])).passed
    assert not score_messages(suite, "one", messages_of([("pay", {}, "null")] * 2)).passed


@pytest.mark.parametrize(
    ("code", "turn", "why"),
    [
        # Nothing could show that this agent should have changed nothing.
        ("self._n = 0", {"expected_calls": [], "match": "state"}, "shows no state: Shop._n is private"),
        ("self.n = 0", {"expected_state": {"m": 1}}, "Shop has no m in its state"),
        # It would always be absent.
        ("self.n = {}", {"expected_state": {"m.A": {"$absent": True}}}, "Shop has no m in its state"),
        ("self.n = 0", {"expected_state": {"total": 1}}, "Shop.total is a property, which is not read"),
        (
            "self.n = {}",
            {"expected_calls": [{"tool": "pay", "params": {"order": "A"}}], "match": "state"},
            "as pay answers .*KeyError",
        ),
    ],
)
def test_why_a_world_cannot_judge_is_said(tmp_path: Path, code: str, turn: Any, why: str) -> None:
    (tmp_path / "shop.py").write_text(
        f"class Shop:\n  def __init__(self): {code}\n"
        "  def pay(self, order: str = ''): return self.n[order] if order else 'ok'\n"
        "  @property\n  def total(self): return 1\n"
    )
    suite = suite_of(tmp_path, turn)
    runs: list[list[Any]] = [[], [("pay", {}, "ok")]]
    for made in runs:
        with pytest.raises(ScoringError, match=why):
            score_messages(suite, "one", messages_of(made))


def test_a_world_may_be_a_pydantic_model(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from pydantic import BaseModel\n"
        "class Shop(BaseModel):\n  paid: int = 0\n  def pay(self) -> None: self.paid += 1\n"
    )
    suite = suite_of(tmp_path, {"expected_calls": [PAY], "match": "state"})
    assert [tool.name for tool in suite.tools] == ["pay"]
    assert score_messages(suite, "one", messages_of([("pay", {}, "null")])).passed
    assert not score_messages(suite, "one", messages_of([])).passed
