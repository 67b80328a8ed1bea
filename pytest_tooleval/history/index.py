"""The index: the heads of all runs in SQLite. It can be deleted at any time, and is made again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from ..engine.cassettes.folders import hidden
from ..errors import ToolevalError, error_text, os_reason
from ..record.encoding import to_json
from ..record.run import RunSummary
from ..suite.discovery import SUITE_ENDING
from ..text import first_few, printable
from ..verdicts.words import sums_of
from .heads import Head, Sums

VERSION = 1
PATIENCE_S = 10.0
# The root folder within the repository, as in `Git`; null in older runs.
ROOT = "json_extract(CAST(summary AS TEXT), '$.git.root')"
OF_ROOT = f"(:root IS NULL OR ifnull({ROOT}, :root) = :root)"
NEWEST = "ORDER BY started DESC, written DESC, number DESC"

_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS runs (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,      -- ISO 8601 in UTC, to the second
        written REAL NOT NULL,      -- Unix time of the head, or of the log's last event
        branch TEXT,
        status TEXT NOT NULL,
        exitstatus INTEGER,
        good INTEGER NOT NULL,
        head TEXT NOT NULL,         -- the name of its head's file; empty: it has only a log
        bytes INTEGER NOT NULL,     -- of the document or the log
        cases INTEGER NOT NULL,
        summary BLOB NOT NULL       -- JSON: RunSummary
    )
    """,
    "CREATE INDEX IF NOT EXISTS runs_by_time ON runs (started, written)",
    "CREATE TABLE IF NOT EXISTS tags (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE IF NOT EXISTS suites (
        number INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        file TEXT NOT NULL,         -- with an empty name too: all suites
        name TEXT NOT NULL,
        model TEXT NOT NULL,        -- empty: all
        suite_cases INTEGER NOT NULL,
        part BLOB                   -- JSON: Sums; none if all cases are under a variant
    )
    """,
    "CREATE INDEX IF NOT EXISTS suites_by_run ON suites (run, file, name, model)",
    "CREATE INDEX IF NOT EXISTS suites_by_name ON suites (name, file, model, run)",
    """
    CREATE TABLE IF NOT EXISTS cases (
        suite INTEGER NOT NULL REFERENCES suites (number) ON DELETE CASCADE,
        name TEXT NOT NULL,
        outcome TEXT NOT NULL,
        overall REAL,
        passes INTEGER NOT NULL,
        scored INTEGER NOT NULL,
        content TEXT NOT NULL,      -- hash of what is asked and expected
        PRIMARY KEY (suite, name)
    ) WITHOUT ROWID
    """,
)
# Whether a suite's file is in the project.
IsThere = Callable[[str], bool]


class Damaged(ToolevalError):
    """The index cannot be used. Without it, the next use makes a new one."""


class Known(NamedTuple):
    """From what a run was indexed, as in the table."""

    head: str
    bytes: int
    status: str


class Index:
    """A SQLite file, opened for each transaction, so threads and forked processes share nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent view; without a file, of an empty index.

        Raises ToolevalError. Any other error in the block shows damage, so decode values there.
        """
        address = self.path.absolute().as_uri() if self.path.exists() else "file::memory:"
        with self._open(address, "BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction. Makes folder and file if needed. Raises as `reading`."""
        try:
            hidden(self.path.parent)
        except OSError as error:
            raise _unwritable(self.path.parent, os_reason(error)) from error
        with self._open(self.path.absolute().as_uri(), "BEGIN IMMEDIATE") as connection:
            yield connection

    def remove(self) -> None:
        for ending in ("", "-journal"):
            try:
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            except OSError as error:
                raise _unwritable(self.path, os_reason(error)) from error

    @contextmanager
    def _open(self, address: str, begin: str) -> Iterator[sqlite3.Connection]:
        try:
            with closing(
                sqlite3.connect(address, timeout=PATIENCE_S, isolation_level=None, uri=True)
            ) as connection:
                # It is made again after a crash of the system.
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA foreign_keys = ON")
                _make_tables(connection)
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
        except ToolevalError:
            raise
        except UnicodeEncodeError as error:
            raise ToolevalError(f"{printable(error.object)}: expected text in UTF-8") from error
        except sqlite3.OperationalError as error:
            text = str(error)
            if "locked" in text:
                why = f"another process has kept it locked for more than {PATIENCE_S:.0f} s"
                raise ToolevalError(f"{self.path}: {why}") from error
            if any(words in text for words in ("readonly", "unable to open", "disk", "full")):
                raise _unwritable(self.path, text) from error
            raise Damaged(f"{self.path}: damaged: {printable(text)}") from error
        except Exception as error:  # damage can turn any value into any other
            raise Damaged(f"{self.path}: damaged: {printable(error_text(error))}") from error


def _unwritable(path: Path, reason: str) -> ToolevalError:
    return ToolevalError(f"{path}: cannot be written: {printable(reason)}; check its permissions")


def _make_tables(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, VERSION):
        raise ValueError(f"an index of version {version}")
    if version != VERSION:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:  # unless another process was quicker
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def known_runs(connection: sqlite3.Connection) -> dict[str, Known]:
    rows = connection.execute("SELECT id, head, bytes, status FROM runs")
    return {id: Known(*known) for id, *known in rows}


def put_head(connection: sqlite3.Connection, head: Head, file: str) -> None:
    """Index a run, in place of what was known of it. `file` is as in the table."""
    summary = head.summary
    connection.execute("DELETE FROM runs WHERE id = ?", (summary.id,))
    values = (
        summary.id,
        summary.started,
        head.written,
        summary.git.branch if summary.git else None,
        summary.status,
        summary.exitstatus,
        summary.is_good,
        file,
        head.bytes,
        len(head.cases),
        to_json(summary),
    )
    marks = ", ".join("?" * len(values))
    run = connection.execute(f"INSERT INTO runs VALUES (NULL, {marks})", values).lastrowid
    numbers = {}
    for part in head.parts:
        key = (part.file, part.suite, part.model)
        added = connection.execute(
            "INSERT INTO suites VALUES (NULL, ?, ?, ?, ?, ?, ?)",
            (run, *key, part.suite_cases, to_json(part) if part.total else None),
        )
        numbers[key] = added.lastrowid
    connection.executemany(
        "INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                numbers[case.file, case.suite, case.model],
                # An id has no brackets, so nothing takes it for the unchanged case.
                f"{case.case}[{case.variant}]" if case.variant else case.case,
                case.outcome,
                case.overall,
                case.passes,
                case.scored,
                case.content,
            )
            for case in head.cases
        ),
    )


def delete_runs(connection: sqlite3.Connection, ids: Iterable[str]) -> None:
    connection.executemany("DELETE FROM runs WHERE id = ?", ((id,) for id in ids))


def put_tags(connection: sqlite3.Connection, tags: Mapping[str, str]) -> None:
    connection.execute("DELETE FROM tags")
    connection.executemany("INSERT INTO tags VALUES (?, ?)", tags.items())


def tags_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The runs' ids by tag, without those of runs that are elsewhere."""
    query = "SELECT name, id FROM tags WHERE id IN (SELECT id FROM runs) ORDER BY name"
    return dict(connection.execute(query))


def row_of(connection: sqlite3.Connection, place: str, id: str, columns: str) -> tuple[Any, ...]:
    """These columns of the run with this id."""
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT {columns} FROM runs WHERE id = ?", (id,)
    ).fetchone()
    if row is None:
        raise ToolevalError(f'{place}: run "{printable(id)}" not found')
    return row


def read_parts(
    connection: sqlite3.Connection, run: int, name: str | None, file: str | None = None
) -> dict[str, Sums]:
    """The sums over a suite in a run, by its name or file, and by model; all suites have empty ones."""
    rows = connection.execute(
        "SELECT model, part FROM suites WHERE run = ? AND name = ifnull(?, name) "
        "AND file = ifnull(?, file) AND part NOT NULL ORDER BY model",
        (run, name, file),
    )
    return {model: msgspec.json.decode(part, type=Sums) for model, part in rows}


def list_runs(
    connection: sqlite3.Connection,
    limit: int | None,
    *,
    model: str | None,
    suite: str | None,
    branch: str | None,
    is_there: IsThere,
    root: str | None,
) -> list[RunSummary]:
    """The newest runs of a root folder with this model, suite and branch, newest first.

    `suite` is a file if it ends like one, else a suite's name. Raises ToolevalError for the name of
    several suites.
    """
    column = "file" if suite is not None and suite.endswith(SUITE_ENDING) else "name"
    most = -1 if limit is None else limit
    bound = {"model": model, "suite": suite, "branch": branch, "root": root, "limit": most}
    if suite is not None and column == "name":
        check_one_file(connection, suite, "name = :suite", bound, is_there)
    names = {"model": "model", "suite": column}
    chosen = "".join(f" AND {names[each]} = :{each}" for each in names if bound[each] is not None)
    of_runs = OF_ROOT if branch is None else f"{OF_ROOT} AND branch = :branch"
    if chosen:
        of_runs += f" AND EXISTS (SELECT 1 FROM suites WHERE run = runs.number AND model != ''{chosen})"
    rows = connection.execute(
        f"SELECT number, summary FROM runs WHERE {of_runs} {NEWEST} LIMIT :limit", bound
    ).fetchall()
    tags: dict[str, list[str]] = {}
    for tag, id in tags_of(connection).items():
        tags.setdefault(id, []).append(tag)
    found = []
    for number, data in rows:
        summary = msgspec.json.decode(data, type=RunSummary)
        if chosen:
            place = (None, suite) if column == "file" else (suite or "",)
            summary = _narrowed(summary, read_parts(connection, number, *place), model, suite)
        found.append(structs.replace(summary, tags=tuple(tags.get(summary.id, ()))))
    return found


def _narrowed(
    summary: RunSummary, parts: Mapping[str, Sums], model: str | None, suite: str | None
) -> RunSummary:
    """The summary of a run with the sums over one suite, one model or both."""
    models = [each for each in parts if each and model in (None, each)]
    total = parts[model or ""].total if (model or "") in parts else None
    changes = sums_of(total) if total else {}
    if suite is not None:
        changes["is_partial"] = any(
            part.total and part.total.cases < part.suite_cases for part in map(parts.__getitem__, models)
        )
    return structs.replace(summary, **changes, models=tuple(models), selected=0)


def check_one_file(
    connection: sqlite3.Connection,
    name: str,
    chosen: str,
    bound: Mapping[str, Any],
    is_there: IsThere,
    case: str = "",
) -> None:
    """Raise if the `chosen` rows of `suites` are of several files, unless one file moved."""
    rows = connection.execute(f"SELECT DISTINCT file FROM suites WHERE {chosen} ORDER BY file", bound)
    files = [str(file) for (file,) in rows]
    in_one_run = connection.execute(
        f"SELECT 1 FROM suites WHERE {chosen} GROUP BY run HAVING COUNT(DISTINCT file) > 1 LIMIT 1",
        bound,
    ).fetchone()
    if in_one_run is None and sum(map(is_there, files)) < 2:
        return
    what = "a case" if case else "a suite"
    names = [printable(f"{file}::{case}" if case else file) for file in files]
    raise ToolevalError(
        f"{len(files)} files have {what} {printable(name)}; name one of {first_few(names)}"
    )
