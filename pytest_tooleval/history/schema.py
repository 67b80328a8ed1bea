"""The tables of the history, and how an older store becomes a newer one.

A row is read back from the line `place` of its block: `light`, and for a whole document `bulk`, which
holds transcripts and explanations and which no listing and no comparison touches. The other columns of
`cases` are copies for listing, trends and filters.
"""

from __future__ import annotations

import sqlite3

from ..errors import ToolevalError

# A store of version n has had the first n of these. Never change one that was released: add another.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            started REAL NOT NULL,      -- Unix time
            updated REAL NOT NULL,      -- Unix time of the last write
            duration_s REAL,
            finished INTEGER NOT NULL DEFAULT 0,
            exitstatus INTEGER,
            host TEXT NOT NULL,
            commit_id TEXT,
            branch TEXT,
            dirty INTEGER,
            gates_passed INTEGER NOT NULL DEFAULT 0,
            gates_failed INTEGER NOT NULL DEFAULT 0,
            run TEXT NOT NULL,          -- JSON, the result document's `run` without `total`
            gates TEXT NOT NULL DEFAULT '[]',
            baseline TEXT NOT NULL DEFAULT 'null'
        )
        """,
        "CREATE INDEX runs_by_time ON runs (started, number)",
        """
        CREATE TABLE suites (
            run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
            file TEXT NOT NULL,
            name TEXT NOT NULL,
            content TEXT NOT NULL,      -- hash of the file
            cases INTEGER NOT NULL,     -- in the file, selected or not
            PRIMARY KEY (run, file, name)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE cases (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
            nodeid TEXT NOT NULL,
            file TEXT NOT NULL,
            suite TEXT NOT NULL,
            name TEXT NOT NULL,
            model TEXT NOT NULL,
            outcome TEXT NOT NULL,
            overall REAL,
            weight REAL NOT NULL,
            passes INTEGER NOT NULL,
            scored INTEGER NOT NULL,
            cost_usd REAL,
            content TEXT NOT NULL,      -- hash of what is asked and expected
            suite_content TEXT NOT NULL,
            row BLOB NOT NULL,          -- zlib of JSON
            UNIQUE (run, nodeid)
        )
        """,
        "CREATE INDEX cases_by_name ON cases (name, suite, run)",
        # All that a listing or a suite's trend sums up, so that the rows themselves are not read.
        """
        CREATE INDEX cases_in_short ON cases
            (run, suite, model, outcome, overall, weight, passes, scored, cost_usd, suite_content)
        """,
        """
        CREATE TABLE bulk (
            id INTEGER PRIMARY KEY REFERENCES cases (id) ON DELETE CASCADE,
            trials BLOB NOT NULL        -- zlib of JSON
        )
        """,
    ),
    # Rows stored together: a tenth of the space and of the time. An old row is a block of its own.
    (
        """
        CREATE TABLE blocks (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
            light BLOB NOT NULL,        -- zlib of lines of JSON: rows without what follows
            bulk BLOB NOT NULL          -- zlib of lines of JSON: scores and transcripts of the trials
        )
        """,
        "CREATE INDEX blocks_by_run ON blocks (run)",
        "INSERT INTO blocks SELECT id, run, row, trials FROM cases JOIN bulk USING (id)",
        "DROP TABLE bulk",
        "DROP INDEX cases_by_name",
        "DROP INDEX cases_in_short",
        "ALTER TABLE cases RENAME TO cases_of_before",
        """
        CREATE TABLE cases (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
            block INTEGER NOT NULL,     -- goes with the run; a reference would want an index
            place INTEGER NOT NULL,     -- line of the block, from 0
            nodeid TEXT NOT NULL,
            file TEXT NOT NULL,
            suite TEXT NOT NULL,
            name TEXT NOT NULL,
            model TEXT NOT NULL,
            outcome TEXT NOT NULL,
            overall REAL,
            weight REAL NOT NULL,
            passes INTEGER NOT NULL,
            scored INTEGER NOT NULL,
            cost_usd REAL,
            content TEXT NOT NULL,      -- hash of what is asked and expected
            suite_content TEXT NOT NULL,
            UNIQUE (run, nodeid)
        )
        """,
        """
        INSERT INTO cases SELECT id, run, id, 0, nodeid, file, suite, name, model, outcome, overall,
            weight, passes, scored, cost_usd, content, suite_content FROM cases_of_before
        """,
        "DROP TABLE cases_of_before",
        "CREATE INDEX cases_by_name ON cases (name, suite, run)",
        """
        CREATE INDEX cases_in_short ON cases
            (run, suite, model, outcome, overall, weight, passes, scored, cost_usd, suite_content)
        """,
    ),
)
VERSION = len(MIGRATIONS)


def upgrade(connection: sqlite3.Connection, path: str) -> None:
    """Make or bring up to date the tables of a store that no transaction is open on.

    Raises ToolevalError for a store of a newer version and for a database of something else.
    """
    connection.execute("BEGIN")
    version = _version(connection, path)
    connection.execute("COMMIT")
    if version == VERSION:
        return
    # A property of the file: readers and a writer no longer wait for each other.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    # Again: another process may have been quicker.
    for statements in MIGRATIONS[_version(connection, path) :]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Call it inside a transaction: between two glances the tables may appear."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ToolevalError(
            f"{path}: written by a newer pytest-tooleval (store version {version}, this one knows "
            f"{VERSION}); upgrade pytest-tooleval, or move the file away"
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise ToolevalError(f"{path}: a database of something else, not a history; move it away")
    return int(version)
