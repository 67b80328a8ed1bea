from __future__ import annotations

from typing import Any

import pytest
from steps import growth

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.scoring.one_call import params_match
from pytest_tooleval.scoring.trial import score_transcript, score_trial

from .cases import call, live, resolved, score, tool

WEATHER = {"expected_tool": "get_weather", "expected_params": {"city": "Paris", "days": 3}}


@pytest.mark.parametrize("raw", ["[1]", "{'city': 1}", '{"city":', '"Paris"', "NaN", "[" * 9999])
def test_arguments_that_are_no_object_score_0_even_when_nothing_is_expected(raw: str) -> None:
    result = score([{"name": "a", "arguments": raw}], expected_tool="a", expected_params={})

    assert result.values["tool_selection"] == 1.0
    assert result.values["parameter_accuracy"] == 0.0
    assert [check.value for check in result.scores["parameter_accuracy"].checks] == [0.0]
    assert result.failure == "invalid_arguments"
    assert result.calls[0].raw_arguments == raw


def test_unexpected_arguments_count_under_bfcl_only() -> None:
    made = [call("a", x=1, extra=2)]

    assert score(made, expected_tool="a", expected_params={"x": 1}).passed
    result = score(made, expected_tool="a", expected_params={"x": 1}, param_scoring="bfcl")
    assert result.values["parameter_accuracy"] == 0.5
    assert result.failure == "unexpected_argument"


@pytest.mark.parametrize("case", [{"expected_tool": None}, {"expected_calls": []}])
def test_abstention(case: dict[str, Any]) -> None:
    assert score([], **case).passed
    result = score([call("a"), call("b")], **case)
    assert result.values["tool_selection"] == 0.0
    assert result.values["overall"] == 0.0
    assert result.values["parameter_accuracy"] is None
    assert result.values["no_extra_calls"] == 0.0
    assert result.failure == "unexpected_call"
    assert result.mistake == "called a: no tool should be called"


def test_names_under_bfcl_are_case_sensitive_and_a_dot_becomes_an_underscore() -> None:
    def passes(expected: str, called: str, mode: str) -> bool:
        made = score([call(called)], expected_tool=expected, param_scoring=mode)
        return made.values["tool_selection"] == 1.0

    assert passes("math_hypot", "MATH_HYPOT", "exact")
    assert not passes("math_hypot", "MATH_HYPOT", "bfcl")
    assert passes("math.hypot", "math_hypot", "bfcl")
    assert not passes("math_hypot", "math.hypot", "bfcl")
    assert not passes("math.hypot", "math_hypot", "exact")


@pytest.mark.parametrize(
    ("made", "failure"),
    [
        ([], "missing_call"),
        ([call("search", city="Paris", days=3)], "wrong_tool"),
        ([call("find", city="Paris", days=3)], "hallucinated_tool"),
        ([ToolCall.parse("get_weather", "{")], "invalid_arguments"),
        ([call("get_weather", City="Paris", days=3)], "missing_argument"),
        ([call("get_weather", city="Rome", days=3)], "wrong_value"),
        ([call("get_weather", city="Paris", days=3)], None),
    ],
)
def test_failure_categories(made: list[ToolCall], failure: str | None) -> None:
    assert score(made, **WEATHER).failure == failure


def test_the_explanation_says_why_each_parameter_counted_or_not() -> None:
    params = {
        "city": "Paris",
        "days": 3,
        "unit": {"$any_of": ["km", "mi"]},
        "opt": {"$optional": 1},
        "x": None,
        "code": "ABC",
        "stops": ["a", "b"],
        "box": {"w": 1, "h": 2},
    }
    made = call(
        "get_weather",
        city="paris",
        days="3",
        unit="m",
        X=1,
        code=5,
        stops=["b", "a"],
        box={"w": 1, "h": "2"},
    )

    score_ = score([made], expected_tool="get_weather", expected_params=params).scores[
        "parameter_accuracy"
    ]

    assert score_.explanation == "1 of 7 arguments right"
    rows = {check.what: (check.value, check.reason) for check in score_.checks}
    assert rows == {
        "city": (1.0, "equal, ignoring case"),
        "days": (0.0, 'is the string "3", not a number'),
        "unit": (0.0, "none of these"),
        "opt": (1.0, "is absent, and may be"),
        "x": (0.0, 'is missing; "X" is a different name'),
        "code": (0.0, "is the number 5, not a string"),
        "stops": (0.0, "the same members in a different order, which $unordered would allow"),
        "box": (0.0, 'at "h": is the string "2", not a number'),
    }
    assert score_.checks[0].expected == '"Paris"'
    assert score_.checks[0].actual == '"paris"'


def test_explanations_are_harmless_text() -> None:
    nasty = "\x1b[2J\u202e\ud800" + "x" * 500
    made = [ToolCall(nasty, {"x": nasty, nasty: 1}), ToolCall.parse("a", nasty)]

    cases: list[dict[str, Any]] = [
        {"expected_params": {"x": "y"}, "param_scoring": "bfcl"},
        {"expected_params": {}},
    ]
    for case in cases:
        for score_ in score(made, expected_tool="a", **case).scores.values():
            texts = [score_.explanation]
            for check in score_.checks:
                texts += [check.what, check.expected, check.actual, check.reason]
            assert all(text.isprintable() and len(text) <= 250 for text in texts)


def test_explanations_are_built_only_when_asked_for() -> None:
    case = resolved(None, **WEATHER)
    result = score_transcript(case, live([call("get_weather", city="Rome")]))
    assert {score_.explanation for score_ in result.scores.values()} == {""}
    assert result.transcript is not None
    whole = score_trial(case, result.transcript).explain()
    assert whole.values == result.values
    assert all(score_.explanation for score_ in whole.scores.values())


def test_a_pattern_that_runs_out_of_time_names_the_place() -> None:
    params = {"city": {"$any_of": [{"$regex": "^(\\w|\\w\\w)*$"}]}}

    with pytest.raises(ScoringError, match=r"suite::one: expected_params\.city: .* ran longer than 1 s"):
        score([call("a", city="a" * 60 + "!")], expected_tool="a", expected_params=params)


def test_an_expected_value_without_end_is_the_suites_mistake() -> None:
    deep: Any = "x"
    for _ in range(50_000):
        deep = {"$any_of": [deep]}

    with pytest.raises(ScoringError, match="x: the expected value is nested too deeply"):
        params_match({"x": deep}, {"x": "y"}, "exact")


def test_a_model_cannot_make_the_explanation_take_hours() -> None:
    def invented(size: int) -> None:
        expected = {f"right_{i}": i for i in range(size)}
        made = call("get_weather", **{f"wrong_{i}": i for i in range(size)})
        result = score([made], expected_tool="get_weather", expected_params=expected)
        assert result.values["parameter_accuracy"] == 0.0

    assert growth(invented) < 2.5


@pytest.mark.parametrize(
    ("made", "params", "value", "failure", "wrong"),
    [
        ("a", None, 1.0, None, ""),
        ("a b", None, 0.5, "surplus_call", "called b: not expected"),
        ("b a z", None, 1 / 3, "surplus_call", "called b: not expected"),
        ("a a", {}, 0.5, "surplus_call", "called a more often than expected"),
        ("a b", {"x": 1}, 0.3, "missing_argument", "x is missing (expected 1)"),
        ("b c", None, 0.0, "wrong_tool", "expected a, called b"),
    ],
)
def test_surplus_calls_count_in_overall_under_bfcl(
    made: str, params: dict[str, int] | None, value: float, failure: str | None, wrong: str
) -> None:
    calls = [call(name) for name in made.split()]
    result = score(calls, expected_tool="a", expected_params=params, param_scoring="bfcl")

    assert result.values["overall"] == pytest.approx(value)
    assert (result.values["no_extra_calls"], result.failure, result.mistake) == (None, failure, wrong)
    assert score(calls, expected_tool="*", param_scoring="bfcl").passed


STRICT = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "country": {"type": ["string", "null"]},
        "n": {"type": "integer"},
    },
    "required": ["q", "country", "n"],
}


@pytest.mark.parametrize(
    ("country", "given", "right"),
    [
        ({"$absent": True}, None, True),
        ({"$optional": "DE"}, None, True),
        ({"$optional": "DE"}, "DE", True),
        ({"$optional": "DE"}, "FR", False),
        ({"$absent": True}, "DE", False),
        (None, None, True),
        ("DE", None, False),
    ],
)
@pytest.mark.parametrize("field", ["expected_params", "expected_calls"])
def test_a_strict_tool_leaves_a_value_out_as_null(
    country: Any, given: Any, right: bool, field: str
) -> None:
    params = {"q": "x", "country": country}
    expected: dict[str, Any] = (
        {"expected_tool": "find", "expected_params": params}
        if field == "expected_params"
        else {"expected_calls": [{"tool": "find", "params": params}]}
    )
    found = score([call("find", q="x", country=given, n=1)], [tool("find", STRICT)], **expected)
    assert found.passed is right


def test_a_null_that_the_schema_does_not_take_is_no_absence() -> None:
    expected = {"expected_tool": "find", "expected_params": {"q": "x", "n": {"$absent": True}}}
    found = score([call("find", q="x", country=None, n=None)], [tool("find", STRICT)], **expected)
    assert found.values["parameter_accuracy"] == 0.5
