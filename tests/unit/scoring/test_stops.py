"""`expected_stop`: an agent that must itself end its run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import calling, tool

from pytest_tooleval import SuiteError, TrialResult, score_messages
from pytest_tooleval.suite.load import parse_suite

ASKED = {"role": "user", "content": "Pay 900."}
LOOKED = [calling("look", city="x"), {"role": "tool", "tool_call_id": "c1", "content": "{}"}]
PAID = [calling("pay", city="x"), {"role": "tool", "tool_call_id": "c1", "content": "{}"}]


def ended(reason: str, message: str = "over budget") -> dict[str, Any]:
    return {"role": "assistant", "content": None, "finish_reason": reason, "refusal": None} | (
        {"error": {"message": message}} if reason == "error" else {}
    )


def score(stop: Any, *messages: dict[str, Any], **case: Any) -> TrialResult:
    made = {"prompt": "Pay 900.", "expected_calls": [{"tool": "look"}], "expected_stop": stop, **case}
    data = {"name": "s", "tools": [tool("look"), tool("pay")], "test_cases": [made]}
    suite = parse_suite(json.dumps(data))
    return score_messages(suite, suite.test_cases[0], [ASKED, *messages])


@pytest.mark.parametrize(
    ("stop", "reason", "failure"),
    [
        (True, "gave_up", None),
        (True, "gave_up_limit", None),
        ("limit", "gave_up_limit", None),
        ("limit", "gave_up_guardrail", "gave_up"),
        ("guardrail", "gave_up_guardrail", None),
        ("guardrail", "gave_up", "gave_up"),
        ({"$contains": "GUARDRAIL"}, "gave_up_guardrail", None),
        ({"$contains": "budget"}, "gave_up_guardrail", "gave_up"),
        (True, "refusal", "refused"),
        (True, "max_tokens", "cut_off"),
        (True, "stop", "not_stopped"),
        (None, "gave_up", "gave_up"),
    ],
)
def test_only_the_end_that_is_expected_passes(stop: Any, reason: str, failure: str | None) -> None:
    last = {**ended(reason), **({"content": "Done."} if reason == "stop" else {})}
    result = score(stop, *LOOKED, last)
    assert (result.passed, result.failure) == (failure is None, failure)
    assert (result.values["overall"] == 1.0) == (failure is None)


def test_the_calls_before_the_end_are_judged() -> None:
    result = score(True, *PAID, ended("gave_up"))
    assert (result.passed, result.failure) == (False, "wrong_tool")
    forbidden = score("limit", *LOOKED, *PAID, ended("gave_up_limit"), forbidden_calls=["pay"])
    assert forbidden.failure == "forbidden_call"


def test_an_agent_that_goes_on_is_told_of() -> None:
    result = score("guardrail", *LOOKED, {"role": "assistant", "content": "Paid."})
    assert result.mistake == 'the agent did not end its run itself, as it should ("guardrail")'


@pytest.mark.parametrize(
    ("case", "field"),
    [
        ({"expected_stop": "budget"}, "expected_stop"),
        ({"expected_stop": {"contains": "x"}}, "expected_stop"),
        ({"expected_stop": True, "expected_calls": [], "tool_choice": "required"}, "tool_choice"),
    ],
)
def test_one_mistake_is_one_problem(case: dict[str, Any], field: str) -> None:
    with pytest.raises(SuiteError) as caught:
        score(True, **case)
    (problem,) = caught.value.problems
    assert problem.field == f"test_cases[0].{field}"
