"""Arguments that are not a JSON object, in a call that the case expects."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.record.calls import ToolCall

from .cases import call, score_live

ONE = {"expected_tool": "a"}
CHAIN = {**ONE, "multi_turn": True}
SEVERAL = {"expected_calls": [{"tool": "b"}, {"tool": "a"}]}
TURN = {"turns": [{"prompt": "?", "expected_tool": "a"}]}
TURNS = {"turns": [{"prompt": "?"}], "expected_calls": [{"tool": "a"}], "match": "contains"}
ANY = {"expected_tool": "*"}
GOOD = call("a", x=1)
LENIENT = {"overall": 0.1, "no_extra_calls": None, "arguments_valid": None}


@pytest.mark.parametrize("expected", [ONE, CHAIN, SEVERAL, TURN, TURNS, ANY])
@pytest.mark.parametrize("mode", ["exact", "case_sensitive", "bfcl"])
@pytest.mark.parametrize("thresholds", [{}, LENIENT])
def test_malformed_arguments_never_pass(
    expected: dict[str, Any], mode: str, thresholds: dict[str, float | None]
) -> None:
    case = {**expected, "param_scoring": mode, "thresholds": thresholds}
    others = [call("b")] if expected is SEVERAL else []
    ends: list[list[ToolCall]] = [[]] if "turns" in expected else []

    def failure(text: str) -> str | None:
        return score_live([[*others, ToolCall.parse("a", text)], *ends], **case).failure

    assert failure('{"x": 1}') is None
    assert {failure(text) for text in ("[1]", '{"x": ', '"x"', "7", '{"x": 1, "x": 1}')} == {
        "invalid_arguments"
    }


@pytest.mark.parametrize("expected", [ONE, CHAIN, TURNS, ANY])
def test_another_call_with_right_arguments_counts(expected: dict[str, Any]) -> None:
    replies = [[ToolCall.parse("a", "[1]"), GOOD], *([[]] if "turns" in expected else [])]
    assert score_live(replies, **expected, thresholds=LENIENT).passed


@pytest.mark.parametrize("expected", [ONE, CHAIN, SEVERAL])
def test_the_scores_say_what_was_malformed(expected: dict[str, Any]) -> None:
    calls = [call("b")] if expected is SEVERAL else []
    result = score_live([[*calls, ToolCall.parse("a", "[1]")]], **expected, thresholds=LENIENT)

    assert result.values["parameter_accuracy"] == 0
    (check,) = result.scores["parameter_accuracy"].checks
    assert (check.actual, check.reason) == ("[1]", "the arguments are not a JSON object")
    assert result.mistake == "a: the arguments are not a JSON object: [1]"
