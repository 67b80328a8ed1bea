from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.scoring.trial import score_trial

from .cases import call, resolved, score, tool

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
TOOLS = [tool("weather", CITY), tool("now"), tool("strict", {**CITY, "minProperties": 1})]
GOOD, BAD = call("weather", city="Paris"), call("weather", city=5)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ([], None),
        ([GOOD], 1.0),
        ([call("WEATHER", city="Paris")], 1.0),
        ([BAD], 0.0),
        ([GOOD, BAD], 0.0),
        ([GOOD, call("strict", city="Rome")], 1.0),
        ([call("now", anything=1)], 1.0),
        ([call("unknown")], 0.0),
        ([ToolCall.parse("now", "")], 1.0),
        ([ToolCall.parse("weather", "")], 0.0),
        ([ToolCall.parse("now", "[]")], 0.0),
    ],
)
def test_all_calls_must_be_valid(made: list[ToolCall], value: float | None) -> None:
    assert score(made, TOOLS, expected_tool="*").values["arguments_valid"] == value


def test_names_are_matched_exactly_under_bfcl() -> None:
    made = [call("WEATHER", city="Paris")]

    assert score(made, TOOLS, expected_tool="*", param_scoring="bfcl").values["arguments_valid"] == 0.0


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ('{"city": "Rome", "city": "Paris"}', "city"),
        ('{"city": "Paris", "\\u0063ity": "Paris"}', "city"),
        ('{"city": "Paris", "further": {"a": [{"b": 1, "b": 1}]}}', "b"),
        ('{"city": "Paris", "further": {"city": "a: b"}}', None),
    ],
)
def test_a_key_that_stands_twice_is_noticed(text: str, repeated: str | None) -> None:
    tools = [tool("weather", {**CITY, "properties": {**CITY["properties"], "further": {}}})]
    made = [ToolCall.parse("weather", text)]
    result = score(made, tools, expected_tool="weather", expected_params={"city": "Paris"})

    assert result.passed is (repeated is None)
    assert result.values["parameter_accuracy"] == float(repeated is None)
    assert made[0].raw_arguments == text
    valid = result.scores["arguments_valid"]
    assert valid.value == float(repeated is None)
    if repeated is not None:
        assert valid.explanation == f'1 of 1 calls: weather: the key "{repeated}" appears twice'
        assert result.failure == "invalid_arguments"
        assert result.mistake == f'the key "{repeated}" appears twice: {text}'


@pytest.mark.parametrize(
    ("made", "failure"),
    [
        ([BAD], "invalid_arguments"),
        ([call("unknown")], "hallucinated_tool"),
        ([ToolCall.parse("weather", "{")], "invalid_arguments"),
        ([GOOD], None),
    ],
)
def test_failures_of_a_threshold_on_it(made: list[ToolCall], failure: str | None) -> None:
    case: dict[str, Any] = {"expected_tool": "*", "thresholds": {"overall": 1.0, "arguments_valid": 1.0}}

    assert score(made, TOOLS, **case).failure == failure


def test_a_schema_that_cannot_be_used_is_an_error_only_if_it_decides() -> None:
    tools = [tool("a", {"$ref": "http://localhost:1/x"})]

    result = score([call("a")], tools, expected_tool="a", thresholds={"arguments_valid": None})

    assert result.passed
    assert result.values["arguments_valid"] is None
    assert "tools.a.parameters: " in result.scores["arguments_valid"].explanation
    with pytest.raises(ScoringError, match=r"suite::one: tools\.a\.parameters: .*target of a \$ref"):
        score([call("a")], tools, expected_tool="a")


def with_schema(**schema: Any) -> list[dict[str, Any]]:
    return [tool("a", {"type": "object", **schema})]


X = {"x": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "invented"),
    [
        ({"properties": X}, True),
        ({"properties": X, "additionalProperties": False}, True),
        ({"properties": X, "additionalProperties": True}, False),
        ({"properties": X, "allOf": [{"properties": {"z": {}}}]}, True),
        ({"properties": {}}, True),
        ({}, False),
    ],
)
def test_invented_arguments(schema: dict[str, Any], invented: bool) -> None:
    result = score([call("a", x=1, y="2")], with_schema(**schema), expected_tool="a")

    assert result.passed is not invented
    if invented:
        assert result.failure in ("unexpected_argument", "invalid_arguments")
        assert '"y"' in result.mistake or "'y'" in result.mistake


def test_a_tool_without_parameters_takes_none() -> None:
    tools = with_schema(properties={})

    result = score([call("a", x=1)], tools, expected_tool="a", expected_params={})

    assert result.failure == "unexpected_argument"
    assert score([call("a")], tools, expected_tool="a", expected_params={}).passed


@pytest.mark.parametrize(
    ("expected", "made", "value"),
    [
        ({"x": "one"}, {"x": "one"}, None),
        ({"y": 1}, {"y": 1}, None),
        ({"x": {"$optional": 1}}, {}, None),
        ({"x": "one"}, {"x": "two"}, 0.0),
        ({"x": "one"}, {"x": "one", "y": 1}, 0.0),
        ({"x": {"$any_of": ["one", {"$not": 1}]}}, {"x": "one"}, None),
        ({"x": {"$any_of": ["one", {"$not": 1}]}}, {"x": "two"}, 0.0),
        ({"x": {"$gte": 1}}, {"x": 1.5}, 0.0),
        ({"y": {"$not": 0}}, {"y": 1}, None),
    ],
)
@pytest.mark.parametrize("closed", [{}, {"additionalProperties": False}])
def test_what_the_case_itself_expects_is_not_held_against_the_model(
    expected: dict[str, Any], made: dict[str, Any], value: float | None, closed: dict[str, Any]
) -> None:
    tools = with_schema(properties=X, required=["x"] if made == {} else [], **closed)

    result = score([call("a", **made)], tools, expected_tool="a", expected_params=expected)

    assert result.values["arguments_valid"] == value
    assert result.passed is (value is None)


def test_a_wrong_argument_is_found_behind_many_expected_ones() -> None:
    properties = {"ids": {"type": "array", "items": {"type": "integer"}}, "z": {"type": "integer"}}
    expected = {"ids": ["x"] * 30}

    def valid(z: Any) -> float | None:
        made = call("a", ids=["x"] * 30, z=z)
        tools = with_schema(properties=properties)
        return score([made], tools, expected_tool="a", expected_params=expected).values[
            "arguments_valid"
        ]

    assert (valid(1), valid("1")) == (None, 0.0)


def test_another_spelling_that_the_case_accepts_may_not_be_the_tools() -> None:
    schema = {"type": "object", "properties": {"units": {"enum": ["celsius"]}}}
    case = {"expected_tool": "weather", "expected_params": {"units": "celsius"}}

    values = score([call("weather", units="Celsius")], [tool("weather", schema)], **case).values

    assert values["parameter_accuracy"] == 1.0
    assert values["arguments_valid"] == 0.0


def test_a_tool_that_its_turn_does_not_offer_is_invalid() -> None:
    turns = [{"prompt": "?"}, {"prompt": "?", "new_tools": ["weather"]}]
    case = {"prompt": None, "turns": turns, "thresholds": {"arguments_valid": 1.0}}

    def score_of(*turns: list[ToolCall]) -> float | None:
        message = {"role": "assistant", "content": "Done."}
        user = ({"role": "user", "content": "?"},)
        replies = []
        for calls in turns:
            replies += [Reply(message=message, prompt=user, calls=tuple(calls)), Reply(message=message)]
        made = resolved(TOOLS, **case)
        result = score_trial(made, Transcript((), tuple(replies))).explain()
        if not result.values["arguments_valid"]:
            assert (result.failure, result.mistake) == (
                "hallucinated_tool",
                "weather: a tool that was not offered",
            )
        return result.values["arguments_valid"]

    assert score_of([call("now")], [GOOD]) == 1.0
    assert score_of([GOOD], [GOOD]) == 0.0
