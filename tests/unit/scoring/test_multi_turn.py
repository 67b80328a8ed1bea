from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pytest_tooleval.record.calls import NO_TOOL, ToolCall
from pytest_tooleval.record.status import CallStatus
from pytest_tooleval.record.thresholds import missed_text, needs_text
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_transcript

from .cases import call, resolved, score, score_live

CHAIN: dict[str, Any] = {
    "expected_tool": "c",
    "expected_params": {"x": 1},
    "multi_turn": True,
    "optimal_hops": 3,
    "valid_prerequisites": ["a", "b"],
}
A, B, C = call("a"), call("b"), call("c", x=1)
OFF = call("search")


def test_repeats_need_the_same_tool_and_arguments_one_after_the_other() -> None:
    def redundancy(*calls: ToolCall) -> float | None:
        return score([*calls, C], **CHAIN).values["redundancy_penalty"]

    assert redundancy(A, call("A")) == pytest.approx(0.1)
    assert redundancy(A, B, A) == 0.0
    assert redundancy(call("a", x=1), call("a", x=True)) == 0.0
    assert redundancy(call("a", x="P"), call("a", x="p")) == 0.0
    assert redundancy(call("a", x=5), call("a", x=5.0)) == pytest.approx(0.1)
    assert redundancy(call("a", x=[{"y": 1}]), call("a", x=[{"y": True}])) == 0.0
    assert redundancy(call("a", x=[{"y": 1}]), call("a", x=[{"y": 1.0}])) == pytest.approx(0.1)
    assert redundancy(ToolCall.parse("a", "{"), ToolCall.parse("a", "{")) == pytest.approx(0.1)
    assert redundancy(ToolCall.parse("a", "{"), ToolCall.parse("a", "[")) == 0.0
    assert redundancy(*[A] * 20) == 1.0


def test_a_repeat_that_is_answered_differently_is_not_redundant() -> None:
    def redundancy(*contents: str) -> float | None:
        message = {"role": "assistant", "content": None}
        replies = [
            Reply(message=message, calls=(A,), tool_answers=({"role": "tool", "content": content},))
            for content in contents
        ]
        case = resolved(None, **CHAIN)
        return score_transcript(case, Transcript((), tuple(replies))).values["redundancy_penalty"]

    assert redundancy("refunded: 20", "refunded: 40") == 0.0
    assert redundancy("working", "working", "done") == pytest.approx(0.1)


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
        ([[A], [B], [call("c")]], "missing_argument"),
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


def test_a_threshold_on_efficiency_alone() -> None:
    case = {**CHAIN, "thresholds": {"overall": None, "efficiency": 1.0}}

    assert score_live([[A], [B], [B], [call("c", x=2)]], **case).failure == "inefficient_chain"
    assert score_live([[A], [B], [call("c", x=2)]], **case).passed


def test_the_explanation_names_the_calls() -> None:
    scores = score_live([[A], [A], [OFF], [C]], **CHAIN).scores

    assert scores["overall"].explanation == (
        "0.55 = 1 (completion) × 0.75 (efficiency) - 0.1 (redundancy) - 0.1 (detours)"
    )
    assert [(check.what, check.reason) for check in scores["overall"].checks] == [
        ("call 1", "on the way"),
        ("call 2", "the same call as the one before it"),
        ("call 3", "a detour: neither a prerequisite nor expected"),
        ("call 4", "the completing call"),
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
        ("call 1", "on the way"),
        ("call 2", detour),
        ("call 3-10", f"{repeats}, and {detour}"),
    ]
    apart = score_live([[A], [A], [B], [A], [A], [C]], **CHAIN).scores["redundancy_penalty"]
    assert [check.what for check in apart.checks] == ["call 2", "call 5"]


def test_a_call_on_the_way_is_not_compared_with_the_expected_one() -> None:
    replied, cut_off = score_live([[A], []], **CHAIN), score_live([[A]], **CHAIN, max_rounds=1)

    [row] = replied.scores["tool_selection"].checks
    assert (row.expected, row.actual, row.reason) == ("c", NO_TOOL, "ended with a reply after 1 call")
    assert cut_off.scores["tool_selection"].checks[0].reason == "ended after 1 call"
    [missing] = replied.scores["parameter_accuracy"].checks
    assert (missing.what, missing.reason) == ("x", "is missing")


def test_an_inefficient_chain_is_said_to_be_what_costs_most() -> None:
    strict = {**CHAIN, "thresholds": {"overall": 1.0}}
    assert (
        score_live([[A], [B], [A], [B], [A], [A], [C]], **strict).mistake == "3 (optimal_hops) / 7 calls"
    )
    assert (
        score_live([[A], [A], [C]], **strict).mistake == "1 call identical to the one before, 0.1 each"
    )


@pytest.mark.parametrize(
    ("calls", "thresholds", "wrong"),
    [
        ([A, B, A, C], {}, ""),
        ([A, B, A, C], {"overall": 1.0}, "3 (optimal_hops) / 4 calls"),
        ([A, A, C], {}, "1 call identical to the one before, 0.1 each"),
        ([A, OFF, C], {}, "1 call to tools that are not needed, 0.1 each"),
        ([A, OFF, C], {"detour_penalty": 0.1}, ""),
        ([A, OFF, OFF, A, C], {"detour_penalty": 0.1, "redundancy_penalty": None}, "2 calls to tools"),
        ([A, A, C], {"redundancy_penalty": None}, ""),
        ([A, A, C], {"overall": None, "completion": 1.0}, ""),
        ([A, A, C], {"overall": 0.9}, ""),
        ([A, B], {}, "the chain never reached c"),
        ([A, B], {"completion": None, "overall": 0.0}, ""),
        ([A, A, call("c", x=2)], {}, "x: expected 1, got 2"),
    ],
)
def test_another_prerequisite_is_less_efficient_and_not_wrong(
    calls: list[ToolCall], thresholds: dict[str, Any], wrong: str
) -> None:
    result = score_live([[each] for each in calls], **CHAIN, thresholds=thresholds)

    assert (result.passed, wrong in result.mistake) == (not wrong, True)


@pytest.mark.parametrize(
    ("sent", "fallbacks", "about"),
    [
        ("required", {}, 'tool_choice "required" was ignored'),
        ("auto", {}, '"tool_choice": "required" makes the model call a tool'),
        ("auto", {"tool_choice": "auto"}, ""),
        (None, {}, ""),
    ],
)
def test_a_model_that_calls_nothing_is_told_of_with_its_tool_choice(
    sent: str | None, fallbacks: dict[str, str | None], about: str
) -> None:
    said = {"role": "assistant", "content": "Hello"}
    reply = Reply(message=said, tool_choice=sent, fallbacks=fallbacks)
    wrong = score_transcript(resolved(expected_tool="a"), Transcript((), (reply,))).mistake
    assert wrong == "expected a, no tool was called" + (f"; {wrong.partition('; ')[2]}" if about else "")
    assert about in wrong


def test_a_missed_penalty_shows_its_limit_as_the_most_that_passes() -> None:
    assert missed_text("detour_penalty", 0.2, 0.1) == "detour_penalty 0.20 > 0.10"
    assert missed_text("completion", 0.6, 1.0) == "completion 0.60 < 1.00"
    assert needs_text("detour_penalty", 0.0) == "at most 0.00"


FURTHER = call("C", x=2)


@pytest.mark.parametrize(
    "replies",
    [
        [[A], [C, FURTHER]],
        [[A], [FURTHER, C]],
        [[A], [C, C]],
        [[A], [C], [FURTHER]],
        [[A], [C], [], [FURTHER]],
    ],
)
@pytest.mark.parametrize("loose", [False, True])
def test_a_further_call_to_an_expected_tool_is_surplus(
    replies: list[list[ToolCall]], loose: bool
) -> None:
    case: dict[str, Any] = {**CHAIN, "optimal_hops": None}
    if loose:
        case["thresholds"] = {"no_extra_calls": None, "overall": 0.9}

    result = score_live(replies, **case)

    assert result.values["no_extra_calls"] == 0.0
    assert (result.values["completion"], result.values["efficiency"]) == (1.0, None)
    assert result.values["detour_penalty"] == 0.0
    assert result.passed is loose
    assert result.failure == (None if loose else "surplus_call")
    if not loose:
        name = "c" if [C, C] in replies else "C"
        assert result.mistake == f"called {name} more often than expected"


def test_overall_counts_it_under_bfcl() -> None:
    result = score_live([[A], [C], [C]], **CHAIN, param_scoring="bfcl")

    assert (result.values["overall"], result.values["no_extra_calls"]) == (0.5, None)
    assert result.scores["overall"].explanation.startswith(
        "0.5 = 1 (completion) × 1 (efficiency) / 2 (calls)"
    )
    assert (result.failure, result.mistake) == ("surplus_call", "called c more often than expected")


@pytest.mark.parametrize(
    ("later", "wrong"),
    [
        ([[A]], "called a: not expected after the call that completes the chain"),
        ([[OFF]], "called search: not expected"),
        ([[], [call("fly")]], "called fly: a tool that was not offered"),
    ],
)
def test_any_call_after_the_expected_one_is_surplus(later: list[list[ToolCall]], wrong: str) -> None:
    result = score_live([[A], [B], [C], *later], **CHAIN)

    assert (result.values["overall"], result.values["no_extra_calls"]) == (1.0, 0.0)
    assert (result.failure, result.mistake) == ("surplus_call", wrong)


def test_what_leads_to_a_retry_is_no_surplus() -> None:
    def after(first: CallStatus, *later: ToolCall) -> float | None:
        replies = [
            Reply(message={"role": "assistant"}, calls=(made,), statuses=(status,))
            for made, status in ((C, first), *((each, "ok") for each in later))
        ]
        transcript = Transcript((), tuple(replies))
        return score_transcript(resolved(None, **CHAIN), transcript).values["no_extra_calls"]

    assert after("error", A, C) == after("error", A, B, C) == 1.0
    assert after("ok", A, C) == after("error", OFF, C) == after("error", C, A) == 0.0


def test_to_repeat_what_failed_is_no_surplus() -> None:
    def further(*calls: ToolCall, status: CallStatus | None) -> float | None:
        replies = [
            Reply(message={"role": "assistant"}, calls=(made,), statuses=(status,)) for made in calls
        ]
        made = resolved(None, **CHAIN)
        return score_transcript(made, Transcript((), tuple(replies))).values["no_extra_calls"]

    assert further(C, C, status="error") == further(C, C, C, status="error") == 1.0
    assert further(C, C, status="ok") == further(C, C, status=None) == 0.0
    assert further(C, FURTHER, status="error") == 0.0


def test_to_repeat_what_a_tool_answered_with_an_error_is_no_surplus() -> None:
    def further(*contents: str) -> float | None:
        ids = [f"c{number}" for number in range(len(contents))]
        made = tuple(structs.replace(C, id=id) for id in ids)
        answers: list[Any] = [
            {"role": "tool", "tool_call_id": id, "content": content}
            for id, content in zip(ids, contents, strict=True)
        ]
        replies = [
            Reply(message={"role": "assistant"}, calls=(each,), tool_answers=(answer,))
            for each, answer in zip(made, answers, strict=True)
        ]
        transcript = Transcript((), tuple(replies))
        return score_transcript(resolved(None, **CHAIN), transcript).values["no_extra_calls"]

    error, ok = '{"error": "503 try again"}', '{"ok": true}'
    assert further(error, ok) == further(error, error, ok) == 1.0
    assert further(ok, ok) == further(error, ok, ok) == 0.0


MADE = st.sampled_from([("a", 1), ("b", 1), ("search", 1), ("c", 1), ("C", 1.0), ("c", 2)])


@settings(max_examples=500)
@given(st.lists(st.lists(MADE, max_size=3), min_size=1, max_size=5), st.integers(1, 5))
def test_a_chain_passes_if_it_gets_there_without_a_call_too_many(
    replies: list[list[tuple[str, float]]], most: int
) -> None:
    case = {**CHAIN, "optimal_hops": None, "max_rounds": most}

    result = score_live([[call(name, x=x) for name, x in reply] for reply in replies], **case)

    read = [[(name.lower(), x) for name, x in reply] for reply in replies]
    ends = next((i for i, reply in enumerate(read) if not reply or "c" in dict(reply)), most)
    calls = [made for reply in read[: min(ends + 1, most)] for made in reply]
    reached = ends < most and "c" in dict(read[ends])
    last, *later = read[ends:] or [[]]
    once = sum(name == "c" for name, _ in last) == 1 and not any(later)
    detours = any(name == "search" for name, _ in calls)
    repeats = any(one == other for one, other in itertools.pairwise(calls))
    right = reached and ("c", 1) in read[ends]
    assert result.passed is (right and once and not detours and not repeats)
    assert result.values["no_extra_calls"] == float(not reached or once)
