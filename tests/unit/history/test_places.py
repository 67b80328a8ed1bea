"""Documents in a folder or a bucket, and copies of their heads."""

from __future__ import annotations

import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, place_of, places
from pytest_tooleval.history.heads import unpack_head
from pytest_tooleval.record.run import Git

from .conftest import Keep
from .runs import COMMIT, case_of, kept, problems_of, run_of


def keep_in(history: History, day: int = 1) -> str:
    run = run_of(f"2026-11-{day:02}T10:00:00+00:00")
    writer = history.begin(run)
    writer.add(kept(case_of("paris"), case_of("rome", outcome="failed", overall=0.5)))
    assert writer.finish(run) == ""
    return run.id


@pytest.fixture(params=["folder", "memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    where = {
        "folder": str(tmp_path / "share"),
        "memory": f"memory://{uuid4().hex}/runs",
        "file": f"file://{tmp_path / 'share'}",
    }
    return where[request.param]


def machine(tmp_path: Path, name: str, url: str) -> History:
    return History(tmp_path / name / ".tooleval", place_of(url, tmp_path))


def test_what_one_machine_wrote_another_one_reads(url: str, tmp_path: Path) -> None:
    one, other = (machine(tmp_path, name, url) for name in ("one", "other"))
    ids = [keep_in(one, day) for day in (1, 2)]
    one.tag(ids[0], "v1/stable")
    assert problems_of(other) == []
    assert other.runs() == one.runs()
    assert [run.tags for run in other.runs()] == [(), ("v1/stable",)]
    for id in ids:
        assert other.document(id) == one.document(id)
    assert other.trend("Weather") == one.trend("Weather")
    one.untag("v1/stable")
    one.delete(ids[0])
    other.refresh()
    assert [run.id for run in other.runs()] == [ids[1]]


def test_a_document_is_a_results_document(history: History, keep: Keep) -> None:
    id = keep(1)
    (file,) = (history.folder / "runs").iterdir()
    assert file.name == f"{id}.json.gz"
    document = json.loads(gzip.decompress(file.read_bytes()))
    assert (document["version"], document["run"]["id"]) == (7, id)
    (head,) = (history.folder / "heads").iterdir()
    assert head.name == f"{id}.{COMMIT}.json.gz"
    assert unpack_head(head.read_bytes(), id, "").head.trust == "whole"


def test_one_case_is_read_without_the_others(url: str, tmp_path: Path) -> None:
    history = machine(tmp_path, "one", url)
    chance, run = random.Random(7), run_of()
    cases = [case_of(str(n), position=n, answer=chance.randbytes(2000).hex()) for n in range(500)]
    writer = history.begin(run)
    writer.add(kept(*cases))
    writer.finish(run)
    reads = []
    read = history.place.read

    def remember(name: str, start: int = 0, size: int | None = None) -> bytes:
        data = read(name, start, size)
        reads.append((name, len(data)))
        return data

    history.place.read = remember  # type: ignore[method-assign]
    for case in (cases[0], cases[77], cases[499]):
        assert history.case(run.id, case.nodeid) == case
    of_documents = [size for name, size in reads if name.startswith("runs/")]
    whole = history.place.size(f"runs/{run.id}.json.gz")
    assert len(of_documents) == 3
    assert max(of_documents) < whole / 5


def test_jobs_that_write_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    jobs = [machine(tmp_path, f"job{number}", url) for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(lambda job: [keep_in(job, day) for day in range(1, 6)], jobs))
    reader = machine(tmp_path, "reader", url)
    assert problems_of(reader) == []
    assert {run.id for run in reader.runs()} == {id for each in ids for id in each}


def test_a_torn_upload_is_told(url: str, tmp_path: Path) -> None:
    one = machine(tmp_path, "one", url)
    torn, headless, whole = (keep_in(one, day) for day in (1, 2, 3))
    data = one.place.read(f"runs/{torn}.json.gz")
    one.place.delete(f"runs/{torn}.json.gz")
    one.place.put(f"runs/{torn}.json.gz", data[:-20])
    one.place.delete(f"heads/{headless}.{COMMIT}.json.gz")
    other = machine(tmp_path, "other", url)
    incomplete, broken = problems_of(other)
    assert [run.id for run in other.runs()] == [whole]
    assert f"{headless}.json.gz: its upload is incomplete" in incomplete
    assert f"{torn}.json.gz: torn: {len(data) - 20} of {len(data)} bytes" in broken


def test_a_run_that_cannot_be_stored_stays_here_until_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = machine(tmp_path, "one", str(tmp_path / "share"))

    def fail(self: places.Folder, name: str, data: bytes) -> None:
        raise ToolevalError(f"{self.name}: cannot be written: Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(places.Folder, "put", fail)
        run = run_of()
        unsent = history.begin(run).finish(run)
        assert unsent.startswith("the run stays on this machine until the next one: ")
        assert unsent.endswith("Permission denied")
    (first,) = history.runs()
    assert (first.id, first.status) == (run.id, "finished")
    second = keep_in(history, 23)
    assert list(history.logs.iterdir()) == []
    other = machine(tmp_path, "other", str(tmp_path / "share"))
    other.refresh()
    assert [run.id for run in other.runs()] == [second, first.id]


def test_a_killed_run_stays_here(history: History) -> None:
    writer = history.begin(run_of())
    writer.add(kept(case_of()))
    history.refresh()
    assert [run.status for run in history.runs()] == ["running"]
    assert not (history.folder / "runs").exists()


def pull_request(head: object, base: object) -> dict[str, object]:
    return {"event": {"pull_request": {"head": {"repo": head}, "base": {"repo": base}}}}


@pytest.mark.parametrize(
    ("fields", "environment", "trust"),
    [
        ({}, {}, "whole"),
        ({"exitstatus": 1}, {}, "whole"),
        ({"exitstatus": 2}, {}, "partial"),
        ({"partial": True}, {}, "partial"),
        ({"git": Git(COMMIT, "main", True)}, {}, "partial"),
        (
            {},
            pull_request({"id": 1}, {"id": 1}),
            "whole",
        ),
        (
            {},
            pull_request({"id": 2}, {"id": 1}),
            "fork",
        ),
        ({}, pull_request(None, {"id": 1}), "fork"),
        ({}, {"event": {"ref": "refs/heads/main"}}, "whole"),
        ({}, {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2", "CI_MERGE_REQUEST_PROJECT_ID": "1"}, "fork"),
    ],
)
def test_trust(
    history: History,
    keep: Keep,
    fields: dict[str, object],
    environment: dict[str, object],
    trust: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    for name, value in environment.items():
        if name == "event":
            (tmp_path / "event.json").write_text(json.dumps(value))
            monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
        else:
            monkeypatch.setenv(name, str(value))
    id = keep(1, **fields)
    (head,) = (history.folder / "heads").iterdir()
    assert unpack_head(head.read_bytes(), id, "").head.trust == trust
