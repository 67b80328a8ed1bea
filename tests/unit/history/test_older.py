"""Runs whose head knows no cases: of older versions, and damaged ones."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
from msgspec import structs

from pytest_tooleval.history import History, load_side
from pytest_tooleval.record.encoding import to_json

from .conftest import Keep
from .runs import COMMIT, case_of, comparison

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
    "damaged",
    [b"", b"\x1f\x8b", gzip.compress(b"[]", mtime=0), gzip.compress(b'{"version": 3}', mtime=0)],
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
