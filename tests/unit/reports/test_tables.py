"""The table of scores: which columns it has, and how their names fit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.summary import Mean
from pytest_tooleval.reports.columns import COLUMNS, cell
from pytest_tooleval.reports.notes import notes
from pytest_tooleval.reports.pull_request import comment_text
from pytest_tooleval.reports.tables import score_tables

from .samples import document, row, trial


def with_metrics(
    means: Mapping[str, float],
    thresholds: Mapping[str, float] = {"overall": 1.0},
    scores: Mapping[str, float] = {},
) -> RowsDocument:
    sample = document(row("failed", thresholds=thresholds, scores=scores))
    metrics = {name: Mean(mean, n=1) for name, mean in means.items()}
    suites = tuple(structs.replace(row, metrics=metrics) for row in sample.suites)
    return structs.replace(sample.rows(), suites=suites)


def titles(found: RowsDocument, *, whole: bool = False) -> list[str]:
    ((head, lines),) = score_tables(found, whole=whole, width=200)
    assert lines
    return [word for line in head for word in line.split()]


def test_a_metric_has_its_own_name_over_two_lines() -> None:
    found = with_metrics({"overall": 0.75, "parameter_accuracy": 0.5, "state": 0.25})
    (((above, below), lines),) = score_tables(found, whole=True)
    assert above.split() == ["pass", "parameter_"]
    end = above.index("parameter_") + len("parameter_")
    assert below[:end].endswith(" accuracy")
    assert [line[:end].split()[-1] for line in lines] == ["0.50"] * len(lines)
    assert below[end:].split()[0] == "state"


@pytest.mark.parametrize("at_least", [False, True])
def test_a_cost_that_is_known_in_part_is_told_as_at_least(at_least: bool) -> None:
    spent = {"gpt-4o": {"answers": 2, "priced": 2 - at_least, "usd": 0.75}}
    trials = trial(cost_usd=0.5), trial(1, cost_usd=0.25, is_cost_partial=at_least)
    found = document(row("passed", *trials), spent=spent, max_cost_usd=1.0).rows()
    ((_, lines),) = score_tables(found, whole=True)
    plus, least = ("+", "at least ") if at_least else ("", "")
    assert f"$0.7500{plus}" in lines[0].split()
    assert f"cost: {least}$0.7500; spent in this run: {least}$0.7500" in notes(found)
    unpriced = "gpt-4o: 1 answer without a complete price"
    assert any(line.startswith(unpriced) for line in notes(found)) == at_least
    assert f"cost `{least}$0.7500`, took 12.5 s" in comment_text(found)


MEANS = {
    "overall": 0.9,
    "no_extra_calls": 0.5,
    "arguments_valid": 1.0,
    "state": 0.5,
    "tool_selection": 1.0,
}


def test_what_some_model_gets_wrong_has_a_column() -> None:
    found = with_metrics({**MEANS, "redundancy_penalty": 0.1, "detour_penalty": 0.0})
    titled = titles(found)
    assert [name for name in titled if name in ("calls", "valid", "state", "selection", "penalty")] == [
        "calls",
        "penalty",
        "state",
    ]
    assert "redundancy_" in titled
    assert "overall" in titled
    assert {"state", "calls", "valid", "selection"} <= set(titles(found, whole=True))


def test_columns_beyond_the_width_make_further_tables() -> None:
    tables = list(score_tables(with_metrics(MEANS), whole=True, width=40))
    shown = [line for head, lines in tables for line in (*head, *lines)]
    assert len(tables) > 1
    assert max(map(len, shown)) <= 40
    assert [head[-1].split()[0] for head, _ in tables] == ["model"] * len(tables)
    words = [word for head, _ in tables for line in head for word in line.split()]
    assert sorted({*words}) == sorted({*titles(with_metrics(MEANS), whole=True)})


def test_several_models_stand_below_each_suite() -> None:
    rows = [
        row(suite=suite, file=suite, model=model) for suite in ("One", "Two") for model in ("a", "b")
    ]
    ((head, lines),) = score_tables(document(*rows).rows())
    assert head[-1].startswith("model ")
    assert [line.split("  1.00")[0].rstrip() for line in lines] == [
        *("One", "  a", "  b"),
        *("Two", "  a", "  b"),
        *("all suites", "  a", "  b"),
    ]


@pytest.mark.parametrize("intervals", [False, True])
def test_no_rate_looks_as_if_it_reached_its_limit(intervals: bool) -> None:
    (rate,) = [each for each in COLUMNS if each.path == ("pass_rate",)]
    record = {"pass_rate": {"mean": 0.8996, "low": 0.85, "high": 0.93}}
    text = cell(record, rate, (0.9,), intervals=intervals)
    assert text == ("0.8996 (0.85 to 0.93)" if intervals else "0.8996")
