"""Runs in, summaries and documents out, deletions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from builders import git
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, place_of
from pytest_tooleval.record.run import Git, new_run_id
from pytest_tooleval.verdicts.run_summary import sums_of
from pytest_tooleval.verdicts.summary import rows_document, whole_document

from .conftest import Keep
from .runs import COMMIT, case_of, comparison, gate, kept, run_of

HOSTILE = "\x1b[31m \u202e \x00 </script>'; DROP TABLE cases; --"


def test_nothing_is_made_before_the_first_write(history: History) -> None:
    assert history.runs() == []
    with pytest.raises(ToolevalError, match="there are no runs yet"):
        history.find("latest")
    assert not history.folder.exists()


def test_a_document_comes_back_as_it_was(history: History) -> None:
    cases = [
        case_of("paris", model="claude-3", trials=3),
        case_of("paris", model="gpt-4o", outcome="failed", overall=0.5),
        case_of("rome", model="claude-3", position=1, tags=("smoke",), weight=2.0),
    ]
    gates, found, run = [gate(True)], comparison(), run_of()
    writer = history.begin(run)
    writer.add(kept(cases[2], cases[0]))
    writer.add(kept(cases[1]))
    writer.finish(run, gates, found)
    document = rows_document(run, cases, gates, found, intervals=True)
    assert history.document(run.id) == whole_document(document, cases)
    rows = [case.row() for case in cases]
    assert history.rows_document(run.id) == rows_document(run, rows, gates, found)


def test_a_summary_has_the_figures_of_the_document(history: History) -> None:
    rows = [
        case_of("a", overall=1.0, weight=3.0),
        case_of("b", outcome="failed", overall=0.0),
        case_of("c", outcome="failed", counted=True, overall=0.5, cost_usd=None, model="gpt-4o"),
        case_of("d", outcome="error", overall=0.9),
        case_of("e", outcome="skipped", overall=None, trials=0),
    ]
    run = run_of(exitstatus=1)
    writer = history.begin(structs.replace(run, exitstatus=None))
    writer.add(kept(*rows))
    writer.finish(run, [gate(True), gate(False)])
    (summary,) = history.runs()
    assert sums_of(summary) == sums_of(history.rows_document(run.id).run.total)
    assert (summary.id, summary.started) == (run.id, "2026-11-22T10:15:30+00:00")
    assert (summary.models, summary.status) == (("claude-3", "gpt-4o"), "finished")
    assert (summary.duration_s, summary.exitstatus) == (12.5, 1)
    assert summary.gates_failed == 1
    assert summary.git == Git(COMMIT, "main", False)


def test_a_shared_place_lists_the_runs_of_this_project(
    tmp_path: Path, history: History, keep: Keep
) -> None:
    git(tmp_path, "init", "-q")
    for name in ("svc/a", "svc/b"):
        (tmp_path / name).mkdir(parents=True)
    old, other, own = (
        keep(number, case_of(), git=Git(COMMIT, "main", False, root))
        for number, root in enumerate((None, "svc/b", "svc/a"), 1)
    )
    for name, ids in {"svc/a": [own, old], "svc/b": [other, old], "": [old]}.items():
        there = History(tmp_path / name / ".tooleval", place_of(str(history.folder), tmp_path))
        assert [run.id for run in there.runs()] == ids
        assert there.expired_ids() == ids
        assert there.has(other)
        assert not there.has(other[:-1])


def test_filters(history: History, keep: Keep) -> None:
    one = keep(1, case_of(suite="Weather"), case_of(suite="Travel", model="gpt-4o"))
    two = keep(2, case_of(suite="Travel"), git=Git(COMMIT, "new", True))
    found = {
        "all": history.runs(),
        "model": history.runs(model="gpt-4o"),
        "suite": history.runs(suite="Travel"),
        "file": history.runs(suite="weather.tooleval.json"),
        "branch": history.runs(branch="new"),
        "none": history.runs(branch="new", model="gpt-4o"),
    }
    assert {name: [summary.id for summary in runs] for name, runs in found.items()} == {
        "all": [two, one],
        "model": [one],
        "suite": [two, one],
        "file": [one],
        "branch": [two],
        "none": [],
    }
    # Of a run that holds more, only what was asked for is counted.
    assert (found["model"][0].cases, found["model"][0].models) == (1, ("gpt-4o",))
    assert [summary.cases for summary in found["suite"]] == [1, 1]


def test_one_case_with_its_transcript(history: History, keep: Keep) -> None:
    row = case_of("paris", answer="sunny")
    id = keep(1, row, case_of("rome"))
    assert history.case(id, row.nodeid) == row
    with pytest.raises(ToolevalError, match="has no case nowhere"):
        history.case(id, "nowhere")
    with pytest.raises(ToolevalError, match=r'run "2020.*" not found'):
        history.case("2020", row.nodeid)


def test_hostile_texts_come_back(history: History) -> None:
    run = run_of(options={"k": HOSTILE}, git=Git(COMMIT, HOSTILE, False))
    row = case_of(
        HOSTILE,
        suite=HOSTILE,
        model=HOSTILE,
        answer=HOSTILE,
        nodeid=HOSTILE,
        file=HOSTILE,
        reason=HOSTILE,
    )
    writer = history.begin(run)
    writer.add(kept(row))
    writer.finish(run, [gate(False, HOSTILE)], comparison(HOSTILE))
    document = history.document(run.id)
    assert document.cases == [row]
    assert document.baseline is not None
    assert document.baseline.message == document.gates[0].message == HOSTILE
    assert history.case(run.id, HOSTILE) == row
    assert history.trend(HOSTILE, model=HOSTILE).points[0].cases == 1
    assert history.runs(branch=HOSTILE, suite=HOSTILE, model=HOSTILE)[0].id == writer.id
    assert history.find(f"latest:{HOSTILE}") == writer.id
    assert len(history.trends_for(document)) == 1
    with pytest.raises(ToolevalError, match=r"no run has a suite or case \\udcff"):
        history.trend("\udcff")


def test_a_run_is_kept_once(history: History) -> None:
    run = run_of()
    history.begin(run)
    with pytest.raises(ToolevalError, match=f"there is a run {run.id} already"):
        history.begin(run)


def test_the_id_of_a_run_tells_its_time() -> None:
    moment = datetime.fromisoformat("2026-11-22T12:15:30+02:00")
    assert new_run_id(moment).startswith("20261122-101530-")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_prune_keeps_the_newest(history: History, keep: Keep) -> None:
    ids = [keep(day, case_of("a"), case_of("b", answer="x" * 100_000)) for day in (1, 2, 3)]
    assert history.expired_ids(keep=1) == [ids[1], ids[0]]
    before = size_of(history.folder)
    cases, size = history.delete(*history.expired_ids(keep=1))
    assert cases == 4
    assert [summary.id for summary in history.runs()] == [ids[2]]
    assert before - size_of(history.folder) >= size > 0
    assert history.expired_ids(keep=1) == []
    assert len(history.trend("a").points) == 1


def test_prune_gives_the_space_back(history: History, keep: Keep) -> None:
    noise = "".join(chr(33 + (i * i * 7919) % 90) for i in range(200_000))
    keep(1, *(case_of(str(n), answer=noise[n:]) for n in range(20)))
    keep(2)
    assert history.delete(*history.expired_ids(keep=1))[1] > 10_000


def _finished(history: History, started: str) -> str:
    run = run_of(started)
    history.begin(run).finish(run)
    return run.id


def test_prune_by_age_and_by_both(history: History) -> None:
    old, recent = (_finished(history, f"{year}-01-01T00:00:00+00:00") for year in (2020, 2021))
    now = _finished(history, datetime.now(timezone.utc).isoformat(timespec="seconds"))
    assert history.expired_ids(older_than=timedelta(days=300)) == [recent, old]
    assert history.expired_ids(older_than=timedelta(days=300), keep=2) == [old]
    assert history.expired_ids(older_than=timedelta(days=100_000)) == []
    history.delete(*history.expired_ids(older_than=timedelta(days=300)))
    assert [summary.id for summary in history.runs()] == [now]


def test_a_run_that_goes_on_is_never_deleted(history: History, keep: Keep) -> None:
    keep(20)
    run = run_of("2026-11-01T10:00:00+00:00")
    writer = history.begin(run)
    (finished,) = history.expired_ids(keep=0)
    history.delete(finished)
    with pytest.raises(ToolevalError, match="is still running"):
        history.delete(writer.id)
    writer.finish(run)
    history.delete(writer.id)
    assert history.runs() == []
    with pytest.raises(ToolevalError, match=r'run ".*" not found'):
        history.delete(writer.id)


def test_the_work_folder_is_hidden_from_git(history: History, keep: Keep) -> None:
    keep(1)
    assert (history.folder / ".gitignore").read_text() == "*\n"


def test_trends_for_the_html_report(history: History, keep: Keep) -> None:
    keep(1, case_of(suite="Other"))
    first = keep(2, case_of(outcome="failed"), case_of("rome"), case_of(model="gpt-4o"))
    second = keep(3, case_of(), case_of("rome"), case_of("x", suite="Travel"))
    keep(4, case_of())
    travel, weather = history.trends_for(history.document(second))
    assert (travel.suite, weather.suite) == ("Travel", "Weather")
    found = [(point.id, point.model, point.is_part, point.pass_rate) for point in weather.points]
    assert found == [(first, "claude-3", False, 0.5), (second, "claude-3", False, 1.0)]
    assert [(point.id, point.is_part) for point in travel.points] == [(second, True)]
