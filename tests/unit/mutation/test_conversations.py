"""Which wrong conversations a case with turns lets pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_tooleval import load_suite
from pytest_tooleval.mutation.answers import right_answers
from pytest_tooleval.mutation.mutants import mutants
from pytest_tooleval.mutation.results import CaseMutation
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [
    tool("refund", order={"type": "string"}, amount={"type": "number"}),
    tool("look"),
    tool("delete_all"),
]


def mutated(*turns: dict[str, Any], **case: Any) -> CaseMutation:
    test = {"id": "one", "turns": [{"prompt": "?", **turn} for turn in turns], **case}
    suite = {"name": "s", "tools": TOOLS, "test_cases": [test]}
    (found,) = mutate_suite(Suite.model_validate(suite)).cases
    return found


def gaps(found: CaseMutation) -> set[tuple[str, str, str, str]]:
    return {(each.kind, each.gap, each.to, each.add) for each in found.survivors}


REFUND = {"tool": "refund", "params": {"order": "A1", "amount": 40}}


def test_a_conversation_that_names_everything_notices_everything() -> None:
    text = ["order A1", {"$number": 40}, {"$regex": "refunded"}, {"$not": "sorry"}, {"$judge": "x"}]
    found = mutated({"expected_calls": []}, {"expected_calls": [REFUND], "expected_text": text})

    assert found.calls is not None
    assert [call.name for call in found.calls] == ["refund"]
    assert found.mutants > 10
    assert gaps(found) == set()


def test_what_a_conversation_does_not_look_at() -> None:
    found = mutated(
        {"forbidden_calls": ["refund"]},
        {"expected_calls": [{"tool": "refund", "params": {"order": "A1"}}], "match": "contains"},
    )

    forbid = '"forbidden_calls": ["delete_all"]'
    named = ("argument_not_named", "turns[1].expected_calls[0].params", '"amount": ...')
    assert gaps(found) == {
        ("destructive_call", "free_calls", "turns[0]", forbid),
        ("further_call", "calls_not_looked_at", "turns[0]", '"expected_calls": []'),
        ("wrong_value", *named),
        ("off_by_one", *named),
        ("further_call", "free_calls", "turns[1]", '"max_calls": 1'),
        ("destructive_call", "free_calls", "turns[1]", forbid),
    }


def test_a_state_that_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(
        "class Desk:\n    def __init__(self): self.n = 0\n    def look(self): return 1\n"
    )
    case = {
        "expected_calls": [{"tool": "look"}],
        "match": "state",
        "world": "desk:Desk",
        "may_change_nothing": True,
    }

    def found(**fields: Any) -> CaseMutation:
        test = {"id": "one", "turns": [{"prompt": "?"}], **case, **fields}
        data = {"name": "s", "tools": [tool("look")], "test_cases": [test]}
        path = tmp_path / "s.tooleval.json"
        path.write_text(json.dumps(data))
        (only,) = mutate_suite(load_suite(path)).cases
        return only

    nothing = ("nothing_changes", "the case", '"results": true')
    valid = {"arguments_valid": 1.0}
    assert gaps(found(thresholds=valid)) == {("no_call", *nothing)}
    assert gaps(found(thresholds=valid, results=True)) == set()


def test_wrong_agents_in_a_world(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(
        "class Desk:\n"
        "  def __init__(self):\n"
        "    self.orders = {'A1': {'paid': 0, 'by': 'ada'}, 'B2': {'paid': 0, 'by': 'bob'}}\n"
        "  def refund(self, order: str, amount: float): self.orders[order]['paid'] += amount\n"
        "  def close(self, order: str): self.orders[order]['paid'] *= 2\n"
    )
    close = {"tool": "close", "params": {"order": "A1"}}
    test = {"id": "one", "turns": [{"prompt": "?"}], "expected_calls": [REFUND, close], "match": "state"}
    path = tmp_path / "s.tooleval.json"
    path.write_text(json.dumps({"name": "s", "world": "desk:Desk", "test_cases": [test]}))
    suite = load_suite(path)
    case = resolve(suite, suite.test_cases[0])
    made = [
        (mutant.kind, [(call.name, *(call.arguments or {}).values()) for call in mutant.turn.replies[0]])
        for mutant, _ in mutants(case, right_answers(case)[0])
        if mutant.kind in ("half_done", "another_record", "wrong_order")
    ]
    assert made == [
        ("half_done", [("refund", "A1", 40)]),
        ("wrong_order", [("close", "A1"), ("refund", "A1", 40)]),
        ("another_record", [("refund", "B2", 40), ("close", "A1")]),
        ("another_record", [("refund", "A1", 40), ("close", "B2")]),
    ]
    (found,) = mutate_suite(suite).cases
    assert found.survivors == ()


def test_calls_that_are_expected_of_the_whole_case() -> None:
    found = mutated({}, {}, expected_calls=[REFUND], expected_text=["done"])

    assert found.survivors == ()
    assert found.mutants > 5


def test_no_right_conversation_is_known() -> None:
    refused = mutated({"expected_calls": [REFUND], "forbidden_calls": ["refund"]})

    assert refused.calls is None
    assert "refund" in refused.unknown
