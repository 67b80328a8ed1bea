"""Runs that older versions kept: heads without their cases, and an index with runs of its own."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from pytest_tooleval.history import History, load_side
from pytest_tooleval.record.encoding import to_json

from .conftest import Keep
from .runs import COMMIT, case_of, comparison, gate, run_of

CASES = [case_of("paris", answer="sunny"), case_of("rome", position=1, outcome="failed", overall=0.5)]
BASELINE = comparison()


def make_older(history: History, id: str) -> None:
    """Rewrite a run as the version before wrote it: one gzip member, and a head in plain JSON."""
    folder = history.folder
    file, head = folder / f"runs/{id}.json.gz", folder / f"heads/{id}.{COMMIT}.json.gz"
    document = json.loads(gzip.decompress(file.read_bytes()))
    names = ("version", "run", "models", "suites", "cases", "gates", "confusion", "baseline", "variants")
    data = gzip.compress(to_json({name: document[name] for name in names}), compresslevel=1)
    file.write_bytes(data)
    known = json.loads(gzip.decompress(head.read_bytes()))
    sha256 = hashlib.sha256(data).hexdigest()
    older = {"version": 1, "trust": known["trust"], "summary": known["summary"]}
    head.with_suffix("").write_bytes(to_json({**older, "bytes": len(data), "sha256": sha256}))
    head.unlink()


def test_a_run_of_an_older_version_is_read_like_others(
    history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = keep(1, *CASES)
    history.tag(id, "v1")

    def answers() -> object:
        older = History(history.folder)
        cases = [older.case(id, case.nodeid) for case in CASES]
        trends = older.trend("paris"), older.trend("Weather")
        return older.runs(), older.document(id), cases, trends, older.find("@v1"), older.find("good~0")

    with pytest.raises(Exception, match="no complete run"):
        answers()
    second = keep(2, *(structs.replace(case, outcome="passed") for case in CASES))
    before = answers()
    for each in (id, second):
        make_older(history, each)
    history.path.unlink()
    assert history.refresh() == []
    assert answers() == before
    assert load_side(id, history.folder).cases == history.rows_document(id).cases
    history.delete(second)
    assert [path.name for path in (history.folder / "runs").iterdir()] == [f"{id}.json.gz"]


@pytest.mark.parametrize(
    "damaged", [b"", b"\x1f\x8b", gzip.compress(b"[]"), gzip.compress(b'{"version": 3}')]
)
def test_a_run_whose_head_is_damaged_is_read_from_its_document(
    history: History, keep: Keep, damaged: bytes
) -> None:
    id = keep(1, *CASES)

    def answers() -> object:
        cases = [history.case(id, case.nodeid) for case in CASES]
        return history.document(id), cases, history.trend("paris"), history.runs()

    before = answers()
    (history.folder / f"heads/{id}.{COMMIT}.json.gz").write_bytes(damaged)
    history.path.unlink()

    assert history.refresh() == []
    assert answers() == before
    (history.folder / f"runs/{id}.json.gz").write_bytes(b"")
    history.path.unlink()
    (problem,) = history.refresh()
    assert f"runs/{id}.json.gz: not a results document" in problem


def older_index(folder: Path) -> Path:
    """The tables of format 12, with a run that was killed and one that could not be stored."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "history.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 12")
        connection.execute(
            "CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT, finished INTEGER, stored INTEGER, "
            "run BLOB, gates BLOB NOT NULL DEFAULT '[]', baseline BLOB NOT NULL DEFAULT 'null')"
        )
        connection.execute("CREATE TABLE blocks (id INTEGER PRIMARY KEY, run INTEGER, cases BLOB)")
        for number, (id, finished, stored) in enumerate(
            [("2026-01", 0, 0), ("2026-02", 1, 0), ("2026-03", 1, 1)]
        ):
            run = run_of(f"2026-11-0{number + 1}T10:00:00+00:00", id=id)
            gates = to_json([gate(True)]) if finished else b"[]"
            baseline = to_json(BASELINE) if finished else b"null"
            values = (number, id, finished, stored, to_json(run), gates, baseline)
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            # Of a case that ran again, the last result.
            for block in ([case_of("rome"), CASES[0]], [CASES[1]]):
                data = zlib.compress(b"\n".join(map(to_json, block)), 1)
                connection.execute("INSERT INTO blocks (run, cases) VALUES (?, ?)", (number, data))
    return folder / "history.db"


def test_runs_that_only_an_older_index_has_are_read_once(history: History) -> None:
    path = older_index(history.folder)
    (history.folder / "running").mkdir()
    (history.folder / "running" / "2026-01").touch()
    assert history.refresh() == []
    assert [(run.id, run.status) for run in history.runs()] == [
        ("2026-02", "finished"),
        ("2026-01", "killed"),
    ]
    assert not path.exists()
    for id in ("2026-01", "2026-02"):
        assert history.document(id).cases == CASES
    document = history.document("2026-02")
    assert (document.gates, document.baseline) == ((gate(True),), BASELINE)
    run = run_of("2026-11-23T10:00:00+00:00")
    assert history.begin(run).finish(run) == ""
    assert sorted(path.name for path in (history.folder / "runs").iterdir()) == [
        "2026-02.json.gz",
        f"{run.id}.json.gz",
    ]
    assert [path.name for path in history.logs.iterdir()] == ["2026-01.jsonl"]


@pytest.mark.parametrize("version", [2, 11, 13])
def test_another_older_index_is_left_alone(history: History, keep: Keep, version: int) -> None:
    path = older_index(history.folder)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    id = keep(4)
    (problem,) = history.refresh()
    assert problem == (
        f"{path}: the runs that only this older index has cannot be read (it has format {version}); "
        "delete it"
    )
    assert [run.id for run in history.runs()] == [id]
    assert path.exists()


def test_an_older_index_that_is_damaged(history: History) -> None:
    path = older_index(history.folder)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE blocks SET cases = ?", (zlib.compress(b'{"suite": 3}'),))
    assert "cannot be read" in history.refresh()[0]
    assert history.runs() == []
    assert list(history.logs.iterdir()) == []
    path.write_text("no database" * 1000)
    assert "cannot be read (file is not a database); delete it" in history.refresh()[0]
