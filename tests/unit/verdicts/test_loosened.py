"""What makes it easier to pass: gates and cases, before and now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import result_of, tool

from pytest_tooleval.record.gates import Gate
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.verdicts.loosened import loosened_cases, loosened_gates


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
        (gate(0.9), [gate(0.5)], ["gate loosened: pass_rate of gpt, at least 0.9; now 0.5"]),
        (gate(0.9), [gate(0.95)], []),
        (gate(2, over=True, metric="calls"), [gate(1, over=True, metric="calls")], []),
        (
            gate(2, over=True, metric="calls"),
            [gate(3, over=True, metric="calls")],
            ["gate loosened: calls of gpt, at most 2; now 3"],
        ),
        # 2% of 100 cases, and then of 200.
        (gate(2, over=True, metric="errors"), [gate(4, over=True, metric="errors", cases=200)], []),
        (
            gate(2, over=True, metric="errors"),
            [gate(5, over=True, metric="errors", cases=200)],
            ["gate loosened: errors of gpt, at most 2; now 5"],
        ),
        (gate(0.9), [], ["gate removed: pass_rate of gpt, at least 0.9"]),
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
    ],
)
def test_cases(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    earlier, suite = (
        parse_suite(
            json.dumps({"name": "W", "tools": [tool("get_weather")], "test_cases": [{**CASE, **each}]}),
            "w.tooleval.json",
        )
        for each in (old, new)
    )
    assert list(loosened_cases(suite, earlier)) == expected
