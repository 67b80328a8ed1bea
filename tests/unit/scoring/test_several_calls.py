from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.record.calls import ToolCall

from .cases import call, score

AB = [{"tool": "a", "params": {"x": 1, "y": 2}}, {"tool": "b", "params": {"x": 1}}]
A, B = call("a", x=1, y=2), call("b", x=1)


@pytest.mark.parametrize(
    ("made", "figures", "extra", "failure"),
    [
        ([A, B], (1.0, 1.0, 1.0), 0, None),
        ([B, A], (1.0, 1.0, 1.0), 0, None),
        ([A], (0.5, 0.5, 0.5), 0, "missing_call"),
        ([], (0.0, 0.0, 0.0), 0, "missing_call"),
        ([A, B, B], (2 / 3, 1.0, 2 / 3), 1, "surplus_call"),
        ([A, B, call("zzz")], (2 / 3, 1.0, 2 / 3), 1, "hallucinated_tool"),
        ([A, call("c", x=1)], (0.5, 0.5, 0.5), 0, "wrong_tool"),
        ([A, call("zzz", x=1)], (0.5, 0.5, 0.5), 0, "hallucinated_tool"),
        ([A, call("b", x=2)], (1.0, 0.5, 0.8), 0, "wrong_value"),
        ([call("a", x=1), B], (1.0, 0.75, 0.9), 0, "missing_argument"),
        ([A, ToolCall.parse("b", "oops")], (1.0, 0.5, 0.8), 0, "invalid_arguments"),
    ],
)
def test_any_order(
    made: list[ToolCall], figures: tuple[float, ...], extra: int, failure: str | None
) -> None:
    result = score(made, expected_calls=AB)

    metrics = ("tool_selection", "parameter_accuracy", "overall")
    assert [result.values[metric] for metric in metrics] == pytest.approx(list(figures))
    assert result.values["no_extra_calls"] == float(not extra)
    assert result.failure == failure
    assert result.passed is (failure is None)


@pytest.mark.parametrize(
    ("made", "overall", "failure"),
    [
        ([A, B], 1.0, None),
        ([B, A], 0.5, "wrong_order"),
        ([call("c"), A, B], 2 / 3, "surplus_call"),
        ([B], 0.5, "missing_call"),
        ([B, call("a", x=1)], 0.5, "wrong_order"),
    ],
)
def test_strict_order_aligns_without_changing_the_order(
    made: list[ToolCall], overall: float, failure: str | None
) -> None:
    result = score(made, expected_calls=AB, call_order="strict")

    assert result.values["overall"] == pytest.approx(overall)
    assert result.failure == failure


def test_the_explanation_shows_which_call_stood_for_which() -> None:
    result = score([call("b", x=2), A, call("c")], expected_calls=AB)
    overall, parameters = result.scores["overall"], result.scores["parameter_accuracy"]

    assert overall.explanation == "0.5333 = (1 + 0.6) / 3 (2 expected, 3 made)"
    assert [(c.name, c.value, c.reason) for c in parameters.checks] == [
        ("call 1: x", 1.0, "equal"),
        ("call 1: y", 1.0, "equal"),
        ("call 2: x", 0.0, "different value"),
    ]
    rows = {place: [(c.what, c.actual) for c in checks] for place, checks in result.checks.items()}
    assert rows == {
        "call 1": [("tool", "a"), ("x", "1"), ("y", "2")],
        "call 2": [("tool", "b"), ("x", "2")],
        "surplus call": [("tool", "c")],
    }


@pytest.mark.parametrize(
    ("matcher", "words"),
    [({"$nope": 1}, "unknown matcher"), ({"$gte": "5"}, 'expected a finite number, got the string "5"')],
)
def test_a_place_inside_expected_calls_is_named(matcher: dict[str, Any], words: str) -> None:
    expected = [AB[0], {"tool": "b", "params": {"x": matcher}}]

    with pytest.raises(
        ScoringError, match=rf"expected_calls\[1\]\.params\.x: \{next(iter(matcher))}: {words}"
    ):
        score([A, B], expected_calls=expected)


def test_a_flood_of_calls_is_scored() -> None:
    result = score([A] * 5000, expected_calls=AB)

    assert result.values["overall"] == pytest.approx(1 / 5000)


def test_too_many_expected_calls_are_the_suites_mistake() -> None:
    with pytest.raises(ScoringError, match="201 calls are expected, at most 200"):
        score([A], expected_calls=[{"tool": "a"}] * 201)


ANY = {"tool": "*"}


@pytest.mark.parametrize(
    ("expected", "made", "overall", "failure"),
    [
        ([ANY], [], 0.0, "missing_call"),
        ([ANY], ["a"], 1.0, None),
        ([ANY], ["a", "b", "a"], 1.0, None),
        ([{**ANY, "optional": True}], [], 1.0, None),
        ([{"tool": "a"}, ANY], ["b", "c", "a"], 1.0, None),
        ([{"tool": "a"}, ANY], ["a"], 0.5, "missing_call"),
        ([{"tool": "a"}, ANY], ["b", "c"], 0.5, "missing_call"),
        ([{"tool": "a"}, {**ANY, "optional": True}], ["b", "a", "c"], 1.0, None),
        ([{"tool": "a"}, {**ANY, "optional": True}], ["a"], 1.0, None),
        ([{"tool": "a"}, {**ANY, "optional": True}], ["b"], 0.5, "missing_call"),
        ([ANY, ANY], ["a"], 0.5, "missing_call"),
        ({"$any_of": [[{"tool": "a"}], [{"tool": "b"}, ANY]]}, ["b", "c", "c"], 1.0, None),
        ({"$any_of": [[{"tool": "a"}], [{"tool": "b"}, ANY]]}, ["a", "c"], 0.5, None),
    ],
)
def test_any_tool_takes_any_number_of_calls(
    expected: Any, made: list[str], overall: float, failure: str | None
) -> None:
    trial = score([call(name) for name in made], expected_calls=expected)
    assert trial.values["overall"] == overall
    assert trial.passed is (overall == 1.0)
    assert failure in (None, trial.failure)
    if expected == [ANY]:
        alone = score([call(name) for name in made], expected_tool="*")
        assert (trial.passed, trial.values) == (alone.passed, alone.values)
        assert trial.call_pairs == alone.call_pairs == ()


def test_any_tool_with_params_scores_the_best_call() -> None:
    expected = [{"tool": "*", "params": {"x": 1}}]
    assert score([call("a"), call("b", x=1)], expected_calls=expected).passed
    assert score([call("a"), call("b", x=2)], expected_calls=expected).values["overall"] == 0.6
