"""Stores that cannot be used, and errors that say so."""

from __future__ import annotations

import contextlib
import os
import random
import re
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, database, schema
from pytest_tooleval.record.document import Document
from pytest_tooleval.verdicts.summary import rows_document

from .conftest import Keep
from .runs import case_of, kept, run_of


def write(history: History) -> None:
    run = run_of()
    writer = history.begin(run)
    writer.add(kept(case_of()))
    writer.finish(run)


def pragma(history: History, name: str) -> object:
    with closing(sqlite3.connect(history.path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_the_store_has_a_version_and_is_in_wal_mode(history: History, keep: Keep) -> None:
    keep(1)
    assert pragma(history, "user_version") == schema.VERSION == 12
    assert pragma(history, "journal_mode") == "wal"
    assert pragma(history, "integrity_check") == "ok"


def test_after_each_transaction_the_file_is_whole(history: History, keep: Keep) -> None:
    keep(1)
    assert sorted(path.name for path in history.folder.iterdir() if path.is_file()) == [
        ".gitignore",
        "history.db",
    ]


@pytest.mark.parametrize("version", [2, 11, 13])
def test_a_store_of_another_version_is_refused_and_left_alone(
    history: History, keep: Keep, version: int
) -> None:
    keep(1)
    with closing(sqlite3.connect(history.path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = history.path.read_bytes()
    for use in (history.runs, lambda: write(history)):
        with pytest.raises(ToolevalError, match=f"history of format {version}, where this"):
            use()
    assert history.path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(history: History) -> None:
    history.folder.mkdir(parents=True)
    with closing(sqlite3.connect(history.path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = history.path.read_bytes()
    for use in (history.runs, lambda: write(history)):
        with pytest.raises(ToolevalError, match="not a history; move the file away"):
            use()
    assert history.path.read_bytes() == before


def test_a_file_that_is_no_database(history: History) -> None:
    history.folder.mkdir(parents=True)
    history.path.write_text("these are not the runs you are looking for\n" * 100)
    for use in (history.runs, lambda: write(history), lambda: history.find("latest")):
        with pytest.raises(ToolevalError, match=r"history.db: not a history, or a damaged one"):
            use()


def test_a_damaged_store(history: History, keep: Keep) -> None:
    keep(1, *(case_of(str(number)) for number in range(200)))
    data = bytearray(history.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    history.path.write_bytes(data)
    with pytest.raises(ToolevalError, match="damaged one"):
        history.runs()


@pytest.mark.parametrize("data", [b"", zlib.compress(b'{"suite": 3}')])
def test_cases_that_cannot_be_read(history: History, keep: Keep, data: bytes) -> None:
    id = keep(1)
    with closing(sqlite3.connect(history.path)) as connection, connection:
        connection.execute("UPDATE blocks SET cases = ?", (data,))
    with pytest.raises(ToolevalError, match=r"history\.db: .* damaged one \(.*\); move it away"):
        history.document(id)
    assert history.delete(id).runs == 1


def test_text_that_is_not_utf8(history: History, keep: Keep) -> None:
    keep(1)
    with closing(sqlite3.connect(history.path)) as connection, connection:
        connection.execute("UPDATE cases SET model = CAST(? AS TEXT)", (b"\x1b]0;x\xff",))
    with pytest.raises(ToolevalError, match=r"history\.db: .* damaged one \(Could not decode") as found:
        history.trend("paris")
    assert str(found.value).isprintable()


@pytest.mark.parametrize("seed", range(100))
def test_random_damage_is_an_error_of_ours(seed: int, tmp_path: Path, whole_store: bytes) -> None:
    """Whatever a reader or a writer makes of the values in a damaged file."""
    history = History(tmp_path / "project" / ".tooleval")
    history.folder.mkdir(parents=True)
    history.path.write_bytes(damaged(random.Random(seed), whole_store))
    document = Document(**structs.asdict(rows_document(run_of(), [], [], None, intervals=True)))
    uses: Sequence[Callable[[], object]] = (
        history.runs,
        lambda: history.runs(model="claude-3"),
        lambda: history.document(history.find("latest")),
        lambda: history.case(history.find("latest"), "weather.tooleval.json::c1[claude-3]"),
        lambda: history.side("latest", history.find("latest~1")),
        lambda: history.trend("c1"),
        lambda: history.trend("Weather"),
        lambda: history.trends_for(document),
        lambda: history.tag(history.find("latest"), "new"),
        lambda: write(history),
        lambda: history.delete(*history.expired(keep=1, older_than=timedelta(days=1))),
    )
    for use in uses:
        with contextlib.suppress(ToolevalError):
            use()


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three runs, of which the last one has not been stored in its place."""
    history = History(tmp_path_factory.mktemp("whole") / ".tooleval")
    for day in (1, 2, 3):
        made = run_of(f"2026-11-0{day}T10:00:00+00:00", id=f"2026-0{day}")
        writer = history.begin(made)
        writer.add(kept(*(case_of(f"c{number}", answer="It rains. " * 20) for number in range(20))))
        writer.finish(made)
    with closing(sqlite3.connect(history.path)) as connection, connection:
        connection.execute("UPDATE runs SET stored = 0 WHERE id = '2026-03'")
    return history.path.read_bytes()


_WORDS = (b"claude-3", b"2026-11-0", b"2026-0", b"weather", b'{"id"', b'{"total', b"passed", b"CREATE")


def damaged(chance: random.Random, store: bytes) -> bytes:
    """The store with random bytes within its values, in a page's header, or in a block; or cut off."""
    data = bytearray(store)
    kind = chance.randrange(4)
    if kind == 0:
        for word in chance.sample(_WORDS, 3):
            places = [found.start() for found in re.finditer(re.escape(word), store)]
            for place in chance.sample(places, min(len(places), 5)):
                data[place + chance.randrange(len(word))] = chance.randrange(256)
    elif kind == 1:
        page = chance.randrange(len(data) // 4096) * 4096
        for _ in range(chance.randrange(1, 12)):
            data[page + chance.randrange(100)] = chance.randrange(256)
    elif kind == 2:
        start, size = chance.randrange(len(data)), chance.choice([16, 64, 512, 4096, 20_000])
        data[start : start + size] = chance.randbytes(len(data[start : start + size]))
    else:
        del data[chance.randrange(len(data)) :]
    return bytes(data)


def test_an_empty_file_becomes_a_store(history: History) -> None:
    history.folder.mkdir(parents=True)
    history.path.touch()
    assert history.runs() == []
    write(history)
    assert len(history.runs()) == 1


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / ".tooleval").write_text("")
    history = History(tmp_path / ".tooleval")
    assert history.runs() == []
    with pytest.raises(ToolevalError, match=r"\.tooleval: cannot be written: .*[Ff]ile exists"):
        history.begin(run_of())


def test_a_folder_where_the_file_should_be(history: History) -> None:
    history.path.mkdir(parents=True)
    for use in (history.runs, lambda: write(history)):
        with pytest.raises(ToolevalError, match=r"history.db: cannot be opened or written"):
            use()


def test_a_store_that_another_process_holds(
    history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(1)
    monkeypatch.setattr(database, "PATIENCE_S", 0.2)
    with closing(sqlite3.connect(history.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(history.runs()) == 1
        with pytest.raises(ToolevalError, match="another process has kept it locked"):
            history.begin(run_of())


def test_pruning_while_another_process_reads_deletes_all_the_same(
    history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(1)
    monkeypatch.setattr(database, "PATIENCE_S", 0.2)
    with closing(sqlite3.connect(history.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM runs").fetchone()
        assert history.delete(*history.expired(keep=0)).runs == 1
    assert history.runs() == []


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """A folder whose permissions hold for this process, which may be root's, too."""
    if sys.platform == "win32":
        pytest.skip("permissions of another kind")
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        if root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            for path in [folder, *folder.rglob("*")]:
                path.chmod(0o755)
            if root:
                os.seteuid(0)


def test_a_folder_that_cannot_be_written(folder_of_nobody: Path) -> None:
    folder_of_nobody.chmod(0o555)
    history = History(folder_of_nobody / ".tooleval")
    assert history.runs() == []
    with pytest.raises(ToolevalError, match=r"\.tooleval: cannot be written: Permission denied"):
        history.begin(run_of())


def test_a_store_in_a_folder_that_cannot_be_written_is_read(folder_of_nobody: Path) -> None:
    history = History(folder_of_nobody / ".tooleval")
    write(history)
    history.folder.chmod(0o555)
    assert history.runs()[0].cases == 1
    assert history.rows_document(history.find("latest")).cases[0].case == "paris"
    with pytest.raises(ToolevalError, match=r"cannot be opened or written|Permission denied"):
        history.begin(run_of())


def test_a_file_that_cannot_be_written(folder_of_nobody: Path) -> None:
    history = History(folder_of_nobody / ".tooleval")
    write(history)
    history.path.chmod(0o444)
    assert history.runs()[0].cases == 1
    with pytest.raises(ToolevalError, match=r"readonly.*check the permissions"):
        history.begin(run_of())
