"""Heads are read newest first, as far as needed, and what is known of them is kept."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, place_of, runs
from pytest_tooleval.history.heads import pack_head, unpack_head
from pytest_tooleval.history.places import Place

from .conftest import Keep
from .runs import COMMIT, case_of, kept, problems_of, run_of


def remember_reads(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read from now on."""
    names: list[str] = []
    read = place.read

    def remember(name: str, start: int = 0, size: int | None = None) -> bytes:
        names.append(name)
        return read(name, start, size)

    monkeypatch.setattr(place, "read", remember)
    return names


@pytest.mark.parametrize(
    ("ask", "read"),
    [
        # The next one could be of the same second.
        (lambda history: history.runs(2), 3),
        (lambda history: history.find("latest"), 2),
        (lambda history: history.find("good~2"), 4),
        (lambda history: history.find("good", {("weather.tooleval.json", "claude-3")}), 2),
        (lambda history: history.find("20261101"), 0),
        (lambda history: history.trend("Weather", limit=2), 3),
        (lambda history: history.trend("paris", limit=2), 3),
        (lambda history: history.trend("only-once"), 9),
        (lambda history: history.has("x"), 0),
    ],
)
def test_only_the_newest_heads_are_read(
    history: History,
    keep: Keep,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[History], object],
    read: int,
) -> None:
    keep(1, case_of("only-once"), case_of())
    for day in range(2, 10):
        keep(day)
    names = remember_reads(history.place, monkeypatch)
    ask(history)
    assert len(names) == read
    assert all(name.startswith("heads/") for name in names)


def damage_cases(data: bytes) -> bytes:
    return data[:-12] + bytes([data[-12] ^ 1]) + data[-11:]


def of_another(data: bytes) -> bytes:
    run = unpack_head(data, "20261102-100000-abcdef", "")
    summary = structs.replace(run.head.summary, id="other\x1b")
    return pack_head(structs.replace(run.head, summary=summary), run.cases())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "not a head of version 6: Input data was truncated"),
        (lambda data: data[:50], "damaged, or not a head"),
        (lambda data: data[:-1], "the cases have another checksum"),
        (damage_cases, "the cases have another checksum"),
        (lambda data: b"no head", "incorrect header check"),
        (lambda data: gzip.compress(b'{"version":2}'), "Invalid enum value 2"),
        (lambda data: gzip.compress(b'{"version":5,"trust":"\xff"}'), "damaged, or not a head"),
        (of_another, r"the head of another run, other\x1b"),
    ],
)
def test_a_damaged_head_is_one_line_that_names_the_file(
    history: History, keep: Keep, damage: Callable[[bytes], bytes], message: str
) -> None:
    others = keep(1), keep(3)
    id = "20261102-100000-abcdef"
    keep(2, id=id)
    file = history.folder / f"heads/{id}.{COMMIT}.json.gz"
    file.write_bytes(damage(file.read_bytes()))
    (problem,) = problems_of(history)
    assert problem.startswith(f"{history.folder}: heads/{file.name}: ")
    assert message in problem
    assert problem.isprintable()
    assert [run.id for run in history.runs()] == [*reversed(others)]
    assert len(history.trend("paris").points) == 2
    assert history.find("latest~1") == others[0]
    with pytest.raises(ToolevalError, match=f"heads/{id}"):
        history.rows_document(history.find(id))


def test_heads_of_a_bucket_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"memory://{uuid4().hex}/runs"
    writer = History(tmp_path / "writer" / ".tooleval", place_of(url, tmp_path))
    ids = []
    for day in range(1, 21):
        run = run_of(f"2026-11-{day:02}T10:00:00+00:00")
        log = writer.begin(run)
        log.add(kept(case_of()))
        log.finish(run)
        ids.append(run.id)

    def reader(name: str = "reader") -> tuple[History, list[str]]:
        history = History(tmp_path / name / ".tooleval", place_of(url, tmp_path))
        return history, remember_reads(history.place, monkeypatch)

    first, fetched = reader("another")
    assert first.find("latest") == ids[-1]
    assert len(fetched) <= 2 * runs.THREADS
    first, fetched = reader()
    assert len(first.runs()) == 20
    assert len(fetched) == len({*fetched}) == 20
    second, fetched = reader()
    assert second.runs() == first.runs()
    assert second.trend("paris") == first.trend("paris")
    assert fetched == []
    writer.delete(*ids[:15])
    third, fetched = reader()
    assert [run.id for run in third.runs()] == ids[:14:-1]
    assert fetched == []
    (cache,) = (tmp_path / "reader" / ".tooleval").glob("cache-*")
    copies = sorted(cache.iterdir())
    assert [copy.name.partition(".")[0] for copy in copies] == ids[15:]
    copies[0].write_bytes(b"damaged")
    fourth, fetched = reader()
    assert fourth.runs() == third.runs()
    assert len(fetched) == 1


def test_the_log_of_a_killed_run_is_read_once(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (1, 2):
        writer = history.begin(run_of(f"2026-11-0{day}T10:00:00+00:00"))
        writer.add(kept(case_of(), case_of("rome")))
        writer.close()
    before = history.runs()
    assert [(run.status, run.cases) for run in before] == [("killed", 2)] * 2

    def refuse(path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(runs, "read_log", refuse)
    assert history.runs() == before
    assert len(history.trend("rome").points) == 2


def test_a_run_that_was_merged_again_replaces_its_copy(tmp_path: Path) -> None:
    url = f"memory://{uuid4().hex}/runs"
    writer, reader = (
        History(tmp_path / name / ".tooleval", place_of(url, tmp_path)) for name in ("writer", "reader")
    )
    run = run_of()
    for count in (1, 5):
        if writer.has(run.id):
            writer.delete(run.id)
        log = writer.begin(run)
        log.add(kept(*(case_of(str(number)) for number in range(count))))
        log.finish(run)
        reader.refresh()
        assert [found.cases for found in reader.runs()] == [count]


def test_a_document_may_be_newer_than_the_listing(
    history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = keep(1)
    files = history.place.files
    monkeypatch.setattr(history.place, "files", lambda folder: {} if folder == "runs" else files(folder))
    assert [run.id for run in history.runs()] == [id]


def test_deleting_many_runs_lists_the_place_as_often_as_deleting_one(
    history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [keep(day) for day in range(1, 8)]
    listed: list[str] = []
    files = history.place.files

    def remember(folder: str) -> dict[str, int | None]:
        listed.append(folder)
        return files(folder)

    monkeypatch.setattr(history.place, "files", remember)
    history.delete(ids[0])
    once = len(listed)
    history.delete(*ids[1:])
    assert len(listed) == 2 * once
