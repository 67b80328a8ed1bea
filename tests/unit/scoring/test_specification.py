"""Every example of the specification scores as the specification says. Quoted as they stand there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from weather_suite import FLIGHT, WEATHER

from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.model import Suite

from .cases import call, score, score_live

PARIS = """
{
  "prompt": "What's the weather in Paris?",
  "expected_tool": "get_weather",
  "expected_params": { "city": "Paris" },
  "param_scoring": "exact"
}
"""

QUANTUM = """
{
  "expected_tool": ["search", "web_search"],
  "prompt": "Find information about quantum computing"
}
"""


def quoted(case: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(case)
    return fields


def figures(result: TrialResult) -> tuple[float | None, float | None, float | None]:
    """Tool selection, parameter accuracy, overall."""
    scores = result.values
    return scores["tool_selection"], scores["parameter_accuracy"], scores["overall"]


def test_the_weather_in_paris() -> None:
    case = quoted(PARIS)

    assert figures(score([call("get_weather", city="Paris")], **case)) == (1.0, 1.0, 1.0)
    assert figures(score([call("get_weather", city="London")], **case)) == (1.0, 0.0, 0.6)
    assert figures(score([call("search", city="Paris")], **case)) == (0.0, 1.0, 0.4)
    assert figures(score([], **case)) == (0.0, 0.0, 0.0)


def test_tool_names_and_strings_compare_case_insensitively() -> None:
    assert figures(score([call("GET_Weather", city="PARIS")], **quoted(PARIS))) == (1.0, 1.0, 1.0)


def test_several_acceptable_tools() -> None:
    case = quoted(QUANTUM)

    assert figures(score([call("search", q="quantum")], **case)) == (1.0, None, 1.0)
    assert figures(score([call("web_search")], **case)) == (1.0, None, 1.0)
    assert figures(score([call("get_weather")], **case)) == (0.0, None, 0.0)


def test_the_weather_suite() -> None:
    suite = Suite.model_validate_json(WEATHER)
    paris, tokyo = suite.test_cases

    def scored(case: Any, **arguments: Any) -> tuple[float | None, float | None, float | None]:
        return figures(score_calls(suite, case, [call("get_weather", **arguments)]))

    assert scored(paris, city="Paris") == (1.0, 1.0, 1.0)
    assert scored(paris, city="Paris", units="celsius") == (1.0, 1.0, 1.0)
    assert scored(tokyo, city="tokyo", units="Fahrenheit") == (1.0, 1.0, 1.0)
    assert scored(tokyo, city="Tokyo") == (1.0, 0.5, 0.8)
    assert scored(tokyo, city="Tokyo", units="celsius") == (1.0, 0.5, 0.8)


def test_expected_tool_null_is_right_only_if_nothing_was_called() -> None:
    assert figures(score([], expected_tool=None)) == (1.0, None, 1.0)
    assert figures(score(None, expected_tool=None)) == (1.0, None, 1.0)
    assert figures(score([call("search")], expected_tool=None)) == (0.0, None, 0.0)


def test_numbers_use_float_comparison() -> None:
    case = {"expected_tool": "a", "expected_params": {"x": 1}}

    assert figures(score([call("a", x=1.0)], **case)) == (1.0, 1.0, 1.0)
    assert figures(score([call("a", x=2)], **case)) == (1.0, 0.0, 0.6)


def test_params_null_are_not_scored_and_empty_ones_are_right() -> None:
    made = [call("a", x=1)]

    assert figures(score(made, expected_tool="a", expected_params=None)) == (1.0, None, 1.0)
    assert figures(score(made, expected_tool="a", expected_params={})) == (1.0, 1.0, 1.0)


def test_per_key_comparison() -> None:
    expected = {"a": 1, "b": 2, "c": 3, "d": 4}
    result = score([call("a", a=1, b=2, c=3, d=5)], expected_tool="a", expected_params=expected)

    assert figures(result) == pytest.approx((1.0, 0.75, 0.9))


SEARCH = call("search_flights", origin="NYC")
BOOK = call("book_flight", origin="NYC", destination="London")


@pytest.mark.parametrize(
    ("replies", "figures_"),
    [
        ([[SEARCH], [BOOK]], (1.0, 1.0, 0.0, 0.0, 1.0)),
        ([[BOOK]], (1.0, 1.0, 0.0, 0.0, 1.0)),
        ([[SEARCH], [call("get_availability")], [BOOK]], (1.0, 2 / 3, 0.0, 0.0, 2 / 3)),
        ([[SEARCH], [SEARCH], [BOOK]], (1.0, 2 / 3, 0.1, 0.0, 2 / 3 - 0.1)),
        ([[SEARCH], [call("get_weather")], [BOOK]], (1.0, 2 / 3, 0.0, 0.1, 2 / 3 - 0.1)),
        ([[SEARCH], [call("book_flight", origin="NYC")]], (0.8, 1.0, 0.0, 0.0, 0.8)),
        ([[SEARCH], []], (0.0, 1.0, 0.0, 0.0, 0.0)),
    ],
    ids=["optimal", "shorter", "long", "redundant", "detour", "wrong_params", "unfinished"],
)
def test_book_a_flight(replies: list[Any], figures_: tuple[float, ...]) -> None:
    values = score_live(replies, **quoted(FLIGHT)).values
    metrics = ("completion", "efficiency", "redundancy_penalty", "detour_penalty", "overall")

    assert [values[metric] for metric in metrics] == pytest.approx(list(figures_))


def test_a_chain_scores_the_same_as_a_flat_list() -> None:
    flat = score([SEARCH, BOOK], **quoted(FLIGHT))

    assert flat.values == score_live([[SEARCH], [BOOK]], **quoted(FLIGHT)).values
    assert flat.passed


def test_all_tools_right_and_all_parameters_wrong() -> None:
    """Common Issues: "100% Tool Selection, 0% Parameter Accuracy"."""
    assert figures(score([call("get_weather", city="Rome")], **quoted(PARIS)))[:2] == (1.0, 0.0)


def test_text_instead_of_a_call_is_zero_everything() -> None:
    """Common Issues: "0% everything with `auto`"."""
    assert figures(score(None, **quoted(PARIS))) == (0.0, 0.0, 0.0)
