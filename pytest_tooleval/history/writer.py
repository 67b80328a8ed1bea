"""A run on its way into the store."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from datetime import timezone
from typing import Any

from ..errors import ToolevalError
from .codec import columns_of
from .codec import in_blocks
from .codec import iso
from .codec import light_text
from .codec import safe_text
from .codec import squeeze
from .codec import timestamp
from .database import Database
from .running import Running
from .running import this_host

# A nodeid of the run that is known already gives way.
_PUT_CASE = """
    INSERT OR REPLACE INTO cases (run, block, place, nodeid, file, suite, name, model, outcome, overall,
                                  weight, passes, scored, cost_usd, content, suite_content)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def new_run_id(started: datetime | None = None) -> str:
    """`20261122-101530-3fa9c1`: the time in UTC, and what tells two runs of one second apart."""
    moment = (started or datetime.now(timezone.utc)).astimezone(timezone.utc)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


class RunWriter:
    """Adds to one run. The run counts as running until `finish`, or until the process ends."""

    def __init__(self, database: Database, run: Mapping[str, Any]) -> None:
        started = run.get("started")
        try:
            self._started = time.time() if started is None else timestamp(started)
        except ValueError:
            raise ToolevalError(f"run: started: expected an ISO 8601 time, got {started!r}") from None
        self.id: str = run.get("id") or new_run_id(datetime.fromtimestamp(self._started, timezone.utc))
        self._database = database
        self._number = self._begin(run)
        self._kept: set[str] = set()

    def _begin(self, run: Mapping[str, Any]) -> int:
        git = run.get("git") or {}
        with self._database.writing() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (self.id,)).fetchone():
                raise ToolevalError(f"{self._database.path}: there is a run {self.id} already")
            added = connection.execute(
                "INSERT INTO runs (id, started, updated, host, commit_id, branch, dirty, run) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self.id,
                    self._started,
                    time.time(),
                    this_host(),
                    git.get("commit"),
                    None if git.get("branch") is None else safe_text(git["branch"]),
                    git.get("dirty"),
                    self._run_text(run),
                ),
            )
            # Before the transaction ends: others who saw the run without it would take it for dead.
            self._running = self._sign_of_life()
            return int(added.lastrowid or 0)

    def _sign_of_life(self) -> Running:
        folder = self._database.path.parent
        try:
            return Running(folder / "running" / self.id)
        except OSError as error:
            raise ToolevalError(f"{folder}: cannot be written: {error.strerror or error}") from error

    def _run_text(self, run: Mapping[str, Any]) -> str:
        """The run without what is computed from its rows."""
        kept = {name: value for name, value in run.items() if name not in ("total", "status")}
        return json.dumps({"started": iso(self._started), **kept, "id": self.id})

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Keep packed rows, all or none of them; one of a nodeid known already takes its place.

        Each call is one transaction, which costs some milliseconds: call it with many rows. Raises
        ToolevalError when the store cannot be written.
        """
        # All that takes time is done before the store is locked.
        suites: dict[tuple[str, str], tuple[str, int]] = {}
        made = []
        latest = {row["nodeid"]: row for row in rows}
        for block in in_blocks(latest.values()):
            columns = [columns_of(row) for row in block]
            suites |= {
                (c.file, c.suite): (c.suite_content, row["suite_cases"])
                for c, row in zip(columns, block, strict=True)
            }
            light, bulk = squeeze([*map(light_text, block)]), squeeze([row["bulk"] for row in block])
            made.append((columns, light, bulk))
        if not made:
            return
        with self._database.writing() as connection:
            for columns, light, bulk in made:
                added = connection.execute(
                    "INSERT INTO blocks (run, light, bulk) VALUES (?, ?, ?)", (self._number, light, bulk)
                )
                connection.executemany(
                    _PUT_CASE,
                    [(self._number, added.lastrowid, place, *c) for place, c in enumerate(columns)],
                )
            connection.executemany(
                "INSERT OR REPLACE INTO suites VALUES (?, ?, ?, ?, ?)",
                [(self._number, *suite, *rest) for suite, rest in suites.items()],
            )
            if not self._kept.isdisjoint(latest):
                connection.execute(
                    "DELETE FROM blocks WHERE run = ?1 "
                    "AND id NOT IN (SELECT block FROM cases WHERE run = ?1)",
                    (self._number,),
                )
            connection.execute(
                "UPDATE runs SET updated = ? WHERE number = ?", (time.time(), self._number)
            )
        self._kept.update(latest)

    def finish(
        self,
        run: Mapping[str, Any],
        gates: Sequence[Mapping[str, Any]] = (),
        baseline: Mapping[str, Any] | None = None,
    ) -> None:
        """Say that the run is over, with the result document's `run`, `gates` and `baseline`."""
        # The baseline is a gate, too.
        verdicts = [bool(gate["passed"]) for gate in gates]
        verdicts += [] if baseline is None else [not baseline.get("failed")]
        failed = verdicts.count(False)
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE runs SET finished = 1, updated = ?, duration_s = ?, exitstatus = ?, "
                "gates_passed = ?, gates_failed = ?, run = ?, gates = ?, baseline = ? WHERE number = ?",
                (
                    time.time(),
                    run.get("duration_s"),
                    run.get("exitstatus"),
                    len(verdicts) - failed,
                    failed,
                    self._run_text(run),
                    json.dumps(list(gates)),
                    json.dumps(baseline),
                    self._number,
                ),
            )
        self._running.end()

    def abandon(self) -> None:
        """Stop without `finish`: the run is listed as killed, with the rows that it has."""
        self._running.end()
