"""Runs in one line each."""

from __future__ import annotations

import sqlite3
from collections.abc import Container
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from ..suite.discovery import SUITE_ENDING
from .codec import iso
from .codec import safe_text
from .running import Status

HEAD_COLUMNS = "id, started, updated, duration_s, finished, exitstatus, commit_id, branch, dirty"
# Weighted means, as the result document computes them: errors and skipped cases are in none.
MEAN_PARTS = """
    SUM(CASE WHEN outcome IN ('passed', 'failed', 'missed') THEN overall * weight END),
    SUM(CASE WHEN outcome IN ('passed', 'failed', 'missed') AND overall IS NOT NULL THEN weight END)
"""
_COUNTS = ("passed", "failed", "missed", "error", "skipped")


@dataclass(frozen=True)
class RunSummary:
    """A run and its figures; `overall` is the mean over cases by weight, None without a number.

    `started` is ISO 8601 in UTC. `models` are those with a case row. `duration_s` of a run that did
    not finish is the time to its last result. `cost_usd` sums what is known, None when nothing is.
    Listed for one model or suite, `models` and the figures are of that alone, gates of the whole run.
    """

    id: str
    started: str
    duration_s: float | None
    status: Status
    exitstatus: int | None
    git: dict[str, Any] | None
    models: tuple[str, ...] = ()
    cases: int = 0
    passed: int = 0
    failed: int = 0
    missed: int = 0
    errors: int = 0
    skipped: int = 0
    overall: float | None = None
    cost_usd: float | None = None
    gates_passed: int = 0
    gates_failed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {**asdict(self), "models": list(self.models)}


@dataclass(frozen=True)
class RunFilter:
    """Which runs, and of them which cases; None is all. `suite` may be a suite's file, too."""

    model: str | None = None
    suite: str | None = None
    branch: str | None = None

    def of_cases(self) -> tuple[str, dict[str, str]]:
        """A condition on the table `cases`, and its values."""
        wanted = {"model": self.model, "suite": self.suite}
        values = {name: safe_text(value) for name, value in wanted.items() if value is not None}
        conditions = {name: f"cases.{name} = :{name}" for name in values}
        if self._may_be_file:
            conditions["suite"] = "(cases.suite = :suite OR cases.file = :suite)"
        return " AND ".join(conditions.values()) or "1", values

    def of_runs(self) -> tuple[str, dict[str, str]]:
        """A condition on the table `runs`, and its values."""
        condition, values = self.of_cases()
        parts = ["1"]
        if self._may_be_file:
            # No index of the cases has their file: a run without it should not be read to its end.
            parts.append(
                "EXISTS (SELECT 1 FROM suites WHERE run = runs.number AND :suite IN (file, name))"
            )
        if values:
            parts.append(f"EXISTS (SELECT 1 FROM cases WHERE run = runs.number AND {condition})")
        if self.branch is not None:
            parts.append("branch = :branch")
            values = {**values, "branch": safe_text(self.branch)}
        return " AND ".join(parts), values

    @property
    def _may_be_file(self) -> bool:
        return self.suite is not None and self.suite.endswith(SUITE_ENDING)


def list_runs(
    connection: sqlite3.Connection, dead: Container[str], chosen: RunFilter, limit: int | None
) -> list[RunSummary]:
    """The newest `limit` runs that the filter lets through, newest first; `dead` are ids."""
    of_runs, values = chosen.of_runs()
    of_cases, _ = chosen.of_cases()
    newest = f"FROM runs WHERE {of_runs} ORDER BY started DESC, number DESC LIMIT :limit"
    bound = {**values, "limit": -1 if limit is None else limit}
    runs = connection.execute(
        f"SELECT number, gates_passed, gates_failed, {HEAD_COLUMNS} {newest}", bound
    ).fetchall()
    counts = ", ".join(f"SUM(outcome = '{outcome}')" for outcome in _COUNTS)
    found: dict[int, list[tuple[Any, ...]]] = {}
    for number, *figures in connection.execute(
        f"SELECT run, model, COUNT(*), {counts}, {MEAN_PARTS}, SUM(cost_usd) FROM cases "
        f"WHERE {of_cases} AND run IN (SELECT number {newest}) GROUP BY run, model ORDER BY run, model",
        bound,
    ):
        found.setdefault(number, []).append(tuple(figures))
    return [_summary(row, found.get(row[0], []), dead) for row in runs]


def _summary(row: tuple[Any, ...], figures: list[tuple[Any, ...]], dead: Container[str]) -> RunSummary:
    _, gates_passed, gates_failed, *head = row
    counts = [sum(column) for column in zip(*(f[1:7] for f in figures), strict=True)] or [0] * 6
    totals, weights, costs = ([f[i] for f in figures if f[i] is not None] for i in (7, 8, 9))
    return RunSummary(
        **run_head(head, dead),
        models=tuple(f[0] for f in figures),
        **dict(zip(("cases", "passed", "failed", "missed", "errors", "skipped"), counts, strict=True)),
        overall=sum(totals) / sum(weights) if sum(weights) else None,
        cost_usd=sum(costs) if costs else None,
        gates_passed=gates_passed,
        gates_failed=gates_failed,
    )


def run_head(columns: Sequence[Any], dead: Container[str]) -> dict[str, Any]:
    """`{"id", "started", "duration_s", "status", "exitstatus", "git"}` from `HEAD_COLUMNS`."""
    id, started, updated, duration_s, finished, exitstatus, commit, branch, dirty = columns
    status: Status = "finished" if finished else "killed" if id in dead else "running"
    return {
        "id": id,
        "started": iso(started),
        "duration_s": duration_s if finished else max(0.0, updated - started),
        "status": status,
        "exitstatus": exitstatus,
        "git": git_of(commit, branch, dirty),
    }


def git_of(commit: str | None, branch: str | None, dirty: int | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"commit": commit, "branch": branch, "dirty": None if dirty is None else bool(dirty)}
