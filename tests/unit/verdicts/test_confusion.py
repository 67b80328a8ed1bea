"""Confusion matrices, and the precision, recall and F1 of tools."""

from __future__ import annotations

import pytest
from builders import result_of
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.confusion import Choice, ToolFigures
from pytest_tooleval.record.results import CaseResult, TrialResult
from pytest_tooleval.record.summary import Mean
from pytest_tooleval.reports.confusion import confusion_text, matrix_of, matrix_rows
from pytest_tooleval.verdicts.confusion import confusion_of
from pytest_tooleval.verdicts.statistics import wilson

Pair = tuple[str | None, str | None]


def case(*trials: Pair, **fields: float) -> CaseResult:
    """A case with one choice in each trial; `x` was never offered."""
    results = [
        TrialResult(
            choices=(Choice(expected=expected, called=called, hallucinated=called == "x"),), trial=n
        )
        for n, (expected, called) in enumerate(trials)
    ]
    return result_of(
        nodeid="n",
        suite="s",
        case="c",
        model="m",
        outcome="failed",
        trials=tuple(results),
        **fields,
    )


def means(figures: ToolFigures) -> list[float | None]:
    found = (figures.precision, figures.recall, figures.f1)
    return [None if mean is None else mean.mean for mean in found]


def bounds(mean: Mean | None) -> tuple[float | None, float | None]:
    return (mean.low, mean.high) if mean else (None, None)


def test_cells_and_figures() -> None:
    cases = [
        *[case(("a", "a"))] * 3,
        case(("a", "b")),
        case(("b", "b")),
        case(("b", "x")),
        case(("a", None)),
        case((None, "a")),
        case((None, None)),
    ]
    found = confusion_of("m", cases)

    cells = {(c.expected, "hallucinated" if c.hallucinated else c.called): c.count for c in found.cells}
    assert cells == {
        ("a", "a"): 3,
        ("a", "b"): 1,
        ("a", None): 1,
        ("b", "b"): 1,
        ("b", "hallucinated"): 1,
        (None, "a"): 1,
        (None, None): 1,
    }
    a, b = found.tools
    assert (a.tool, a.expected, a.called, a.right) == ("a", 5, 4, 3)
    assert (b.tool, b.expected, b.called, b.right) == ("b", 2, 2, 1)
    assert means(a) == pytest.approx([0.75, 0.6, 6 / 9])
    assert bounds(a.recall) == pytest.approx(wilson(3, 5))
    assert bounds(a.precision) == pytest.approx(wilson(3, 4))


def test_whatever_was_called_for_a_tool_that_was_not_found_is_one_column() -> None:
    def lost(called: str | None) -> CaseResult:
        choice = Choice(expected="ship", called=called, not_found=True)
        trials = (TrialResult(choices=(choice,)),)
        return result_of(suite="s", case="c", model="m", outcome="failed", trials=trials)

    found = confusion_of("m", [lost("pay"), lost(None), case(("ship", "pay")), case(("pay", "pay"))])

    cells = [(c.expected, c.called, c.not_found, c.count) for c in found.cells]
    assert cells[0] == ("ship", None, True, 2)
    assert {("ship", "pay", False, 1), ("pay", "pay", False, 1)} == {*cells[1:]}
    head, pay, ship = matrix_rows(matrix_of(found), str)
    assert head[:3] == ["expected", "1", "not found"]
    assert (pay[:3], ship[:3]) == (["1 pay", "1", "."], ["2 ship", "1", "2"])
    assert confusion_text(found)[0] == "m: 1 of 4 choices right, 2 tools"


def test_each_case_counts_once_however_many_trials_it_had() -> None:
    cases = [case(*[("a", "a")] * 9), case(("a", None)), case(("a", "a"), weight=2.0)]
    (a,) = confusion_of("m", cases).tools

    assert (a.expected, a.right) == (11, 10)
    assert means(a) == pytest.approx([1.0, 3 / 4, 6 / 7])


def test_a_tool_that_was_never_called_or_expected_has_no_such_figure() -> None:
    a, b = confusion_of("m", [case(("a", "b"))]).tools

    assert means(a) == [None, 0.0, 0.0]
    assert means(b) == [0.0, None, 0.0]


NAMES = st.sampled_from(["a", "b", "c", None])
PAIRS = st.tuples(NAMES, NAMES | st.just("x"))


@given(st.lists(st.lists(PAIRS, min_size=1, max_size=4), min_size=1, max_size=12))
def test_the_cells_hold_every_choice_and_intervals_their_means(trials: list[list[Pair]]) -> None:
    found = confusion_of("m", [case(*each) for each in trials])

    assert sum(cell.count for cell in found.cells) == sum(map(len, trials))
    for tool in found.tools:
        row = [cell for cell in found.cells if cell.expected == tool.tool]
        column = [c for c in found.cells if c.called == tool.tool and not c.hallucinated]
        assert tool.expected == sum(cell.count for cell in row)
        assert tool.called == sum(cell.count for cell in column)
        for mean in (tool.precision, tool.recall, tool.f1):
            assert mean is None or 0 <= (mean.low or 0) <= mean.mean <= (mean.high or 0) <= 1
        precision, recall, f1 = means(tool)
        if precision and recall:
            assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))
        else:
            assert f1 == 0.0
