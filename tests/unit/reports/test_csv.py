"""CSV: a row per trial, numbers as numbers, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.results import Score, TrialResult
from pytest_tooleval.reports.csv import csv_text

from .samples import any_text, document, no_answer, row, trial

PARIS = ToolCall.parse("get_weather", '{"city": "Paris"}')


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def rows(*cases: dict[str, Any]) -> list[dict[str, str]]:
    return read(csv_text(document(*cases)))


def test_a_trial_in_full() -> None:
    measured = {"latency_s": 1.5, "prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.25}
    one = trial(0, 0.6, PARIS, **measured, reasoning_tokens=1, cached=True)
    [found] = rows(row("failed", one, tags=("smoke", "fast")))
    assert found == {
        "is_cost_partial": "false",
        "run": "20261122-101530-3fa9c1",
        "suite": "Weather",
        "file": "weather.tooleval.json",
        "line": "21",
        "case": "paris",
        "model": "gpt-4o",
        "variant": "",
        "outcome": "failed",
        "counted": "false",
        "tolerated": "false",
        "trial": "0",
        "passed": "false",
        "failure": "wrong_value",
        "score.overall": "0.6",
        "latency_s": "1.5",
        "prompt_tokens": "10",
        "completion_tokens": "2",
        "reasoning_tokens": "1",
        "cost_usd": "0.25",
        "others_cost_usd": "",
        "cached": "true",
        "tags": "smoke fast",
        "reason": "overall 0.60 < 1.00 (wrong value)",
        "error": "",
        "calls": '[{"name": "get_weather", "arguments": {"city": "Paris"}}]',
    }


def test_a_trial_without_an_answer_says_why() -> None:
    found = rows(row("error", no_answer(0), trial(1)))
    assert [r["error"] for r in found] == ["timeout: too slow", ""]
    assert (found[0]["score.overall"], found[0]["calls"]) == ("", "")


def test_what_is_unknown_is_empty_and_never_zero() -> None:
    [found] = rows(row("passed", trial(0), line=0))
    names = ("line", "latency_s", "prompt_tokens", "completion_tokens", "cost_usd")
    assert {found[name] for name in names} == {""}


def scored(*metrics: str) -> dict[str, Any]:
    return row("passed", TrialResult(scores={metric: Score(0.5) for metric in metrics}))


def test_metrics_stand_in_the_same_order_whichever_case_comes_first() -> None:
    first, second = scored("zeal", "efficiency", "overall"), scored("grounded", "tool_selection")
    headers = [
        csv_text(document(*cases)).splitlines()[0] for cases in ([first, second], [second, first])
    ]
    assert headers[0] == headers[1]
    metrics = re.findall(r"score\.(\w+)", headers[0])
    assert metrics == ["overall", "tool_selection", "efficiency", "grounded", "zeal"]


def test_a_number_that_is_none_is_left_out() -> None:
    [found] = rows(row("passed", TrialResult(scores={"overall": Score(math.nan)})))
    assert found["score.overall"] == ""


def test_lines_end_as_the_rfc_says() -> None:
    text = csv_text(document(row("passed", trial())))
    assert text.endswith("\r\n")
    assert text.count("\r\n") == text.count("\n") == 2


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "＝1", "a;=1", "a; =1;@b"]
)
def test_formulas_are_made_text(text: str) -> None:
    [found] = rows(row("failed", reason=text))
    assert not re.search(r"(^|;)\s*[=+\-@\t\r＝＋－＠]", found["reason"])
    assert found["reason"].replace("'", "").replace("\\t", "\t").replace("\\r", "\r") == text


def test_text_that_is_no_formula_stays_as_it_is() -> None:
    text = '0.60 < 1.00; wrong - or not, "it\'s" 100% größer 日本語 a=b'
    [found] = rows(row("failed", reason=text))
    assert found["reason"] == text


def test_negative_numbers_stay_numbers() -> None:
    [found] = rows(row("passed", TrialResult(scores={"overall": Score(-0.5)})))
    assert found["score.overall"] == "-0.5"


def test_arguments_that_are_no_object_are_the_text_that_came() -> None:
    [found] = rows(row("failed", trial(0, 0.0, ToolCall.parse("f", "{oops"))))
    assert json.loads(found["calls"]) == [{"name": "f", "arguments": "{oops"}]


def check_cells(found: dict[str, str]) -> None:
    for cell in found.values():
        assert cell.isprintable()
        assert not re.search(r"(^|;)\s*[=+\-@＝＋－＠]", cell)


@given(any_text, any_text)
def test_hostile_text_stays_one_cell(one: str, two: str) -> None:
    case = row("failed", no_answer(0, one), suite=one, case=two, model=two, reason=one, tags=(two,))
    text = csv_text(document(case, id=two))
    [found] = read(text)
    check_cells(found)
    assert text.count("\n") == 2
    text.encode()


@given(any_text, any_text)
def test_hostile_calls_read_back_as_they_were(name: str, value: str) -> None:
    call = ToolCall(name, {name: [value, {"deep": value}], "n": 1})
    [found] = rows(row("passed", trial(0, 1.0, call)))
    check_cells(found)
    assert json.loads(found["calls"]) == [{"name": call.name, "arguments": call.arguments}]


def test_a_hostile_metric_is_a_column_like_others() -> None:
    header = csv_text(document(scored("=1+1\n"))).splitlines()[0]
    assert "score.=1+1\\n" in header.split(",")
