"""Runs in, summaries and documents out, deletions."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.history import codec
from pytest_tooleval.history.codec import safe_text
from pytest_tooleval.history.codec import squeeze
from pytest_tooleval.history.codec import timestamp
from pytest_tooleval.history.codec import unsqueeze
from pytest_tooleval.reports.document import build_document

from .conftest import Keep
from .runs import COMMIT
from .runs import case_row
from .runs import comparison
from .runs import gate
from .runs import packed
from .runs import run

HOSTILE = "\x1b[31m \u202e \x00 </script>'; DROP TABLE cases; --"


def test_nothing_is_made_before_the_first_write(history: History) -> None:
    assert history.runs() == []
    with pytest.raises(ToolevalError, match="there are no runs yet"):
        history.find("latest")
    assert not history.folder.exists()


def test_a_document_comes_back_as_it_was(history: History) -> None:
    rows = [
        case_row("paris", model="claude-3", trials=3),
        case_row("paris", model="gpt-4o", outcome="failed", overall=0.5),
        case_row("rome", model="claude-3", position=1, tags=("smoke",), weight=2.0),
    ]
    gates, found = [gate(True)], comparison()
    about = run(id="20261122-101530-abcdef")
    writer = history.begin(about)
    writer.add(packed(rows[2], rows[0]))
    writer.add(packed(rows[1]))
    writer.finish(about, gates, found)
    whole = build_document(about, rows, gates, found, intervals=True)
    assert history.document(writer.id) == whole


def test_rows_stand_in_the_order_of_files_and_models(history: History) -> None:
    rows = [
        case_row("b", suite="A", position=1),
        case_row("a", suite="B", model="gpt-4o"),
        case_row("a", suite="B", model="claude-3"),
        case_row("a", suite="A", position=0),
    ]
    writer = history.begin(run())
    writer.add(packed(*rows))
    found = history.document(writer.id, bulk=False)["cases"]
    assert [(row["suite"], row["case"], row["model"]) for row in found] == [
        ("A", "a", "claude-3"),
        ("A", "b", "claude-3"),
        ("B", "a", "claude-3"),
        ("B", "a", "gpt-4o"),
    ]


def test_without_bulk_only_transcripts_and_scores_of_trials_are_missing(
    history: History, keep: Keep
) -> None:
    id = keep(1)
    (light,), (whole,) = (history.document(id, bulk=bulk)["cases"] for bulk in (False, True))
    (trial,) = whole["trials"]
    assert {"scores", "transcript"} < trial.keys()
    rest = {name: value for name, value in trial.items() if name not in ("scores", "transcript")}
    assert light == {**whole, "trials": [rest]}


def test_listing_and_comparing_never_read_the_bulk(history: History, keep: Keep) -> None:
    id = keep(1)
    with sqlite3.connect(history.path) as connection:
        connection.execute("ALTER TABLE blocks DROP COLUMN bulk")
    connection.close()
    assert history.runs()[0].cases == 1
    assert history.document(id, bulk=False)["cases"][0]["case"] == "paris"
    assert history.trend("paris").points[0].overall == 1.0
    with pytest.raises(ToolevalError, match="bulk"):
        history.document(id)


def test_a_summary_has_the_figures_of_the_document(history: History) -> None:
    rows = [
        case_row("a", overall=1.0, weight=3.0),
        case_row("b", outcome="failed", overall=0.0),
        case_row("c", outcome="missed", overall=0.5, cost_usd=None, model="gpt-4o"),
        case_row("d", outcome="error", overall=0.9),
        case_row("e", outcome="skipped", overall=None, trials=0),
    ]
    about = run()
    writer = history.begin(about)
    writer.add(packed(*rows))
    writer.finish({**about, "exitstatus": 1}, [gate(True), gate(False)])
    (summary,) = history.runs()
    total = build_document({}, rows)["run"]["total"]
    for field in ("cases", "passed", "failed", "missed", "errors", "skipped", "cost_usd"):
        assert getattr(summary, field) == total[field], field
    assert summary.overall == pytest.approx(total["metrics"]["overall"]["mean"])
    assert (summary.id, summary.started) == (writer.id, "2026-11-22T10:15:30+00:00")
    assert (summary.models, summary.status) == (("claude-3", "gpt-4o"), "finished")
    assert (summary.duration_s, summary.exitstatus) == (12.5, 1)
    assert (summary.gates_passed, summary.gates_failed) == (1, 1)
    assert summary.git == {"commit": COMMIT, "branch": "main", "dirty": False}
    assert json.loads(json.dumps(summary.to_dict()))["models"] == ["claude-3", "gpt-4o"]


def test_a_run_without_rows_git_and_numbers_is_listed(history: History) -> None:
    history.begin(run(git=None)).finish(run(git=None, exitstatus=None))
    (summary,) = history.runs()
    assert (summary.cases, summary.overall, summary.cost_usd, summary.git) == (0, None, None, None)
    assert history.document(summary.id)["cases"] == []


def test_the_newest_come_first_and_a_limit_counts_runs(history: History, keep: Keep) -> None:
    ids = [keep(day) for day in (2, 3, 1)]
    assert [summary.id for summary in history.runs()] == [ids[1], ids[0], ids[2]]
    assert [summary.id for summary in history.runs(1)] == [ids[1]]


def test_filters(history: History, keep: Keep) -> None:
    one = keep(1, case_row(suite="Weather"), case_row(suite="Travel", model="gpt-4o"))
    two = keep(2, case_row(suite="Travel"), git={"commit": COMMIT, "branch": "new", "dirty": True})
    found = {
        "all": history.runs(),
        "model": history.runs(model="gpt-4o"),
        "suite": history.runs(suite="Travel"),
        "branch": history.runs(branch="new"),
        "none": history.runs(branch="new", model="gpt-4o"),
    }
    assert {name: [summary.id for summary in runs] for name, runs in found.items()} == {
        "all": [two, one],
        "model": [one],
        "suite": [two, one],
        "branch": [two],
        "none": [],
    }
    # Of a run that holds more, only what was asked for is counted.
    assert (found["model"][0].cases, found["model"][0].models) == (1, ("gpt-4o",))
    assert [summary.cases for summary in found["suite"]] == [1, 1]


def test_a_row_added_again_takes_the_place_of_the_first(history: History) -> None:
    writer = history.begin(run())
    writer.add(packed(case_row("a", outcome="failed", answer="first"), case_row("b", position=1)))
    writer.add(packed(case_row("a", answer="second"), case_row("a", answer="third")))
    document = history.document(writer.id)
    assert [row["case"] for row in document["cases"]] == ["a", "b"]
    assert "third" in json.dumps(document["cases"][0])
    assert history.runs()[0].failed == 0
    assert _orphans(history) == 0


def test_many_rows_come_back_from_their_blocks(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_BLOCK_ROWS", 3)
    monkeypatch.setattr(codec, "_BLOCK_CHARACTERS", 5_000)
    rows = [
        case_row(f"case-{n}", position=n, answer="lang und breit " * (400 if n == 4 else 1))
        for n in range(8)
    ]
    blocks = list(codec.in_blocks(packed(*rows)))
    assert [len(block) for block in blocks] == [3, 1, 1, 3]
    writer = history.begin(run())
    writer.add(packed(*rows))
    assert history.document(writer.id)["cases"] == rows
    for row in rows:
        assert history.case(writer.id, row["nodeid"]) == row


def test_one_case_with_its_transcript(history: History, keep: Keep) -> None:
    row = case_row("paris", answer="sunny")
    id = keep(1, row, case_row("rome"))
    assert history.case(id, row["nodeid"]) == row
    with pytest.raises(ToolevalError, match="has no case nowhere"):
        history.case(id, "nowhere")
    with pytest.raises(ToolevalError, match="there is no run 2020"):
        history.case("2020", row["nodeid"])


def test_a_run_that_said_nothing_has_a_whole_document(history: History) -> None:
    found = history.document(history.begin({}).id)["run"]
    assert (found["status"], found["collection_errors"], found["models"]) == ("running", 0, [])


def test_hostile_texts_come_back(history: History) -> None:
    about = run(options={"k": HOSTILE}, git={"commit": COMMIT, "branch": HOSTILE, "dirty": False})
    row = case_row(
        HOSTILE,
        suite=HOSTILE,
        model=HOSTILE,
        answer=HOSTILE,
        nodeid=HOSTILE,
        file=HOSTILE,
        reason=HOSTILE,
    )
    writer = history.begin(about)
    writer.add(packed(row))
    writer.finish(about, [{**gate(False), "message": HOSTILE}], comparison(HOSTILE))
    document = history.document(writer.id)
    assert document["cases"] == [row]
    assert document["run"]["git"]["branch"] == document["baseline"]["message"] == HOSTILE
    assert history.case(writer.id, HOSTILE) == row
    assert history.trend(HOSTILE, model=HOSTILE).points[0].cases == 1
    assert history.runs(branch=HOSTILE, suite=HOSTILE, model=HOSTILE)[0].id == writer.id
    assert history.find(f"latest:{HOSTILE}") == writer.id
    assert len(history.trends_for(document)["series"]) == 1


def test_not_a_number_in_a_score_does_no_harm(history: History) -> None:
    writer = history.begin(run())
    writer.add(packed(case_row(overall=float("nan"), outcome="failed")))
    assert history.runs()[0].overall is None
    assert history.document(writer.id, bulk=False)["cases"][0]["outcome"] == "failed"


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n")), min_size=1),
    st.text(st.characters()),
)
def test_every_text_can_be_stored(lines: list[str], text: str) -> None:
    assert unsqueeze(squeeze(lines)) == lines
    connection = sqlite3.connect(":memory:")
    assert connection.execute("SELECT ?", (safe_text(text),)).fetchone() == (safe_text(text),)
    connection.close()


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22T10:15:30+00:00",
        "2026-11-22T10:15:30Z",
        "2026-11-22T10:15:30",
        "2026-11-22T12:15:30+02:00",
    ],
)
def test_times_are_utc(text: str) -> None:
    assert timestamp(text) == 1795342530.0


def test_what_begin_refuses(history: History) -> None:
    with pytest.raises(ToolevalError, match="started: expected an ISO 8601 time, got 'yesterday'"):
        history.begin(run("yesterday"))
    history.begin(run(id="one"))
    with pytest.raises(ToolevalError, match="there is a run one already"):
        history.begin(run(id="one"))


def test_a_run_gets_an_id_from_its_time(history: History) -> None:
    writer = history.begin(run("2026-11-22T12:15:30+02:00"))
    assert writer.id.startswith("20261122-101530-")
    assert history.document(writer.id)["run"]["id"] == writer.id


def test_what_is_computed_is_not_kept_twice(history: History) -> None:
    about = {**run(), "total": {"cases": 99}}
    writer = history.begin(about)
    writer.finish(about)
    assert history.document(writer.id)["run"]["total"]["cases"] == 0


def test_prune_keeps_the_newest(history: History, keep: Keep) -> None:
    ids = [keep(day, case_row("a"), case_row("b", answer="x" * 100_000)) for day in (1, 2, 3)]
    assert history.expired(keep=1) == [ids[1], ids[0]]
    size = history.path.stat().st_size
    gone = history.prune(keep=1)
    assert (gone.runs, gone.cases) == (2, 4)
    assert [summary.id for summary in history.runs()] == [ids[2]]
    assert history.path.stat().st_size == size - gone.freed_bytes
    assert history.prune(keep=1).runs == 0
    assert _orphans(history) == 0


def _orphans(history: History) -> int:
    connection = sqlite3.connect(history.path)
    try:
        (blocks,) = connection.execute(
            "SELECT COUNT(*) FROM blocks WHERE id NOT IN (SELECT block FROM cases)"
        ).fetchone()
        (suites,) = connection.execute(
            "SELECT COUNT(*) FROM suites WHERE run NOT IN (SELECT number FROM runs)"
        ).fetchone()
    finally:
        connection.close()
    return int(blocks + suites)


def test_prune_gives_the_space_back(history: History, keep: Keep) -> None:
    noise = "".join(chr(33 + (i * i * 7919) % 90) for i in range(200_000))
    keep(1, *(case_row(str(n), answer=noise[n:]) for n in range(20)))
    keep(2)
    assert history.prune(keep=1).freed_bytes > 10_000


def _finished(history: History, started: str) -> str:
    writer = history.begin(run(started))
    writer.finish(run(started))
    return writer.id


def test_prune_by_age_and_by_both(history: History) -> None:
    old, recent = (_finished(history, f"{year}-01-01T00:00:00+00:00") for year in (2020, 2021))
    writer = history.begin({})
    writer.finish({})
    assert history.expired(older_than=timedelta(days=300)) == [recent, old]
    assert history.expired(older_than=timedelta(days=300), keep=2) == [old]
    assert history.expired(older_than=timedelta(days=100_000)) == []
    assert history.prune(older_than=timedelta(days=300)).runs == 2
    assert [summary.id for summary in history.runs()] == [writer.id]


def test_prune_asks_for_a_limit(history: History) -> None:
    with pytest.raises(ToolevalError, match="give keep, older_than or both"):
        history.prune()


def test_a_run_that_goes_on_is_never_deleted(history: History, keep: Keep) -> None:
    keep(20)
    writer = history.begin(run("2026-11-01T10:00:00Z"))
    assert history.prune(keep=0).runs == 1
    with pytest.raises(ToolevalError, match="still goes on"):
        history.delete(writer.id)
    writer.finish(run("2026-11-01T10:00:00Z"))
    assert history.delete(writer.id).runs == 1
    assert history.runs() == []
    with pytest.raises(ToolevalError, match="there is no run"):
        history.delete(writer.id)


def test_finishing_a_run_that_was_deleted_elsewhere_is_an_error_at_most(history: History) -> None:
    writer = history.begin(run())
    with sqlite3.connect(history.path) as connection:
        connection.execute("DELETE FROM runs")
    connection.close()
    with pytest.raises(ToolevalError, match="FOREIGN KEY"):
        writer.add(packed(case_row()))
    writer.finish(run())
    assert history.runs() == []


def test_the_work_folder_is_hidden_from_git(history: History, keep: Keep) -> None:
    keep(1)
    assert (history.folder / ".gitignore").read_text() == "*\n"


def test_trends_for_the_html_report(history: History, keep: Keep) -> None:
    keep(1, case_row(suite="Other"))
    first = keep(2, case_row(overall=0.5, outcome="failed"), case_row(model="gpt-4o"))
    second = keep(3, case_row(overall=1.0), case_row("x", suite="Travel"))
    keep(4, case_row())
    found = history.trends_for(history.document(second))
    assert found == {
        "runs": [
            {"id": first, "started": "2026-11-02T10:00:00+00:00", "commit": COMMIT},
            {"id": second, "started": "2026-11-03T10:00:00+00:00", "commit": COMMIT},
        ],
        "series": [
            {"model": "claude-3", "suite": "Weather", "metric": "overall", "values": [0.5, 1.0]},
            {"model": "claude-3", "suite": "Travel", "metric": "overall", "values": [None, 1.0]},
        ],
    }
