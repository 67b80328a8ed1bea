"""The history: runs in, lists, documents and trends out."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
import zlib
from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..errors import ToolevalError
from ..reports.document import build_document
from ..rows import joined
from ..text import printable
from .codec import safe_text
from .codec import unsqueeze
from .database import Database
from .run_names import find_run
from .running import has_died
from .summaries import HEAD_COLUMNS
from .summaries import RunFilter
from .summaries import RunSummary
from .summaries import list_runs
from .summaries import run_head
from .trends import Trend
from .trends import read_series
from .trends import read_trend
from .writer import RunWriter

FILE = "history.db"
# Of a run that did not finish, and did not say more when it began.
_UNSAID: dict[str, Any] = {
    **dict.fromkeys(("pytest_tooleval", "pytest", "python"), ""),
    **dict.fromkeys(("exitstatus", "max_cost_usd", "git")),
    "collection_errors": 0,
    "answers": "shared",
    "models": [],
    "options": {},
}


@dataclass(frozen=True)
class Pruned:
    """What was deleted; `freed_bytes` of the disk, 0 while another process kept the file in use."""

    runs: int
    cases: int
    freed_bytes: int


def open_history(folder: Path) -> History:
    """The history in a folder such as `PROJECT/.tooleval`. Nothing is read or made before it is used."""
    return History(folder)


class History:
    """All runs of a project. One object may be used by any number of threads.

    Every method raises ToolevalError when the store cannot be read or written, is damaged, or was
    written by a newer version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._database = Database(self.path)

    def begin(self, run: Mapping[str, Any]) -> RunWriter:
        """Start keeping a run. `run` is the result document's `run` as far as it is known.

        Without `id` or `started` it gets the id of this moment.
        """
        return RunWriter(self._database, run)

    def runs(
        self,
        limit: int | None = None,
        *,
        model: str | None = None,
        suite: str | None = None,
        branch: str | None = None,
    ) -> list[RunSummary]:
        """The newest runs, newest first; for a model or suite, those that have cases of it."""
        dead = self._dead()
        with self._database.reading() as connection:
            return list_runs(connection, dead, RunFilter(model, suite, branch), limit)

    def find(self, name: str, holding: Collection[tuple[str, str]] = ()) -> str:
        """The id of a run called `latest`, `latest~2`, `latest:BRANCH` or by the beginning of its id.

        Of `good` runs only those count that hold the most of the files and models in `holding`.
        """
        with self._database.reading() as connection:
            return find_run(connection, str(self.path), name, holding)

    def document(self, id: str, *, bulk: bool = True, intervals: bool = True) -> dict[str, Any]:
        """The result document of a run; without `bulk`, its trials have no `scores` and `transcript`,
        without `intervals`, its means have no bounds.

        For a run that did not finish, `run.status` says `running` or `killed`.
        """
        dead = self._dead()
        with self._database.reading() as connection:
            number, head = _read_head(connection, self.path, id, dead)
            with _whole(self.path, id):
                run, gates, baseline = _read_about(connection, head)
                rows = _read_rows(connection, number, bulk)
        order = {entry["model"]: place for place, entry in enumerate(run.get("models", ()))}
        rows.sort(key=lambda r: (r["file"], r["position"], order.get(r["model"], len(order))))
        return build_document(run, rows, gates, baseline, intervals=intervals)

    def case(self, id: str, nodeid: str) -> dict[str, Any]:
        """One whole case row of a run, with its transcripts."""
        with self._database.reading() as connection:
            number, _ = _read_head(connection, self.path, id, ())
            found = connection.execute(
                "SELECT place, light, bulk FROM cases JOIN blocks ON blocks.id = block "
                "WHERE cases.run = ? AND nodeid = ?",
                (number, safe_text(nodeid)),
            ).fetchone()
            if found is None:
                raise ToolevalError(f"the run {id} has no case {printable(nodeid)}")
            place, light, bulk = found
            with _whole(self.path, id):
                return _row(unsqueeze(light)[place], unsqueeze(bulk)[place])

    def trend(self, name: str, *, model: str | None = None, limit: int | None = None) -> Trend:
        """A case (`CASE` or `SUITE::CASE`) or a suite over the newest `limit` runs that have it."""
        dead = self._dead()
        with self._database.reading() as connection:
            return read_trend(connection, dead, name, model, limit)

    def trends_for(self, document: Mapping[str, Any], limit: int = 30) -> dict[str, Any]:
        """The overall means of a document's suites and models up to its run, for the HTML report.

        `{"runs": [{"id", "started", "commit"}], "series": [{"model", "suite", "metric", "values"}]}`.
        """
        with self._database.reading() as connection:
            return read_series(connection, document, limit)

    def expired(self, *, keep: int | None = None, older_than: timedelta | None = None) -> list[str]:
        """The ids of what `prune` would delete, newest first."""
        if keep is None and older_than is None:
            raise ToolevalError("nothing says what to delete: give keep, older_than or both")
        before = time.time() - older_than.total_seconds() if older_than is not None else float("inf")
        dead = self._dead()
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id, started, finished FROM runs ORDER BY started DESC, number DESC"
            ).fetchall()
        rows = rows[keep or 0 :]
        return [id for id, started, finished in rows if started < before and (finished or id in dead)]

    def prune(self, *, keep: int | None = None, older_than: timedelta | None = None) -> Pruned:
        """Delete all runs but the newest `keep`, or those older than a time, or what is both.

        A run that still goes on always stays. The space goes back to the disk.
        """
        return self._delete(self.expired(keep=keep, older_than=older_than))

    def delete(self, *ids: str) -> Pruned:
        """Delete these runs. Raises ToolevalError, and deletes none, if one still goes on."""
        dead = self._dead()
        for id in ids:
            with self._database.reading() as connection:
                _, head = _read_head(connection, self.path, id, dead)
            if head["status"] == "running":
                raise ToolevalError(f"the run {id} still goes on; it can be deleted when it is over")
        return self._delete(list(ids))

    def _delete(self, ids: list[str]) -> Pruned:
        runs = cases = 0
        if not ids:
            return Pruned(0, 0, 0)
        before = self.path.stat().st_size
        for id in ids:
            # A transaction each, so that a run under way need not wait for all of them.
            with self._database.writing() as connection:
                row = connection.execute("SELECT number FROM runs WHERE id = ?", (id,)).fetchone()
                if row is None:
                    continue
                (count,) = connection.execute("SELECT COUNT(*) FROM cases WHERE run = ?", row).fetchone()
                connection.execute("DELETE FROM runs WHERE number = ?", row)
            runs, cases = runs + 1, cases + count
            with contextlib.suppress(OSError):
                (self.folder / "running" / id).unlink()
        self._database.shrink()
        return Pruned(runs, cases, max(0, before - self.path.stat().st_size))

    def _dead(self) -> frozenset[str]:
        """The ids of runs that were killed.

        To be asked before the runs are read: a run that lets go of its lock has said before that it
        is over, so what is read afterwards cannot make a finished run a killed one.
        """
        with self._database.reading() as connection:
            unfinished = connection.execute(
                "SELECT id, host, updated FROM runs WHERE NOT finished"
            ).fetchall()
        folder = self.folder / "running"
        return frozenset(id for id, host, updated in unfinished if has_died(folder / id, host, updated))


def _read_head(
    connection: sqlite3.Connection, path: Path, id: str, dead: Container[str]
) -> tuple[int, dict[str, Any]]:
    """A run's number and head."""
    row = connection.execute(
        f"SELECT number, {HEAD_COLUMNS} FROM runs WHERE id = ?", (safe_text(id),)
    ).fetchone()
    if row is None:
        raise ToolevalError(f"{path}: there is no run {printable(id)}")
    number, *head = row
    return number, run_head(head, dead)


@contextlib.contextmanager
def _whole(path: Path, id: str) -> Iterator[None]:
    """Of a damaged run its name is told: without it, the others can be read."""
    try:
        yield
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        what = f"{type(error).__name__}: {printable(str(error))}"
        cure = f"delete it with `tooleval prune {id}`"
        raise ToolevalError(f"{path}: the run {id} is damaged ({what}); {cure}") from None


def _read_about(
    connection: sqlite3.Connection, head: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Any], dict[str, Any] | None]:
    """The document's `run`, `gates` and `baseline`."""
    row = connection.execute("SELECT run, gates, baseline FROM runs WHERE id = ?", (head["id"],))
    run, gates, baseline = map(json.loads, row.fetchone())
    if head["status"] != "finished":
        run = {**_UNSAID, **run, "duration_s": head["duration_s"], "status": head["status"]}
    return run, gates, baseline


def _read_rows(connection: sqlite3.Connection, number: int, bulk: bool) -> list[dict[str, Any]]:
    places: dict[int, list[int]] = {}
    for block, place in connection.execute("SELECT block, place FROM cases WHERE run = ?", (number,)):
        places.setdefault(block, []).append(place)
    columns = "id, light, bulk" if bulk else "id, light, NULL"
    rows = []
    for block, light, heavy in connection.execute(
        f"SELECT {columns} FROM blocks WHERE run = ?", (number,)
    ):
        lines = unsqueeze(light)
        bulks = unsqueeze(heavy) if bulk else None
        rows += [
            _row(lines[place], None if bulks is None else bulks[place])
            for place in places.get(block, ())
        ]
    return rows


def _row(light: str, bulk: str | None) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(light)
    return row if bulk is None else joined(row, json.loads(bulk))
