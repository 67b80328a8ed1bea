"""A store that somebody else has made: nothing of it is believed, and nothing ends in a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History
from pytest_tooleval.history import load_document
from pytest_tooleval.history.codec import squeeze
from pytest_tooleval.history.codec import unsqueeze

from .conftest import Keep
from .runs import case_row
from .runs import comparison
from .runs import gate
from .runs import packed
from .runs import run

HOSTILE = "\x1b]0;PWNED\x07\n::error::owned <b>"
BAD_IDS = [
    "../../../precious.txt",
    "..",
    ".hidden",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0../../b",
    "a\n",
    HOSTILE,
    "",
    "x" * 101,
    b"20261101",
]


def change(history: History, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(history.path)) as connection, connection:
        connection.execute(statement, values)


def change_json(history: History, column: str, *path: Any, to: object) -> None:
    """Put something else into a document of the only run."""
    with closing(sqlite3.connect(history.path)) as connection, connection:
        (text,) = connection.execute(f"SELECT {column} FROM runs").fetchone()
        document = json.loads(text)
        _put(document, path, to)
        connection.execute(f"UPDATE runs SET {column} = ?", (json.dumps(document),))


def change_row(history: History, column: str, *path: Any, to: object) -> None:
    """The same in the only row of the only run; `column` is `light` or `bulk`."""
    with closing(sqlite3.connect(history.path)) as connection, connection:
        (block,) = connection.execute(f"SELECT {column} FROM blocks").fetchone()
        (line,) = unsqueeze(block)
        row = json.loads(line)
        _put(row, path, to)
        connection.execute(f"UPDATE blocks SET {column} = ?", (squeeze([json.dumps(row)]),))


def _put(value: Any, path: tuple[Any, ...], to: object) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = to


@pytest.fixture
def kept(history: History) -> str:
    about = run()
    writer = history.begin(about)
    writer.add(packed(case_row(trials=2)))
    writer.finish(about, [gate(True)], comparison())
    return writer.id


Use = Callable[[History], object]
LISTINGS: list[Use] = [
    History.runs,
    lambda history: history.find("latest"),
    lambda history: history.find("2026"),
    lambda history: history.document("x"),
    lambda history: history.case("x", "n"),
    lambda history: history.trend("paris"),
    lambda history: history.prune(keep=0),
    lambda history: history.delete("x"),
    lambda history: load_document("latest", history.folder),
]


@pytest.mark.parametrize("id", BAD_IDS, ids=range(len(BAD_IDS)))
@pytest.mark.parametrize("use", LISTINGS, ids=range(len(LISTINGS)))
def test_an_id_that_is_no_name_of_a_file(
    history: History, kept: str, tmp_path: Path, id: object, use: Use
) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    change(history, "UPDATE runs SET id = ?", id)
    with pytest.raises(ToolevalError, match=r"history\.db: runs\.id: expected [ls]") as found:
        use(history)
    assert str(found.value).isprintable()
    assert "move the file away" in str(found.value)
    assert precious.exists()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("started", HOSTILE),
        ("started", float("inf")),
        ("started", -1e20),
        ("updated", b"\xff"),
        ("duration_s", HOSTILE),
        ("finished", HOSTILE),
        ("exitstatus", HOSTILE),
        ("exitstatus", 1.5),
        ("host", b"\xff"),
        ("commit_id", b"\xff"),
        ("branch", b"\xff"),
        ("dirty", HOSTILE),
        ("gates_failed", HOSTILE),
    ],
)
def test_a_column_of_another_kind(history: History, kept: str, column: str, value: object) -> None:
    change(history, f"UPDATE runs SET {column} = ?", value)
    uses: list[Use] = [*LISTINGS, lambda history: history.document(kept)]
    for use in uses:
        with pytest.raises(ToolevalError, match=rf"history\.db: runs\.{column}: expected \w") as found:
            use(history)
        assert str(found.value).isprintable()


@pytest.mark.parametrize("column", ["model", "outcome", "content", "suite"])
def test_a_column_of_cases_of_another_kind(history: History, kept: str, column: str) -> None:
    change(history, f"UPDATE cases SET {column} = ?", b"\xff")
    if column == "model":
        with pytest.raises(ToolevalError, match="cases: expected a text"):
            history.runs()
    with pytest.raises(ToolevalError, match="cases: expected a text"):
        history.trend("paris")


def test_text_that_is_not_utf8(history: History, kept: str) -> None:
    change(history, "UPDATE cases SET model = CAST(? AS TEXT)", b"\x1b]0;x\xff")
    with pytest.raises(ToolevalError, match=r"history\.db: Could not decode") as found:
        history.runs()
    assert str(found.value).isprintable()


@pytest.mark.parametrize(
    ("column", "path", "value"),
    [
        ("run", ["collection_errors"], HOSTILE),
        ("run", ["collection_errors"], None),
        ("run", ["exitstatus"], HOSTILE),
        ("run", ["exitstatus"], True),
        ("run", ["duration_s"], 10**400),
        ("run", ["duration_s"], float("inf")),
        ("run", ["started"], HOSTILE),
        ("run", ["started"], "9999-12-31T23:59:59Z"),
        ("run", ["id"], "20200101"),
        ("run", ["id"], None),
        ("run", ["git"], [HOSTILE]),
        ("run", ["git", "commit"], 5),
        ("run", ["models"], 5),
        ("run", ["models", 0], HOSTILE),
        ("run", ["answers"], HOSTILE),
        ("run", ["options"], [HOSTILE]),
        ("gates", [0, "message"], 5),
        ("gates", [0, "passed"], HOSTILE),
        ("gates", [0], HOSTILE),
        ("baseline", ["models"], HOSTILE),
        ("baseline", ["models", 0, "metrics", 0, "old"], HOSTILE),
        ("baseline", ["cases", "same"], HOSTILE),
        ("baseline", ["cases"], {}),
    ],
)
def test_a_document_of_another_kind(
    history: History, kept: str, column: str, path: list[Any], value: object
) -> None:
    change_json(history, column, *path, to=value)
    _check_refused(history, kept, f"{column}")


@pytest.mark.parametrize("column", ["run", "gates", "baseline"])
@pytest.mark.parametrize("value", ["", "{", "[" * 100_000, "5", "[5]", b"\xff", "{}"])
def test_a_document_that_is_none(history: History, kept: str, column: str, value: object) -> None:
    change(history, f"UPDATE runs SET {column} = ?", value)
    _check_refused(history, kept, column)


@pytest.mark.parametrize(
    ("column", "path", "value"),
    [
        ("light", ["reason"], 5),
        ("light", ["outcome"], HOSTILE),
        ("light", ["outcome"], ["passed"]),
        ("light", ["scores", "overall"], HOSTILE),
        ("light", ["thresholds"], HOSTILE),
        ("light", ["weight"], 0),
        ("light", ["weight"], 10**400),
        ("light", ["weight"], True),
        ("light", ["passes"], 3),
        ("light", ["scored"], 10**9),
        ("light", ["line"], HOSTILE),
        ("light", ["trials"], {}),
        ("light", ["trials", 0], 5),
        ("light", ["trials", 0, "cost_usd"], 10**400),
        ("light", ["trials", 0, "latency_s"], -1),
        ("light", ["trials", 0, "error"], HOSTILE),
        ("bulk", [0], HOSTILE),
        ("bulk", [0], {}),
        ("bulk", [0, "scores", "overall"], 1),
        ("bulk", [0, "scores", "overall", "checks"], HOSTILE),
        ("bulk", [0, "transcript", "rounds", 0, "reply", "calls"], HOSTILE),
    ],
)
def test_a_row_of_another_kind(
    history: History, kept: str, column: str, path: list[Any], value: object
) -> None:
    change_row(history, column, *path, to=value)
    _check_refused(history, kept, "case ", bulk=column == "bulk")


@pytest.mark.parametrize("column", ["light", "bulk"])
@pytest.mark.parametrize(
    "value",
    ["text", 5, b"", b"x", squeeze([]), squeeze(["{"]), squeeze(["[]", "{}"]), squeeze(["[" * 99999])],
)
def test_a_block_that_is_none(history: History, kept: str, column: str, value: object) -> None:
    change(history, f"UPDATE blocks SET {column} = ?", value)
    _check_refused(history, kept, "", bulk=column == "bulk")


@pytest.mark.parametrize("place", [-1, 1, 10**9, "x", None])
def test_a_row_that_is_not_in_its_block(history: History, kept: str, place: object) -> None:
    if place is None:
        change(history, "UPDATE blocks SET light = ?", squeeze([""]))
    else:
        change(history, "UPDATE cases SET place = ?", place)
    _check_refused(history, kept, "")


def _check_refused(history: History, id: str, place: str, *, bulk: bool = False) -> None:
    """The run is named, with the cure; the others are read; and it can be deleted."""
    uses: list[Use] = [lambda history: history.document(id)]
    if not bulk:
        uses += [
            lambda history: history.document(id, bulk=False, intervals=False),
            lambda history: load_document("latest", history.folder),
        ]
    for use in uses:
        with pytest.raises(ToolevalError, match=rf"history\.db: the run {id}: {place}") as found:
            use(history)
        assert str(found.value).isprintable()
        assert f"delete the run with `tooleval prune {id}`" in str(found.value)
    assert [summary.id for summary in history.runs()] == [id]
    assert history.delete(id).runs == 1


def test_what_a_newer_version_adds_is_no_damage(history: History, kept: str) -> None:
    change_json(history, "run", "new", to={"a": 1})
    change_json(history, "gates", 0, "new", to=HOSTILE)
    change_row(history, "light", "trials", 0, "new", to=[1])
    document = history.document(kept)
    assert document["run"]["new"] == {"a": 1}
    assert document["cases"][0]["trials"][0]["new"] == [1]


def test_what_an_older_version_did_not_write_is_no_damage(history: History) -> None:
    found = comparison()
    for metric in found["models"][0]["metrics"]:
        metric.pop("suite", None)
    writer = history.begin(run())
    writer.finish(run(), [], found)
    assert history.document(writer.id)["baseline"] == found


def test_a_run_that_said_nothing_has_a_whole_document(history: History) -> None:
    writer = history.begin({})
    found = history.document(writer.id)["run"]
    assert (found["status"], found["collection_errors"], found["models"]) == ("running", 0, [])


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_no_file_is_deleted_behind_a_link(history: History, keep: Keep, tmp_path: Path) -> None:
    id = keep(1)
    (tmp_path / "elsewhere").mkdir()
    precious = tmp_path / "elsewhere" / "precious.txt"
    precious.write_text("precious")
    running = history.folder / "running"
    running.rmdir()
    running.symlink_to(precious.parent)
    change(history, "UPDATE runs SET id = ? WHERE id = ?", precious.name, id)
    assert history.prune(keep=0).runs == 1
    assert precious.exists()
