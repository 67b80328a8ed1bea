"""The tables of the index: finished runs as in their documents, and those that have none yet.

A case is line `place` of its block; the other columns of `cases` are copies for trends and filters. Sums
are stored once a run is finished. Until then, and if it never does, they are made of its cases.
"""

from __future__ import annotations

import sqlite3

from ..errors import ToolevalError

VERSION = 12

_TABLES = (
    """
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,      -- ISO 8601 in UTC, to the second
        updated REAL NOT NULL,      -- Unix time of the last write
        host TEXT NOT NULL,
        branch TEXT,
        finished INTEGER NOT NULL DEFAULT 0,
        exitstatus INTEGER,
        good INTEGER NOT NULL DEFAULT 0,
        stored INTEGER NOT NULL DEFAULT 0, -- whether the place of the history has its document
        run BLOB NOT NULL,          -- JSON: Run
        summary BLOB,               -- JSON: RunSummary
        gates BLOB NOT NULL DEFAULT '[]',
        baseline BLOB NOT NULL DEFAULT 'null'
    )
    """,
    "CREATE INDEX runs_by_time ON runs (started, number)",
    """
    CREATE TABLE tags (
        name TEXT PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE suites (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        file TEXT NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (run, file, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE sums (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        place TEXT NOT NULL,        -- a suite's name or a file; empty: all
        model TEXT NOT NULL,        -- empty: all
        sums BLOB NOT NULL,         -- JSON: Sums
        PRIMARY KEY (run, place, model)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        cases BLOB NOT NULL         -- zlib of lines of JSON: CaseResult
    )
    """,
    "CREATE INDEX blocks_by_run ON blocks (run)",
    """
    CREATE TABLE cases (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        block INTEGER NOT NULL,     -- deleted with the run; a reference would need an index
        place INTEGER NOT NULL,     -- line of the block, from 0
        nodeid TEXT NOT NULL,
        file TEXT NOT NULL,
        suite TEXT NOT NULL,
        name TEXT NOT NULL,
        model TEXT NOT NULL,
        outcome TEXT NOT NULL,
        overall REAL,
        passes INTEGER NOT NULL,
        scored INTEGER NOT NULL,
        content TEXT NOT NULL,      -- hash of what is asked and expected
        suite_cases INTEGER NOT NULL,
        UNIQUE (run, nodeid)
    )
    """,
    "CREATE INDEX cases_by_name ON cases (name, suite, run)",
    # Covers filters and the choice of a baseline, which then do not read the rows.
    "CREATE INDEX cases_in_short ON cases (run, suite, file, model)",
)


def make_tables(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new store. Call it outside of a transaction.

    Raises ToolevalError for a store of another version and for a database of something else.
    """
    if _has_tables(connection, path):
        return
    # Readers and a writer do not wait for each other then. It is a property of the file.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    # Again: another process may have been quicker.
    if not _has_tables(connection, path):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _has_tables(connection: sqlite3.Connection, path: str) -> bool:
    # One statement: between two, another process could make the tables.
    version, tables = connection.execute(
        "SELECT user_version, (SELECT COUNT(*) FROM sqlite_master) FROM pragma_user_version"
    ).fetchone()
    if tables and version != VERSION:
        known = f"a history of format {version}, where this version writes {VERSION}"
        what = known if version else "not a history"
        raise ToolevalError(f"{path}: {what}; move the file away to start a new one")
    return bool(tables)
