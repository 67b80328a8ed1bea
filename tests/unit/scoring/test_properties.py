"""Properties that every score has, on generated cases and answers."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.results import TrialResult

from .cases import NAMES, score

TOOLS = st.sampled_from(["a", "b", "c", "search"])
LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "X", "y z", ""])
KEYS = st.sampled_from(["p", "q", "r"])
RAW = st.recursive(LEAVES, lambda v: st.lists(v, max_size=2) | st.dictionaries(KEYS, v, max_size=2))
MATCHERS = st.one_of(
    RAW,
    RAW.map(lambda v: {"$optional": v}),
    RAW.map(lambda v: {"$exact": v}),
    st.lists(RAW, max_size=3).map(lambda v: {"$any_of": v}),
    st.just({"$absent": True}),
    st.just({"$fuzzy": "x y"}),
    st.just({"$regex": "^x"}),
    st.just({"$approx": {"value": 2, "abs": 1}}),
    st.just({"$gte": 2}),
    st.just({"$len": {"$lt": 2}}),
    st.just({"$type": ["integer", "null"]}),
    RAW.map(lambda v: {"$not": v}),
    st.lists(RAW, max_size=3).map(lambda v: {"$unordered": v}),
)
PARAMS = st.none() | st.dictionaries(KEYS, MATCHERS, max_size=3)
MODES = st.sampled_from(["exact", "case_sensitive", "bfcl"])
ARGUMENTS = st.dictionaries(KEYS, RAW, max_size=3)
CALLS = st.lists(
    st.builds(ToolCall, TOOLS | st.just("made_up"), ARGUMENTS)
    | st.builds(ToolCall.parse, TOOLS, st.text(max_size=5)),
    max_size=5,
)
EXPECTED_CALLS = st.lists(
    st.fixed_dictionaries(
        {"tool": TOOLS | st.lists(TOOLS, min_size=1, max_size=2) | st.just("*"), "params": PARAMS}
    ),
    max_size=4,
)
SINGLE = st.fixed_dictionaries(
    {
        "expected_tool": st.none() | TOOLS | st.just("*") | st.lists(TOOLS, min_size=1, max_size=2),
        "expected_params": PARAMS,
        "param_scoring": MODES,
    }
)
SEVERAL = st.fixed_dictionaries(
    {
        "expected_calls": EXPECTED_CALLS,
        "call_order": st.sampled_from(["any", "strict"]),
        "param_scoring": MODES,
    }
)
CHAINS = st.fixed_dictionaries(
    {
        "expected_tool": st.none() | TOOLS,
        "expected_params": PARAMS,
        "multi_turn": st.just(True),
        "optimal_hops": st.none() | st.integers(1, 4),
        "valid_prerequisites": st.lists(TOOLS, max_size=2),
        "param_scoring": MODES,
    }
)
CASES = SINGLE | SEVERAL | CHAINS


@given(CASES, CALLS)
def test_scores_lie_in_0_to_1(case: dict[str, Any], calls: list[ToolCall]) -> None:
    result = score(calls, **case)

    for metric, value in result.values.items():
        assert value is None or (isinstance(value, float) and 0.0 <= value <= 1.0), metric
    assert bool(result.mistake) is not result.passed
    assert (result.failure is None) == result.passed
    for one in result.scores.values():
        assert one.explanation
        assert all(0.0 <= check.value <= 1.0 for check in one.checks)


@given(CASES, CALLS)
def test_reading_back_a_result_is_the_identity(case: dict[str, Any], calls: list[ToolCall]) -> None:
    result = score(calls, **case)

    assert msgspec.convert(msgspec.to_builtins(result), TrialResult) == result


PLAIN_CALLS = st.lists(st.tuples(TOOLS, ARGUMENTS), max_size=5)


@given(PLAIN_CALLS, st.sampled_from(["any", "strict"]), MODES)
def test_a_perfect_answer_scores_1(calls: list[tuple[str, Any]], order: str, mode: str) -> None:
    expected = [{"tool": name, "params": arguments} for name, arguments in calls]

    result = score(
        [ToolCall(*made) for made in calls],
        expected_calls=expected,
        call_order=order,
        param_scoring=mode,
    )

    assert result.values["overall"] == 1.0
    assert result.values["tool_selection"] == 1.0
    assert result.values["parameter_accuracy"] == (1.0 if calls else None)
    assert result.passed


@given(EXPECTED_CALLS, CALLS, MODES, st.randoms(use_true_random=False))
def test_the_order_of_calls_does_not_matter_under_any(
    expected: list[Any], calls: list[ToolCall], mode: str, random: random.Random
) -> None:
    before = score(calls, expected_calls=expected, param_scoring=mode)
    shuffled, expected_shuffled = list(calls), list(expected)
    random.shuffle(shuffled)
    random.shuffle(expected_shuffled)

    after = score(shuffled, expected_calls=expected_shuffled, param_scoring=mode)

    assert after.values == before.values
    assert after.passed == before.passed


@given(CASES, CALLS.filter(bool), ARGUMENTS)
def test_adding_a_wrong_call_never_raises_a_score(
    case: dict[str, Any], calls: list[ToolCall], arguments: Any
) -> None:
    """Wrong is a call to a tool that the case does not expect; the answer has a call already.

    (A call to an expected tool that is still missing is partly right, and does raise the score.
    In an answer without calls even a wrong one gives parameters to compare, as the format has it.)
    A penalty is better when it is lower; efficiency falls with every call.
    """
    assume("*" not in str(case))

    before = score(calls, **case)
    after = score([*calls, ToolCall("get_weather", arguments)], **case)

    for metric, value in before.values.items():
        now = after.values[metric]
        if metric.endswith("_penalty"):
            assert value is not None
            assert now is not None
            assert now >= value
        else:
            assert (now is None) == (value is None)
            assert now is None or value is None or now <= value, metric


def test_the_names_used_here_are_offered() -> None:
    assert {"a", "b", "c", "search", "get_weather"} <= set(NAMES)
