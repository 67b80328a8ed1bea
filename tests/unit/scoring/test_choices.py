"""Which tool was called in place of which."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.no_answer import NoAnswer
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_transcript

from .cases import call, resolved, score, tool
from .test_properties import ARGUMENTS, EXPECTED_CALLS, PARAMS, TOOLS


def choices(result: TrialResult) -> list[tuple[str | None, str | None]]:
    return [
        (each.expected, f"!{each.called}" if each.hallucinated else each.called)
        for each in result.call_pairs
    ]


@pytest.mark.parametrize(
    ("calls", "case", "expected"),
    [
        ("a", {"expected_tool": "a"}, [("a", "a")]),
        ("A", {"expected_tool": "a"}, [("a", "a")]),
        ("b c", {"expected_tool": "a"}, [("a", "b"), (None, "c")]),
        ("made_up", {"expected_tool": "a"}, [("a", "!made_up")]),
        ("", {"expected_tool": "a"}, [("a", None)]),
        ("b", {"expected_tool": ["a", "b"]}, [("b", "b")]),
        ("c", {"expected_tool": ["a", "b"]}, [("a", "c")]),
        ("", {"expected_tool": None}, [(None, None)]),
        ("a b", {"expected_tool": None}, [(None, "a"), (None, "b")]),
        ("c", {"expected_tool": "*"}, []),
        ("a b", {"expected_tool": "a", "param_scoring": "bfcl"}, [("a", "a"), (None, "b")]),
        ("c b", {"expected_calls": ["a", "b"]}, [("a", "c"), ("b", "b")]),
        ("b", {"expected_calls": ["a", "b"]}, [("a", None), ("b", "b")]),
        ("b a", {"expected_calls": ["a", "b"], "call_order": "strict"}, [("a", "a"), ("b", "b")]),
        ("a b c", {"expected_calls": ["a"]}, [("a", "a"), (None, "b"), (None, "c")]),
        ("c b a", {"expected_tool": "a", "multi_turn": True}, [("a", "a")]),
        ("c b", {"expected_tool": "a", "multi_turn": True}, [("a", "b")]),
        ("c a b A", {"expected_tool": "a", "multi_turn": True}, [("a", "a"), (None, "a")]),
        ("c", {"expected_tool": None, "multi_turn": True}, [(None, "c")]),
    ],
)
def test_choices(calls: str, case: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    if "expected_calls" in case:
        case = {**case, "expected_calls": [{"tool": name} for name in case["expected_calls"]]}

    assert choices(score([call(name) for name in calls.split()], **case)) == expected


def test_names_are_as_the_suite_spells_them() -> None:
    case = {"expected_tool": "math.add", "param_scoring": "bfcl"}
    made = score([call("math_add")], [tool("math.add")], **case)

    assert choices(made) == [("math.add", "math.add")]


@pytest.mark.parametrize(("expected", "found"), [("a", [("a", None)]), (None, [])])
def test_an_answer_that_broke_off_called_nothing_and_is_no_abstention(
    expected: str | None, found: list[tuple[str, str]]
) -> None:
    message = {"role": "assistant", "content": "No."}
    reply = Reply(message=message, calls=(call("b"),), no_answer=NoAnswer("refused", "No."))
    broken = Transcript((), (reply,))

    assert choices(score_transcript(resolved(expected_tool=expected), broken)) == found


NAMES = TOOLS | st.just("made_up")
CALLS = st.lists(st.builds(ToolCall, NAMES, ARGUMENTS), max_size=5)


@given(EXPECTED_CALLS, CALLS, st.sampled_from(["any", "strict"]))
def test_every_expected_call_and_every_call_stands_in_one_choice(
    expected: list[dict[str, Any]], calls: list[ToolCall], order: str
) -> None:
    expected = [each for each in expected if each["tool"] != "*"]

    made = score(calls, expected_calls=expected, call_order=order)

    assert sum(each.expected is not None for each in made.call_pairs) == len(expected)
    called = Counter(each.called for each in made.call_pairs if each.called is not None)
    assert called == Counter(each.name for each in calls)
    right = sum(each.expected == each.called for each in made.call_pairs if each.called)
    if order == "any" and (expected or calls):
        share = right / max(len(expected), len(calls))
        assert made.values["tool_selection"] == pytest.approx(share if expected else 0.0)


@given(TOOLS, PARAMS, CALLS)
def test_the_diagonal_of_one_expected_call_is_tool_selection(
    name: str, params: Any, calls: list[ToolCall]
) -> None:
    made = score(calls, expected_tool=name, expected_params=params)

    (first,) = [each for each in made.call_pairs if each.expected is not None]
    assert made.values["tool_selection"] == float(first.expected == first.called)
    assert len(made.call_pairs) == max(1, len(calls))
