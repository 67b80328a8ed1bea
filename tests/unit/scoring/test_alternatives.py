"""Optional calls, several right lists of calls, and "this call or none"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import tool

from pytest_tooleval import Suite, SuiteError, TrialResult, score_calls, score_messages
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.scoring.evidence.rehearsal import rehearse
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import resolve

X: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}}


def expected(name: str, x: int = 1, **fields: Any) -> dict[str, Any]:
    return {"tool": name, "params": {"x": x}, **fields}


def made(*calls: str) -> list[dict[str, Any]]:
    """`a2` is a call of `a` with x = 2; `a` one with x = 1."""
    return [{"name": call[0], "arguments": {"x": int(call[1:] or 1)}} for call in calls]


def suite_of(**case: Any) -> Suite:
    tools = [tool(name, X) for name in "abc"]
    return parse_suite(
        json.dumps({"name": "s", "tools": tools, "test_cases": [{"prompt": "p", **case}]})
    )


OPTIONAL: dict[str, Any] = {"expected_calls": [expected("a"), expected("b", optional=True)]}
TWICE: dict[str, Any] = {"expected_calls": [expected("a", optional=True), expected("a")]}
IN_ORDER: dict[str, Any] = {**OPTIONAL, "call_order": "strict"}
ONLY_OPTIONAL: dict[str, Any] = {"expected_calls": [expected("b", optional=True)]}
ANY_OF: dict[str, Any] = {
    "expected_calls": {"$any_of": [[expected("a"), expected("b")], [expected("c")]]}
}
OR_NONE: dict[str, Any] = {"expected_calls": {"$any_of": [[expected("a")], []]}}
NULL: dict[str, Any] = {"expected_tool": ["a", "b", None], "expected_params": {"x": 1}}


@pytest.mark.parametrize(
    ("case", "answers"),
    [
        (OPTIONAL, {"a": 1.0, "a b": 1.0, "b a": 1.0, "a b2": 0.8, "b": 0.5, "a c": 0.5, "": 0.0}),
        # The one call that was made is the one that had to be.
        (TWICE, {"a": 1.0, "a a": 1.0, "": 0.0, "a a a": 2 / 3}),
        (IN_ORDER, {"a": 1.0, "a b": 1.0, "b a": 0.5}),
        (ONLY_OPTIONAL, {"": 1.0, "b": 1.0, "b2": 0.6, "c": 0.0, "b c": 0.5}),
        (ANY_OF, {"a b": 1.0, "c": 1.0, "a": 0.5, "a b c": 2 / 3, "": 0.0}),
        (OR_NONE, {"": 1.0, "a": 1.0, "a2": 0.6, "b": 0.0}),
        (NULL, {"": 1.0, "a": 1.0, "b": 1.0, "a2": 0.6, "c": 0.4}),
    ],
)
def test_what_an_answer_scores(case: dict[str, Any], answers: dict[str, float]) -> None:
    suite = suite_of(**case)
    for answer, overall in answers.items():
        result = score_calls(suite, suite.test_cases[0], made(*answer.split()))
        assert result.values["overall"] == pytest.approx(overall), answer
        assert result.passed == (overall == 1.0), answer


def test_the_explanation_names_the_alternative() -> None:
    suite = suite_of(**ANY_OF)
    found = score_calls(suite, suite.test_cases[0], made("c"))
    assert found.scores["overall"].explanation == "by alternative 2 of 2: 1 = (1) / 1"


@pytest.mark.parametrize(
    ("case", "choice"),
    [
        (OPTIONAL, "required"),
        (ONLY_OPTIONAL, "auto"),
        (ANY_OF, "required"),
        (OR_NONE, "auto"),
        (NULL, "auto"),
    ],
)
def test_no_call_is_forced_where_none_is_right(case: dict[str, Any], choice: str) -> None:
    suite = suite_of(**case)
    assert resolve(suite, suite.test_cases[0]).tool_choice == choice


@pytest.mark.parametrize(
    ("case", "field", "message"),
    [
        ({**NULL, "tool_choice": "required"}, "tool_choice", "making none is also right"),
        ({**NULL, "multi_turn": True}, "expected_tool[2]", "a chain ends with a call; remove null"),
        ({"expected_calls": {"$any_of": []}}, "expected_calls.$any_of", "one or more lists of calls"),
        (
            {"expected_tool": "a", "forbidden_calls": [expected("b", optional=True)]},
            "forbidden_calls[0].optional",
            "only for expected_calls",
        ),
    ],
)
def test_one_mistake_is_one_problem(case: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        suite_of(**case)
    (problem,) = caught.value.problems
    assert problem.field == f"test_cases[0].{field}"
    assert message in problem.message


DESK = """
class Desk:
    def __init__(self):
        self.orders = {"A1": {"refunded": 0, "note": ""}}
        self.mails = []
    def refund(self, order: str, amount: int):
        self.orders[order]["refunded"] += amount
        return {"ok": True}
    def note(self, order: str, text: str):
        self.orders[order]["note"] = text
        return {"ok": True}
    def mail(self, to: str):
        self.mails.append(to)
        return {"sent": to}
"""
REFUND = {"tool": "refund", "params": {"order": "A1", "amount": 40}}
NOTE = {"tool": "note", "params": {"order": "A1", "text": "no"}}
MAIL = {"tool": "mail", "params": {"to": "ann"}, "optional": True}


def talk(folder: Path, *turns: dict[str, Any], **case: Any) -> Suite:
    (folder / "desk.py").write_text(DESK, encoding="utf-8")
    written = [{"prompt": "go on", **turn} for turn in turns]
    data = {"name": "s", "world": "desk:Desk", "test_cases": [{"id": "one", "turns": written, **case}]}
    return parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))


def played(suite: Suite, *turns: list[tuple[str, dict[str, Any]]]) -> TrialResult:
    messages: list[dict[str, Any]] = []
    for calls in turns:
        messages.append({"role": "user", "content": "go on"})
        for name, arguments in calls:
            function = {"name": name, "arguments": json.dumps(arguments)}
            wire = [{"id": "c", "type": "function", "function": function}]
            messages.append({"role": "assistant", "content": None, "tool_calls": wire})
            messages.append({"role": "tool", "tool_call_id": "c", "content": None})
        messages.append({"role": "assistant", "content": "Done."})
    return score_messages(suite, suite.case("one"), messages)


def call_of(expected: dict[str, Any], **changed: Any) -> tuple[str, dict[str, Any]]:
    return expected["tool"], {**expected["params"], **changed}


def test_a_state_is_that_of_an_alternative_and_of_the_optional_calls_that_were_made(
    tmp_path: Path,
) -> None:
    suite = talk(
        tmp_path,
        {"expected_calls": {"$any_of": [[REFUND, MAIL], [NOTE]]}},
        {"expected_calls": [{**MAIL, "params": {"to": "bob"}, "optional": False}]},
        match="state",
        answers="recorded",
    )
    refund, note, mail = (call_of(each) for each in (REFUND, NOTE, MAIL))
    bob = call_of(MAIL, to="bob")
    for first, passes in [
        ([refund], True),
        ([refund, mail], True),
        ([note], True),  # the second turn goes on from the list that was taken
        ([note, mail], False),
        ([refund, call_of(MAIL, to="eve")], False),
        ([], False),
        ([refund, note], False),
    ]:
        assert played(suite, first, [bob]).passed == passes, first


def test_every_result_of_the_list_that_was_taken_counts(tmp_path: Path) -> None:
    looks = {"expected_calls": {"$any_of": [[REFUND], [NOTE]]}, "match": "state", "results": True}
    suite = talk(tmp_path, looks)
    assert played(suite, [call_of(NOTE)]).passed
    assert played(suite, [call_of(REFUND)]).passed


@pytest.mark.parametrize(
    ("match", "calls", "passes"),
    [
        ("exact", [NOTE], True),
        ("exact", [REFUND, NOTE], False),
        ("contains", [MAIL, NOTE], True),
        ("contains", [MAIL], False),
        ("within", [REFUND], True),
        ("within", [REFUND, NOTE], False),
    ],
)
def test_each_list_is_judged_by_the_match_of_its_turn(
    tmp_path: Path, match: str, calls: list[dict[str, Any]], passes: bool
) -> None:
    turn = {"expected_calls": {"$any_of": [[REFUND], [NOTE]]}, "match": match}
    suite = talk(tmp_path, {**turn, "may_change_nothing": True})
    assert played(suite, [call_of(each) for each in calls]).passed == passes


def test_each_list_is_run_on_the_world_before_any_model_is_asked(tmp_path: Path) -> None:
    wrong = {"tool": "refund", "params": {"order": "B7", "amount": 1}}
    suite = talk(tmp_path, {"expected_calls": {"$any_of": [[REFUND], [NOTE, wrong]]}})
    (found,) = rehearse(suite)
    assert found.loc == ("test_cases", 0, "turns", 0, "expected_calls", "$any_of", 1, 1)


def test_mutants_of_every_list_are_made_and_what_is_allowed_is_no_survivor() -> None:
    for case in (OPTIONAL, ANY_OF, OR_NONE, NULL):
        found = mutate_suite(suite_of(**case)).cases[0]
        assert found.legal, case
        assert not [each for each in found.survivors if each.gap != "undeclared_arguments"], case
    every = mutate_suite(suite_of(**ANY_OF)).cases[0].mutants
    assert every > mutate_suite(suite_of(expected_calls=[expected("a"), expected("b")])).cases[0].mutants
