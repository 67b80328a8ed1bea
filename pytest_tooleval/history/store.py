"""The history: stores and indexes runs, and returns lists, documents and trends."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
import zlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.document import Document, RowsDocument
from ..record.encoding import read_document
from ..record.gates import Gate
from ..record.results import CaseResult, CaseRow
from ..record.run import Run, RunSummary
from ..text import printable
from ..verdicts.sides import BASE_WORD, Side, suites_in
from ..verdicts.summary import file_order, rows_document, whole_document
from .base import find_base
from .database import Database
from .documents import delete_documents, delete_tag, put_document, put_tag, refresh
from .places import Folder, Place
from .run_names import find_run
from .running import has_died
from .summaries import RUN_COLUMNS, list_runs, stored_cases, stored_run, stored_texts
from .trends import Trend, Trends, read_trend, read_trends
from .writer import RunWriter

FILE = "history.db"
# Runs that are deleted in one transaction.
_AT_ONCE = 32
_TAG = re.compile(r"[\w./-]{1,100}", re.ASCII)

_Case = TypeVar("_Case", bound=CaseRow)


class NotStored(ToolevalError):
    """A run is in the index of this machine, but not where the runs are."""


class Pruned(NamedTuple):
    """What was deleted; `freed_bytes` is 0 if another process used the file."""

    runs: int
    cases: int
    freed_bytes: int


def load_side(
    name: str,
    folder: Path,
    holding: Collection[tuple[str, str]] = (),
    place: Place | None = None,
) -> Side:
    """To compare: the result document in the file `name` if it exists, else the run with this name.

    `auto` and `auto:BRANCH` are the runs of the commit that this one is based on.

    `folder` is the `.tooleval` of the project, `place` has its runs, `holding` as for `History.find` and
    `find_base`.
    Raises ToolevalError for another kind of file and for an unknown run.
    """
    if os.path.isfile(name):
        path = Path(name)
        document = read_document(path, RowsDocument)
        whole = partial(_cases_in, path)
        return Side(name, document.run, document.cases, whole, suites_in(folder.parent))
    if name.endswith(".json"):
        raise ToolevalError(f"{name}: there is no such file")
    history = History(folder, place)
    if base := BASE_WORD.fullmatch(name):
        return find_base(folder.absolute().parent, history.place, base["branch"], holding)
    history.refresh()
    return history.side(name, history.find(name, holding))


def _index_file(folder: Path, place: Place) -> str:
    if place.name in (str(folder), os.path.abspath(folder)):
        return FILE
    return f"history-{hashlib.sha256(place.name.encode()).hexdigest()[:8]}.db"


def has_runs(folder: Path) -> bool:
    """Whether a folder is the `.tooleval` of a project with runs."""
    return any(folder.glob("history*.db")) or (folder / "heads").is_dir()


def _cases_in(path: Path) -> Sequence[CaseResult]:
    return read_document(path, Document).cases


class History:
    """All runs of a project, in a folder such as `PROJECT/.tooleval`. The first write makes it.

    Thread-safe. Every method raises ToolevalError when the store cannot be read or written, is
    damaged, or is of another version.
    """

    def __init__(self, folder: Path, place: Place | None = None) -> None:
        """`place` has the documents of the runs; by default the folder itself, which has the index."""
        self.folder = folder
        self.place = place or Folder(folder)
        self.path = folder / _index_file(folder, self.place)
        self._database = Database(self.path)

    def begin(self, run: Run) -> RunWriter:
        """Start storing a run, with what is known of it so far."""
        return RunWriter(self._database, run, self._store)

    def refresh(self) -> list[str]:
        """Index what the place has; returns a line for each run there that cannot be read."""
        return refresh(self._database, self.place)

    def _store(self, id: str) -> None:
        """Put the documents of this run into the place, and those that failed before."""
        with self._database.reading() as connection:
            query = "SELECT id FROM runs WHERE finished AND NOT stored ORDER BY id = ? DESC"
            waiting = [each for (each,) in connection.execute(query, (id,))]
        for each in waiting:
            try:
                self._put(each)
            except ToolevalError as error:
                which = "the run" if each == id else f"the earlier run {printable(each)}"
                raise NotStored(f"{which} stays on this machine until the next one: {error}") from error

    def _put(self, id: str) -> None:
        with self._database.reading() as connection:
            number, summary, gates, baseline, *columns = self._row(
                connection, id, f"number, summary, gates, baseline, {RUN_COLUMNS}"
            )
            run, texts = stored_run(columns, ()), stored_texts(connection, number)
            order = file_order(asked.model for asked in run.models)
            decode = msgspec.json.Decoder(CaseRow).decode
            pairs = sorted(((decode(text), text) for text in texts), key=lambda pair: order(pair[0]))
            document = rows_document(
                run,
                [row for row, _ in pairs],
                msgspec.json.decode(gates, type=list[Gate]),
                msgspec.json.decode(baseline, type=Comparison | None),
                intervals=True,
            )
            made = msgspec.json.decode(summary, type=RunSummary)
        put_document(self.place, document, [text for _, text in pairs], run, made)
        with self._database.writing() as connection:
            connection.execute("UPDATE runs SET stored = 1 WHERE id = ?", (id,))

    def runs(
        self,
        limit: int | None = None,
        *,
        model: str | None = None,
        suite: str | None = None,
        branch: str | None = None,
    ) -> list[RunSummary]:
        """The newest runs, newest first; with a model or a suite (or its file), only those with it."""
        dead = self._dead()
        with self._database.reading() as connection:
            return list_runs(
                connection,
                dead,
                limit,
                model=model,
                suite=suite,
                branch=branch,
                is_there=self._is_there,
            )

    def find(self, name: str, holding: Collection[tuple[str, str]] = ()) -> str:
        """The id of the run that `name` means; see `find_run`."""
        with self._database.reading() as connection:
            return find_run(connection, str(self.path), name, holding)

    def document(self, id: str) -> Document:
        """The result document of a run; `run.status` says whether it finished."""
        run, cases, gates, baseline = self._read(id, CaseResult)
        return whole_document(rows_document(run, cases, gates, baseline, intervals=True), cases)

    def rows_document(self, id: str, *, intervals: bool = False) -> RowsDocument:
        """The same without explanations and transcripts, and with confidence intervals only if asked."""
        return rows_document(*self._read(id, CaseRow), intervals=intervals)

    def side(self, name: str, id: str) -> Side:
        """A run to compare, under the name that the user gave."""
        run, cases, *_ = self._read(id, CaseRow)
        return Side(name, run, cases, partial(self._cases, id), suites_in(self.folder.parent))

    def _cases(self, id: str) -> Sequence[CaseResult]:
        return self._read(id, CaseResult)[1]

    def _read(
        self, id: str, type: type[_Case]
    ) -> tuple[Run, list[_Case], list[Gate], Comparison | None]:
        dead = self._dead()
        with self._database.reading() as connection:
            number, gates, baseline, *columns = self._row(
                connection, id, f"number, gates, baseline, {RUN_COLUMNS}"
            )
            run = stored_run(columns, dead)
            cases = stored_cases(connection, number, type)
            judged = (
                msgspec.json.decode(gates, type=list[Gate]),
                msgspec.json.decode(baseline, type=Comparison | None),
            )
            order = file_order(asked.model for asked in run.models)
            return run, sorted(cases, key=order), *judged

    def case(self, id: str, nodeid: str) -> CaseResult:
        """One whole case of a run, with its transcripts."""
        with self._database.reading() as connection:
            (number,) = self._row(connection, id, "number")
            found = connection.execute(
                "SELECT place, blocks.cases FROM cases JOIN blocks ON blocks.id = block "
                "WHERE cases.run = ? AND nodeid = ?",
                (number, nodeid),
            ).fetchone()
            if found is None:
                raise ToolevalError(f"the run {id} has no case {printable(nodeid)}")
            place, data = found
            return msgspec.json.decode(zlib.decompress(data).split(b"\n")[place], type=CaseResult)

    def tag(self, id: str, name: str) -> None:
        """Tag a run: `find` knows it as `@name`, and it cannot be deleted while it has a tag."""
        if not _TAG.fullmatch(name):
            raise ToolevalError(
                f"{printable(name) or '(no name)'}: expected letters, digits, and . _ / - for a tag"
            )
        with self._database.writing() as connection:
            (number,) = self._row(connection, id, "number")
            tagged = connection.execute(
                "SELECT id FROM runs JOIN tags ON tags.run = number WHERE name = ?", (name,)
            ).fetchone()
            if tagged not in (None, (id,)):
                raise ToolevalError(
                    f"the run {tagged[0]} has the tag {name}; "
                    f"`tooleval history tag --delete={name}` takes it away"
                )
            with contextlib.suppress(FileExistsError):
                put_tag(self.place, name, id)
            connection.execute("INSERT OR IGNORE INTO tags VALUES (?, ?)", (name, number))

    def untag(self, name: str) -> None:
        """Remove a tag from its run."""
        delete_tag(self.place, name, self.find(f"@{name}"))
        with self._database.writing() as connection:
            connection.execute("DELETE FROM tags WHERE name = ?", (name,))

    def trend(self, name: str, *, model: str | None = None, limit: int | None = None) -> Trend:
        """A case (`CASE` or `SUITE::CASE`) or a suite over the newest `limit` runs that have it."""
        dead = self._dead()
        with self._database.reading() as connection:
            return read_trend(connection, dead, name, model, limit, self._is_there)

    def trends_for(self, document: RowsDocument) -> Trends:
        """The pass rates of a document's suites and models up to its run, for the HTML report."""
        with self._database.reading() as connection:
            return read_trends(connection, document, self._is_there)

    def _is_there(self, file: str) -> bool:
        """Whether a suite's file is in the project."""
        return (self.folder.parent / file).is_file()

    def expired(self, *, keep: int = 0, older_than: timedelta | None = None) -> list[str]:
        """The ids of finished runs without a tag, newest first, except the newest `keep` runs and
        those not `older_than` this.
        """
        dead = self._dead()
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id, started, finished, number IN (SELECT run FROM tags) FROM runs "
                "ORDER BY started DESC, number DESC"
            ).fetchall()[keep:]
            if older_than is not None:
                before = (datetime.now(timezone.utc) - older_than).isoformat(timespec="seconds")
                rows = [row for row in rows if row[1] < before]
            return [id for id, _, finished, tagged in rows if (finished or id in dead) and not tagged]

    def delete(self, *ids: str) -> Pruned:
        """Delete these runs, and give their space back to the disk.

        Raises ToolevalError, and deletes none, if one is still running or has a tag.
        """
        dead = self._dead()
        with self._database.reading() as connection:
            for id in ids:
                columns = "number, finished, (SELECT name FROM tags WHERE run = number LIMIT 1)"
                _, finished, tag = self._row(connection, id, columns)
                if tag is not None:
                    raise ToolevalError(
                        f"the run {id} has the tag {tag}; it can be deleted after "
                        f"`tooleval history tag --delete={tag}`"
                    )
                if not finished and id not in dead:
                    raise ToolevalError(f"the run {id} is still running; delete it when it is over")
        runs = cases = 0
        before = self.path.stat().st_size
        # Each transaction waits for the disk, but a running test run must not wait for all of them.
        for start in range(0, len(ids), _AT_ONCE):
            gone = self._delete(ids[start : start + _AT_ONCE])
            runs, cases = runs + gone[0], cases + gone[1]
        self._database.shrink()
        return Pruned(runs, cases, max(0, before - self.path.stat().st_size))

    def _delete(self, ids: Sequence[str]) -> tuple[int, int]:
        """Delete runs in one transaction, and return how many runs and cases these were."""
        with self._database.reading() as connection:
            found = [self._row(connection, id, "summary, stored") for id in ids]
            made = [msgspec.json.decode(summary, type=RunSummary) for summary, stored in found if stored]
        delete_documents(self.place, made)
        runs = cases = 0
        with self._database.writing() as connection:
            for id in ids:
                (count,) = connection.execute(
                    "SELECT COUNT(*) FROM cases JOIN runs ON cases.run = number WHERE runs.id = ?", (id,)
                ).fetchone()
                cases += count
                runs += connection.execute("DELETE FROM runs WHERE id = ?", (id,)).rowcount
        for id in ids:
            with contextlib.suppress(OSError):
                (self.folder / "running" / id).unlink()
        return runs, cases

    def _row(self, connection: sqlite3.Connection, id: str, columns: str) -> tuple[Any, ...]:
        """These columns of the run with this id."""
        row: tuple[Any, ...] | None = connection.execute(
            f"SELECT {columns} FROM runs WHERE id = ?", (id,)
        ).fetchone()
        if row is None:
            raise ToolevalError(f'{self.path}: run "{printable(id)}" not found')
        return row

    def _dead(self) -> frozenset[str]:
        """The ids of runs that were killed.

        Call it before reading runs: a run says that it is finished before it releases its lock, so a
        finished run never looks killed.
        """
        with self._database.reading() as connection:
            unfinished = connection.execute(
                "SELECT id, host, updated FROM runs WHERE NOT finished"
            ).fetchall()
            folder = self.folder / "running"
            return frozenset(
                id for id, host, updated in unfinished if has_died(folder / id, host, updated)
            )
