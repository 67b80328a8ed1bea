"""A case or a suite over the runs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History

from .conftest import Keep
from .runs import case_of, kept, run_of


def test_a_case_from_the_oldest_run_to_the_newest(history: History, keep: Keep) -> None:
    second = keep(2, case_of("paris", trials=3), case_of("rome"))
    first = keep(1, case_of("paris", outcome="failed", overall=0.5), case_of("paris", model="gpt-4o"))
    keep(3, case_of("rome"))
    found = history.trend("paris")
    assert (found.kind, found.suite, found.case) == ("case", "Weather", "paris")
    assert [(p.id, p.model, p.outcome, p.passes, p.answered, p.overall) for p in found.points] == [
        (first, "claude-3", "failed", 0, 1, 0.5),
        (first, "gpt-4o", "passed", 1, 1, 1.0),
        (second, "claude-3", "passed", 3, 3, 1.0),
    ]
    assert found.points[0].git is not None
    assert found.points[0].started == "2026-11-01T10:00:00+00:00"


def test_a_file_stands_for_itself_where_two_have_a_suite_of_one_name(
    history: History, keep: Keep
) -> None:
    new = "new.tooleval.json"
    keep(1, case_of("a", file="old.tooleval.json"), case_of("b", file=new, overall=0.5))
    points = [*history.trend("old.tooleval.json").points, *history.trend(new).points]
    assert [(point.cases, point.overall) for point in points] == [(1, 1.0), (1, 0.5)]
    assert history.trend(f"{new}::b").points[0].overall == 0.5
    with pytest.raises(ToolevalError, match="no run has a suite or case"):
        history.trend("old.tooleval.json::b")
    choices = "2 files have a suite Weather; name one of new.tooleval.json, old.tooleval.json"
    with pytest.raises(ToolevalError, match=choices):
        history.trend("Weather")


def test_a_case_of_one_id_in_two_files_of_one_suite(history: History, keep: Keep) -> None:
    other = case_of("c", file="b.tooleval.json", nodeid="b::c", outcome="failed")
    keep(1, case_of("c", file="a.tooleval.json"), other)
    with pytest.raises(
        ToolevalError, match=r"2 files have a case c; name one of a\.tooleval\.json::c, "
    ):
        history.trend("c")
    (point,) = history.trend("b.tooleval.json::c").points
    assert (point.outcome, point.answered) == ("failed", 1)


def test_the_series_of_a_report_are_of_its_own_files(history: History, keep: Keep) -> None:
    a, b = "a.tooleval.json", "b.tooleval.json"
    whole: Any = {"suite_cases": 1}
    bad = case_of("c", file=b, nodeid="b::c", outcome="failed", **whole)
    keep(1, case_of("c", file=a, **whole), bad)
    one = keep(2, case_of("c", file=a, **whole))
    two = keep(3, case_of("c", file=a, **whole), case_of("c", file=b, nodeid="b::c", **whole))
    (trend,) = history.trends_for(history.rows_document(one))
    assert (trend.suite, [point.pass_rate for point in trend.points]) == ("Weather", [1.0, 1.0])
    found = history.trends_for(history.rows_document(two))
    assert {trend.suite: [point.pass_rate for point in trend.points] for trend in found} == {
        f"Weather ({a})": [1.0, 1.0, 1.0],
        f"Weather ({b})": [0.0, 1.0],
    }


def test_a_run_of_a_part_of_the_cases_is_told_apart(history: History, keep: Keep) -> None:
    whole = [case_of("a"), case_of("b", outcome="failed")]
    keep(1, *whole)
    keep(2, case_of("a"))
    keep(3, case_of("a"), case_of("b", outcome="error", overall=None, trials=0))
    last = keep(4, *whole)
    points = history.trend("Weather").points
    assert [(point.is_part, point.pass_rate) for point in points] == [
        *((False, 0.5), (True, 1.0), (True, 1.0), (False, 0.5)),
    ]
    assert not history.trend("a").points[1].is_part
    (trend,) = history.trends_for(history.rows_document(last))
    assert trend.points == points


def test_a_suite_that_was_moved_is_the_same(history: History, keep: Keep) -> None:
    keep(1, case_of("a", file="old.tooleval.json"))
    new = keep(2, case_of("a", file="new.tooleval.json"))
    assert len(history.trend("Weather").points) == len(history.trend("a").points) == 2
    (trend,) = history.trends_for(history.rows_document(new))
    assert len(trend.points) == 2


def test_only_one_model_and_only_the_last_runs(history: History, keep: Keep) -> None:
    ids = [keep(day, case_of(), case_of(model="gpt-4o")) for day in (1, 2, 3)]
    keep(4, case_of(model="gpt-4o"))
    found = history.trend("paris", model="claude-3", limit=2)
    assert [(p.id, p.model) for p in found.points] == [(ids[1], "claude-3"), (ids[2], "claude-3")]
    assert len(history.trend("paris", limit=1).points) == 1
    with pytest.raises(ToolevalError, match="paris never ran on llama, only on claude-3, gpt-4o"):
        history.trend("paris", model="llama")


def test_a_run_under_way_is_marked(history: History) -> None:
    writer = history.begin(run_of())
    writer.add(kept(case_of()))
    assert history.trend("paris").points[0].status == "running"
    writer.close()
    assert history.trend("Weather").points[0].status == "killed"


def test_one_id_in_several_suites(history: History, keep: Keep) -> None:
    keep(1, case_of("paris", suite="Weather"), case_of("paris", suite="Travel::Air"))
    with pytest.raises(
        ToolevalError, match="2 suites have a case paris; name one of Travel::Air::paris, W"
    ):
        history.trend("paris")
    assert history.trend("Weather::paris").suite == "Weather"
    assert history.trend("weather.tooleval.json::paris").suite == "Weather"
    assert history.trend("Travel::Air::paris").suite == "Travel::Air"


def test_a_suite_goes_before_a_case_of_its_name(history: History, keep: Keep) -> None:
    keep(1, case_of("Weather"))
    assert history.trend("Weather").kind == "suite"
    assert history.trend("Weather::Weather").kind == "case"


@pytest.mark.parametrize("name", ["nowhere", "Weather::nowhere", "nowhere::paris", "", "::", "\x1b"])
def test_no_such_case(history: History, keep: Keep, name: str) -> None:
    keep(1)
    with pytest.raises(ToolevalError, match=r"no run has a suite or case .*a suite: Weather") as caught:
        history.trend(name)
    assert str(caught.value).isprintable()
