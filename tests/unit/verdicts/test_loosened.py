"""What makes it easier to pass: gates and cases, before and now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import result_of, tool

from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import Score, TrialResult
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.loosened import by_text, loosened_cases, loosened_gates
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side
from unit.history.runs import run_of


def gate(needed: float, *, over: bool = False, metric: str = "pass_rate", **fields: Any) -> Gate:
    known: dict[str, Any] = {"model": "gpt", "of": "gpt", "cases": 100, **fields}
    return Gate(
        kind="fail_over" if over else "fail_under",
        name=f"{metric} of gpt",
        verdict="passed",
        failed=False,
        message="",
        metric=metric,
        needed=needed,
        **known,
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (gate(0.9), [gate(0.5)], ["gate pass_rate of gpt: at least 0.9 -> 0.5"]),
        (gate(0.9), [gate(0.95)], []),
        (gate(2, over=True, metric="calls"), [gate(1, over=True, metric="calls")], []),
        (
            gate(2, over=True, metric="calls"),
            [gate(3, over=True, metric="calls")],
            ["gate calls of gpt: at most 2 -> 3"],
        ),
        # 2% of 100 cases, and then of 200.
        (gate(2, over=True, metric="errors"), [gate(4, over=True, metric="errors", cases=200)], []),
        (
            gate(2, over=True, metric="errors"),
            [gate(5, over=True, metric="errors", cases=200)],
            ["gate errors of gpt: at most 2 -> 5"],
        ),
        (gate(0.9), [], ["gate removed: pass_rate of gpt: at least 0.9"]),
        # This run does not ask that model, or did not select that suite.
        (gate(0.9, model="other", of="other"), [], []),
        (gate(0.9, scope="suite", of="Other"), [], []),
    ],
)
def test_gates(old: Gate, new: list[Gate], expected: list[str]) -> None:
    assert list(loosened_gates([old], new, [result_of(model="gpt")])) == expected


CASE = {"id": "rome", "prompt": "Rome?", "expected_tool": "get_weather"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {}, []),
        ({}, {"thresholds": {"overall": 0.5}}, ["threshold of overall 1 -> 0.5: rome"]),
        ({"thresholds": {"overall": 0.9}}, {"thresholds": {"overall": 0.95}}, []),
        (
            {},
            {"thresholds": {"no_extra_calls": None}},
            ["threshold of no_extra_calls removed, was 1: rome"],
        ),
        (
            {"thresholds": {"max_calls": 2}},
            {"thresholds": {"max_calls": 3}},
            ["limit of max_calls 2 -> 3: rome"],
        ),
        ({}, {"skip": "flaky"}, ["new skip: rome"]),
        ({"xfail": True}, {"xfail": "still"}, []),
        ({}, {"xfail": True}, ["new xfail: rome"]),
        ({}, {"id": "oslo"}, ["removed: rome"]),
        ({"pass": "4/5"}, {"pass": "2/5"}, ["pass 4/5 -> 2/5: rome"]),
        ({"pass": "2/5"}, {"pass": "4/5"}, []),
        ({}, {"pass": "4/5"}, ["pass mean -> 4/5: rome"]),
        ({"pass": "any", "trials": 3}, {"trials": 3}, []),
        ({"pass": "all"}, {"pass": "5/5"}, []),
        (
            {"forbidden_calls": ["pay", "delete"]},
            {"forbidden_calls": ["delete"]},
            ["forbidden call removed or narrowed: pay: rome"],
        ),
        (
            {"forbidden_calls": ["pay"]},
            {"forbidden_calls": [{"tool": "pay", "params": {"city": "me"}}]},
            ["forbidden call removed or narrowed: pay: rome"],
        ),
        (
            {"forbidden_calls": [{"tool": ["pay", "give"], "params": {"city": "me"}}]},
            {"forbidden_calls": [{"params": {"city": "me"}, "tool": "give"}]},
            ['forbidden call removed or narrowed: pay {"params": {"city": "me"}}: rome'],
        ),
        (
            {"forbidden_calls": [{"tool": "pay", "params": {"city": "me"}}]},
            {"forbidden_calls": ["pay"]},
            [],
        ),
        ({"forbidden_calls": ["pay"]}, {"forbidden_calls": "*"}, []),
    ],
)
def test_cases(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    tools = [tool(name) for name in ("get_weather", "pay", "give", "delete")]
    earlier, suite = (
        parse_suite(
            json.dumps({"name": "W", "tools": tools, "test_cases": [{**CASE, **each}]}),
            "w.tooleval.json",
        )
        for each in (old, new)
    )
    assert by_text(loosened_cases(suite, earlier)) == expected


def test_what_an_option_loosens_shows_in_the_cases_of_both_runs() -> None:
    trials = (TrialResult(passed=True, scores={"overall": Score(1.0)}),)
    old = result_of(trials=trials, scores={"overall": 1.0}, thresholds={"overall": 1.0, "policies": 1.0})
    new = result_of(trials=trials, scores={"overall": 1.0}, thresholds={"overall": 0.5}, pass_rule="any")
    found = compare_runs(Side("old", run_of(), [old]), Side("new", run_of(), [new]), ComparisonRules())
    assert [(each.case, each.what) for each in found.loosened] == [
        (new.case, "threshold of overall 1 -> 0.5"),
        (new.case, "threshold of policies removed, was 1"),
        (new.case, "pass mean -> any"),
    ]
    assert (
        compare_runs(
            Side("old", run_of(), [new]), Side("new", run_of(), [old]), ComparisonRules()
        ).loosened
        == ()
    )
