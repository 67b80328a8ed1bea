"""Conversations that ended without a usable answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.no_answer import NoAnswer
from pytest_tooleval.record.results import Score, TrialResult
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_messages, score_transcript
from pytest_tooleval.suite.case import ResolvedCase

from .cases import call, resolved, suite_of

REFUSED = NoAnswer("refused", "No.")
MESSAGE = {"role": "assistant", "content": None}


def unanswered(*calls: ToolCall, **case: Any) -> TrialResult:
    replies = [Reply(message=MESSAGE, calls=(made,)) for made in calls]
    return score_transcript(
        resolved(**case), Transcript((), (*replies, Reply(message=MESSAGE, no_answer=REFUSED)))
    )


@pytest.mark.parametrize(
    "case",
    [
        {"expected_tool": None},
        {"expected_calls": []},
        {"expected_tool": None, "thresholds": {"overall": 0.0}},
        {"expected_tool": None, "thresholds": {"arguments_valid": 1.0}},
        {"expected_tool": "get_weather"},
        {"expected_tool": "*"},
        {"expected_calls": [{"tool": "get_weather"}]},
        {"expected_tool": None, "multi_turn": True, "optimal_hops": 1},
        {"expected_tool": "get_weather", "multi_turn": True, "thresholds": {"efficiency": 0.1}},
    ],
    ids=str,
)
def test_it_is_never_a_pass(case: dict[str, Any]) -> None:
    result = unanswered(**case)
    assert (result.passed, result.failure) == (False, "refused")
    assert result.scores["overall"].value == result.scores["tool_selection"].value == 0.0
    assert result.scores["overall"].explanation == "no usable answer (refused)"


def test_a_chain_that_was_refused_on_its_way() -> None:
    case = {"expected_tool": "get_weather", "valid_prerequisites": ["search"], "optimal_hops": 1}
    result = unanswered(call("search"), call("search"), multi_turn=True, **case)
    assert result.failure == "refused"
    assert result.values["completion"] == result.values["efficiency"] == 0.0
    assert result.values["redundancy_penalty"] == 0.1
    assert result.values["parameter_accuracy"] is None


class Politeness:
    metrics = ("politeness",)

    def score(self, case: ResolvedCase, transcript: Transcript) -> Mapping[str, Score]:
        raise AssertionError("there is nothing to score")


WRITTEN = '<tool_call>{"name": "SEARCH", "arguments": {}}</tool_call>'


@pytest.mark.parametrize("case", [{"expected_tool": None}, {"expected_calls": []}], ids=str)
@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        ({"content": None}, "empty_answer"),
        ({"content": " "}, "empty_answer"),
        ({"content": 5}, "empty_answer"),
        ({"content": None, "reasoning_content": "No tool fits."}, "empty_answer"),
        ({"content": "", "finish_reason": "tool_calls"}, "malformed_call"),
        ({"content": WRITTEN}, "unexpected_call"),
        ({"content": None, "function_call": {"name": "search", "arguments": "{}"}}, "unexpected_call"),
        ({"content": f"I write {WRITTEN}"}, "unexpected_call"),
        ({"content": f"I write {WRITTEN[:40]}"}, "malformed_call"),
        ({"content": f"I would write `{WRITTEN}`"}, None),
    ],
    ids=str,
)
def test_where_nothing_is_expected_something_must_be_said(
    case: dict[str, Any], reply: dict[str, Any], failure: str | None
) -> None:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", **reply}]

    result = score_messages(suite_of(**case), "one", messages)

    assert (result.passed, result.failure) == (failure is None, failure)
