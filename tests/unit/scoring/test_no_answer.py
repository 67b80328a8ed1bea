"""Conversations that ended without a usable answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.endings import NoAnswer
from pytest_tooleval.record.results import Score
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring import score_transcript
from pytest_tooleval.suite.model import ResolvedCase

from .cases import call
from .cases import resolved

REFUSED = NoAnswer("refused", "No.")
MESSAGE = {"role": "assistant", "content": None}


def unanswered(*calls: ToolCall, **case: Any) -> TrialResult:
    rounds = [Round(Reply(message=MESSAGE, calls=(made,))) for made in calls]
    return score_transcript(
        resolved(**case), Transcript((), (*rounds, Round(Reply(message=MESSAGE, no_answer=REFUSED))))
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


def test_other_scorers_are_not_asked() -> None:
    case = resolved(expected_tool=None, thresholds={"politeness": 0.0})
    transcript = Transcript((), (Round(Reply(message=MESSAGE, no_answer=REFUSED)),))
    result = score_transcript(case, transcript, scorers=[Politeness()])
    assert (result.passed, result.values["politeness"]) == (False, 0.0)
