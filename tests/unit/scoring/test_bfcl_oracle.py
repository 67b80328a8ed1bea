"""Pass and fail against an independent judge: BFCL's own checker on 4,417 answers."""

from __future__ import annotations

import json
from typing import Any

from bfcl_data import bfcl_file

from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.case import TestCase
from pytest_tooleval.suite.model import Suite

# What is not worth copying: greedy pairing, and Python's True == 1 inside objects.
GREEDY = [("parallel_178", "reordered_reverse", "invalid")]
TRUE_IS_1 = [
    "live_simple_40-17-0",
    "live_simple_40-17-0",
    "live_simple_41-17-1",
    "live_simple_41-17-1",
    "live_simple_42-17-2",
    "live_simple_42-17-2",
    "live_simple_43-17-3",
    "live_simple_43-17-3",
    "live_simple_44-18-0",
    "live_simple_44-18-0",
    "live_simple_45-18-1",
    "live_simple_45-18-1",
    "live_simple_51-23-0",
]


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in bfcl_file("oracle.jsonl").read_text("utf-8").splitlines()]


def _cases() -> dict[str, tuple[Suite, TestCase]]:
    files = bfcl_file("").glob("*.tooleval.json")
    suites = [Suite.model_validate_json(path.read_text("utf-8")) for path in files]
    return {str(case.id): (suite, case) for suite in suites for case in suite.test_cases}


def test_agrees_with_bfcl_on_all_but_what_is_not_worth_copying() -> None:
    cases = _cases()
    lines = _lines()

    disagreed = [
        (line["id"], line["mutation"], line["bfcl_verdict"])
        for line in lines
        if score_calls(*cases[line["id"]], line["calls"]).passed != (line["bfcl_verdict"] == "valid")
    ]

    assert len(lines) == 4417
    assert sorted(disagreed) == sorted(GREEDY + [(id, "dict_bool_as_int", "valid") for id in TRUE_IS_1])


def test_every_failed_answer_has_one_category() -> None:
    cases = _cases()
    for line in _lines():
        result = score_calls(*cases[line["id"]], line["calls"])
        assert (result.failure is None) == result.passed
        assert result.failure != "below_threshold"
