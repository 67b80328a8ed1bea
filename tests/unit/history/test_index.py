"""An index that is damaged, held or not to be written, and errors that say so."""

from __future__ import annotations

import contextlib
import os
import random
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, index
from pytest_tooleval.record.document import Document
from pytest_tooleval.verdicts.summary import rows_document

from .conftest import Keep
from .runs import case_of, kept, run_of


def write(history: History) -> None:
    run = run_of()
    writer = history.begin(run)
    writer.add(kept(case_of()))
    writer.finish(run)


def execute(history: History, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(history.path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "damage",
    [
        lambda history: history.path.unlink(),
        lambda history: history.path.write_bytes(b""),
        lambda history: history.path.write_text("these are not the runs you are looking for\n" * 100),
        lambda history: history.path.write_bytes(history.path.read_bytes()[:4096] + b"\xff" * 40_000),
        lambda history: execute(history, "PRAGMA user_version = 99"),
        lambda history: execute(history, "DROP TABLE suites"),
        lambda history: execute(history, "UPDATE runs SET summary = ?", b'{"id":"\xff"}'),
        lambda history: execute(history, "UPDATE suites SET part = ?", b'{"total":{}}'),
        lambda history: execute(history, "UPDATE suites SET name = CAST(? AS TEXT)", b"\x1b]0;x\xff"),
    ],
)
def test_a_damaged_index_is_made_again(
    history: History, keep: Keep, damage: Callable[[History], object]
) -> None:
    """Also of tags, and of a run that is under way."""
    tagged = keep(1, *(case_of(str(number)) for number in range(200)))
    history.tag(tagged, "v1")
    running = history.begin(run_of("2026-11-02T10:00:00+00:00"))
    running.add(kept(case_of("0")))

    def answers(history: History) -> object:
        runs = [structs.replace(run, duration_s=0.0) for run in history.runs()]
        return runs, history.find("@v1"), history.trend("Weather"), history.document(tagged)

    before = answers(history)
    damage(history)
    assert answers(history) == before
    damage(history)
    assert answers(History(history.folder)) == before


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_an_error_of_ours(seed: int, tmp_path: Path, whole_index: bytes) -> None:
    """Whatever a reader makes of the values in a damaged file."""
    history = History(tmp_path / "project" / ".tooleval")
    history.folder.mkdir(parents=True)
    history.path.write_bytes(damaged(random.Random(seed), whole_index))
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
def whole_index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    history = History(tmp_path_factory.mktemp("whole") / ".tooleval")
    for day in (1, 2, 3):
        made = run_of(f"2026-11-0{day}T10:00:00+00:00", id=f"2026-0{day}")
        writer = history.begin(made)
        writer.add(kept(*(case_of(f"c{number}") for number in range(20))))
        writer.finish(made)
    history.refresh()
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


def test_a_folder_where_the_file_should_be(history: History) -> None:
    history.path.mkdir(parents=True)
    write(history)
    with pytest.raises(ToolevalError, match=r"index.db: cannot be written"):
        history.runs()


def test_a_run_needs_no_index(history: History, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(1)
    assert len(history.runs()) == 1
    monkeypatch.setattr(index, "PATIENCE_S", 0.2)
    with closing(sqlite3.connect(history.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        keep(2)
        with pytest.raises(ToolevalError, match="another process has kept it locked"):
            history.runs()
    assert len(history.runs()) == 2


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


def test_an_index_that_cannot_be_written_is_read_until_there_is_a_new_run(
    folder_of_nobody: Path,
) -> None:
    history = History(folder_of_nobody / ".tooleval")
    write(history)
    assert history.runs()[0].cases == 1
    history.path.chmod(0o444)
    history.folder.chmod(0o555)
    assert history.runs()[0].cases == 1
    assert history.rows_document(history.find("latest")).cases[0].case == "paris"
    write(history)  # whose folders can be written
    with pytest.raises(ToolevalError, match=r"index.db: cannot be written: .*check its permissions"):
        history.runs()
