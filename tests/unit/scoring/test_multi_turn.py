from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.results import NO_TOOL
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring import score_transcript

from .cases import call
from .cases import resolved
from .cases import score
from .cases import score_live

CHAIN: dict[str, Any] = {
    "expected_tool": "c",
    "expected_params": {"x": 1},
    "multi_turn": True,
    "optimal_hops": 3,
    "valid_prerequisites": ["a", "b"],
}
A, B, C = call("a"), call("b"), call("c", x=1)
OFF = call("search")


def test_every_call_of_a_reply_is_a_hop() -> None:
    result = score_live([[A, B], [A, B], [C]], **CHAIN)

    assert result.values["efficiency"] == pytest.approx(3 / 5)
    assert result.values.get("no_extra_calls") is None


def test_the_chain_ends_with_the_reply_that_reaches_the_tool() -> None:
    result = score_live([[A], [B], [OFF, C], [OFF, OFF]], **CHAIN)

    assert result.values["efficiency"] == pytest.approx(3 / 4)
    assert result.values["detour_penalty"] == pytest.approx(0.1)


def test_the_chain_ends_after_max_rounds() -> None:
    result = score_live([[A], [B], [C]], **CHAIN, max_rounds=2)

    assert result.values["completion"] == 0.0
    assert result.failure == "unfinished_chain"


def test_repeats_need_the_same_tool_and_arguments_one_after_the_other() -> None:
    def redundancy(*calls: ToolCall) -> float | None:
        return score([*calls, C], **CHAIN).values["redundancy_penalty"]

    assert redundancy(A, call("A")) == pytest.approx(0.1)
    assert redundancy(A, B, A) == 0.0
    assert redundancy(call("a", x=1), call("a", x=True)) == 0.0
    assert redundancy(call("a", x="P"), call("a", x="p")) == 0.0
    assert redundancy(ToolCall.parse("a", "{"), ToolCall.parse("a", "{")) == pytest.approx(0.1)
    assert redundancy(ToolCall.parse("a", "{"), ToolCall.parse("a", "[")) == 0.0
    assert redundancy(*[A] * 20) == 1.0


def test_a_repeat_that_is_answered_differently_is_not_redundant() -> None:
    def redundancy(*contents: str) -> float | None:
        message = {"role": "assistant", "content": None}
        rounds = [
            Round(Reply(message=message, calls=(A,)), ({"role": "tool", "content": content},))
            for content in contents
        ]
        case = resolved(None, **CHAIN)
        return score_transcript(case, Transcript((), tuple(rounds))).values["redundancy_penalty"]

    assert redundancy("refunded: 20", "refunded: 40") == 0.0
    assert redundancy("working", "working", "done") == pytest.approx(0.1)


def test_without_optimal_hops_efficiency_is_not_scored_and_counts_1() -> None:
    case = {**CHAIN, "optimal_hops": None}

    result = score_live([[A], [B], [A], [C]], **case)

    assert result.values["efficiency"] is None
    assert result.values["overall"] == 1.0


def test_overall_is_never_below_0() -> None:
    result = score([OFF] * 20 + [C], **CHAIN)

    assert result.values["detour_penalty"] == 1.0
    assert result.values["overall"] == 0.0


@pytest.mark.parametrize(
    ("replies", "failure"),
    [
        ([[]], "missing_call"),
        ([[A], [B], []], "unfinished_chain"),
        ([[A], [B], [call("c", x=2)]], "wrong_value"),
        ([[A], [B], [call("c")]], "missing_parameter"),
        ([[A], [B], [B], [C]], "inefficient_chain"),
        ([[A], [OFF], [C]], "inefficient_chain"),
        ([[A], [B], [C]], None),
    ],
)
def test_failure_categories(replies: list[list[ToolCall]], failure: str | None) -> None:
    assert score_live(replies, **CHAIN).failure == failure


def test_a_chain_without_calls_has_no_efficiency_to_speak_of() -> None:
    values = score_live([[]], **CHAIN).values

    assert values["completion"] == values["efficiency"] == values["overall"] == 0.0
    assert values["parameter_accuracy"] == 0.0


def test_the_best_completing_call_of_a_reply_counts() -> None:
    result = score_live([[A], [call("c", x=2), C]], **CHAIN)

    assert result.values["completion"] == 1.0
    assert result.passed


def test_a_threshold_on_efficiency_alone() -> None:
    case = {**CHAIN, "thresholds": {"overall": None, "efficiency": 1.0}}

    assert score_live([[A], [B], [B], [call("c", x=2)]], **case).failure == "inefficient_chain"
    assert score_live([[A], [B], [call("c", x=2)]], **case).passed


def test_the_explanation_names_the_hops() -> None:
    scores = score_live([[A], [A], [OFF], [C]], **CHAIN).scores

    assert scores["overall"].explanation == (
        "0.55 = 1 (completion) × 0.75 (efficiency) - 0.1 (redundancy) - 0.1 (detours)"
    )
    assert [(check.what, check.reason) for check in scores["overall"].checks] == [
        ("hop 1", "on the way"),
        ("hop 2", "the same call as the one before it"),
        ("hop 3", "a detour: neither a prerequisite nor expected"),
        ("hop 4", "the completing call"),
    ]


def test_a_loop_is_explained_once() -> None:
    result = score_live([[A], *[[OFF]] * 9], **CHAIN, max_rounds=10)

    assert result.scores["overall"].explanation == (
        "0 = 0 (completion) × 0.3 (efficiency) - 0.8 (redundancy) - 0.9 (detours), at least 0"
    )
    repeats, detour = (
        "the same call as the one before it",
        "a detour: neither a prerequisite nor expected",
    )
    assert [(check.what, check.reason) for check in result.checks["the chain"]] == [
        ("hop 1", "on the way"),
        ("hop 2", detour),
        ("hop 3-10", f"{repeats}, and {detour}"),
    ]
    apart = score_live([[A], [A], [B], [A], [A], [C]], **CHAIN).scores["redundancy_penalty"]
    assert [check.what for check in apart.checks] == ["hop 2", "hop 5"]


def test_a_call_on_the_way_is_not_compared_with_the_expected_one() -> None:
    replied, cut_off = score_live([[A], []], **CHAIN), score_live([[A]], **CHAIN, max_rounds=1)

    [row] = replied.scores["tool_selection"].checks
    assert (row.expected, row.actual, row.reason) == ("c", NO_TOOL, "ended with a reply after 1 call")
    assert cut_off.scores["tool_selection"].checks[0].reason == "ended after 1 call"
    [missing] = replied.scores["parameter_accuracy"].checks
    assert (missing.what, missing.reason) == ("x", "is missing")


def test_an_inefficient_chain_is_said_to_be_what_costs_most() -> None:
    assert score_live([[A], [B], [A], [B], [A], [A], [C]], **CHAIN).wrong == "3 optimal / 7 actual hops"
    assert score_live([[A], [A], [C]], **CHAIN).wrong == "1 call identical to the one before, 0.1 each"
