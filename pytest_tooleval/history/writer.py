"""Writing a run into the store."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.encoding import to_json
from ..record.gates import Gate
from ..record.results import CaseRow, KeptCase
from ..record.run import Run, RunSummary
from ..verdicts.summary import SCORED, rows_document
from ..verdicts.words import run_summary
from .database import Database
from .running import Running, this_host
from .summaries import sums_by_place

# Higher levels take twice as long, while the run waits, and save a sixth.
_LEVEL = 1
# Cases of a run are similar: compressed together, fifty take a tenth of the space and a fifth of the
# time. Larger blocks save little more, and reading one case reads its whole block. A block is one
# statement, and SQLite before 3.32 takes at most 999 values in one: 71 cases of 14 columns.
_BLOCK_CASES = 50
_BLOCK_BYTES = 1_000_000

_PUT_RUN = """
    INSERT INTO runs (id, started, updated, host, branch, run) VALUES (?, ?, ?, ?, ?, ?)
"""
_FINISH_RUN = """
    UPDATE runs SET finished = 1, updated = ?, exitstatus = ?, good = ?, run = ?, summary = ?, gates = ?,
                    baseline = ?
    WHERE number = ?
"""
# Replaces a case of the run with the same nodeid.
_PUT_CASES = """
    INSERT OR REPLACE INTO cases (run, block, place, nodeid, file, suite, name, model, outcome, overall,
                                  passes, scored, content, suite_cases)
    VALUES
"""
Block = tuple[bytes, list[CaseRow]]  # as it is stored, and the rows
_ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class RunWriter:
    """Adds to one run. The run counts as running until `finish`, or until the process ends."""

    def __init__(self, database: Database, run: Run, store: Callable[[str], None]) -> None:
        """`store` puts the finished run with this id where the runs are."""
        self.id = run.id
        self._database = database
        self._store = store
        self._rows: dict[str, CaseRow] = {}
        with database.writing() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
                raise ToolevalError(f"{database.path}: there is a run {run.id} already")
            self._number = put_run(connection, run)
            # Before the transaction ends: a run without its lock looks dead.
            self.running = Running(database.path.parent / "running" / self.id)

    def add(self, cases: Iterable[KeptCase]) -> None:
        """Store cases, all or none of them. A case replaces one with the same nodeid.

        Each call is a transaction of some milliseconds, so add many cases at once. Raises ToolevalError
        when the store cannot be written.
        """
        latest = {case.row.nodeid: case for case in cases}
        # Compress before the store is locked.
        blocks = packed_blocks(latest.values())
        if not blocks:
            return
        with self._database.writing() as connection:
            put_cases(connection, self._number, blocks)
        self._rows.update((nodeid, case.row) for nodeid, case in latest.items())

    def finish(self, run: Run, gates: Sequence[Gate] = (), comparison: Comparison | None = None) -> None:
        """Mark the run as finished, with the verdicts of its gates and of the baseline, and store it.

        Raises NotStored if it stays on this machine.
        """
        rows = list(self._rows.values())
        summary = run_summary(rows_document(run, rows, gates, comparison))
        with self._database.writing() as connection:
            put_finish(connection, self._number, run, summary, rows, gates, comparison)
        self.running.end()
        self._store(self.id)


def put_run(connection: sqlite3.Connection, run: Run) -> int:
    """Begin a run. Returns its number."""
    branch = run.git.branch if run.git else None
    values = (run.id, run.started, time.time(), this_host(), branch, to_json(run))
    number = connection.execute(_PUT_RUN, values).lastrowid
    assert number is not None
    return number


def put_cases(connection: sqlite3.Connection, number: int, blocks: Sequence[Block]) -> None:
    for data, block in blocks:
        added = connection.execute("INSERT INTO blocks (run, cases) VALUES (?, ?)", (number, data))
        # One statement a block: at each the tests would wait for the interpreter's lock.
        connection.execute(
            _PUT_CASES + ", ".join([_ROW] * len(block)),
            [
                value
                for place, row in enumerate(block)
                for value in (number, added.lastrowid, place, *_columns(row))
            ],
        )
    suites = {(number, row.file, row.suite) for _, block in blocks for row in block}
    connection.executemany("INSERT OR IGNORE INTO suites VALUES (?, ?, ?)", suites)
    connection.execute("UPDATE runs SET updated = ? WHERE number = ?", (time.time(), number))


def put_finish(
    connection: sqlite3.Connection,
    number: int,
    run: Run,
    summary: RunSummary,
    rows: Sequence[CaseRow],
    gates: Sequence[Gate],
    comparison: Comparison | None,
) -> None:
    sums = [(number, *key, to_json(each)) for key, each in sums_by_place(rows).items()]
    documents = map(to_json, (run, summary, gates, comparison))
    values = (time.time(), run.exitstatus, summary.is_good, *documents, number)
    connection.execute(_FINISH_RUN, values)
    connection.executemany("INSERT INTO sums VALUES (?, ?, ?, ?)", sums)


def packed_blocks(cases: Iterable[KeptCase]) -> list[Block]:
    """Cases in groups that are stored together, compressed."""
    return [
        (zlib.compress(b"\n".join(case.json for case in block), _LEVEL), [case.row for case in block])
        for block in _in_blocks(cases)
    ]


def _in_blocks(cases: Iterable[KeptCase]) -> Iterator[list[KeptCase]]:
    block: list[KeptCase] = []
    size = 0
    for case in cases:
        size += len(case.json)
        if block and (len(block) == _BLOCK_CASES or size > _BLOCK_BYTES):
            yield block
            block, size = [], len(case.json)
        block.append(case)
    if block:
        yield block


def _columns(row: CaseRow) -> tuple[str | float | None, ...]:
    """The columns of the table `cases`, from `nodeid` on."""
    return (
        row.nodeid,
        row.file,
        row.suite,
        # An id has no brackets, so nothing takes it for the unchanged case.
        f"{row.case}[{row.variant}]" if row.variant else row.case,
        row.model,
        row.outcome,
        row.scores.get("overall") if row.outcome in SCORED else None,
        row.passes,
        row.scored,
        row.content,
        row.suite_cases,
    )
