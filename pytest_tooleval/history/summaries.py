"""Summaries of runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import structs

from ..record.run import Git
from ..record.run import Run
from ..record.run import Status
from ..reports.run_text import Outcome
from ..reports.run_text import ending
from ..reports.run_text import run_verdict
from ..suite.discovery import SUITE_ENDING
from .run_names import WHICH

RUN_COLUMNS = "runs.run, finished, updated"
# Weighted as in the result document, without errors and skipped cases; NULL without a number.
PASS_RATE = """
    SUM(CASE WHEN outcome = 'passed' THEN weight ELSE 0 END)
    / SUM(CASE WHEN outcome IN ('passed', 'failed') THEN weight END) AS pass_rate
"""
OVERALL = """
    SUM(CASE WHEN outcome IN ('passed', 'failed') THEN overall * weight END)
    / SUM(CASE WHEN outcome IN ('passed', 'failed') AND overall IS NOT NULL THEN weight END) AS overall
"""
_FIGURES = f"""
    COUNT(*) AS cases, SUM(outcome = 'passed') AS passed, SUM(outcome = 'failed') AS failed,
    SUM(outcome = 'error') AS errors, SUM(tolerated) AS tolerated, SUM(outcome = 'skipped') AS skipped,
    {PASS_RATE}, {OVERALL}, SUM(cost_usd) AS cost_usd
"""


class OfRun(Struct, frozen=True, kw_only=True):
    """What summaries and trends copy from a run."""

    id: str
    started: str
    status: Status
    exitstatus: int | None
    ending: str  # why it is incomplete; empty if it is complete
    scoring_version: int
    git: Git | None


class RunSummary(OfRun, frozen=True, kw_only=True):
    """A run and its figures; `pass_rate` and `overall` are weighted over cases, None without a number.

    `models` are those with a case, `suites` the names of all suites. The `duration_s` of an unfinished
    run is the time to its last result. `selected` counts the selected cases of the whole run. `cost_usd`
    sums the known costs, None without any. `outcome` marks the `verdict`. Listed for one model or suite,
    `models` and the figures are only for that (and `selected` is 0), but the verdict, suites, gates and
    `tags` are those of the whole run.
    """

    outcome: Outcome
    verdict: str
    duration_s: float
    models: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    cases: int = 0
    selected: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    tolerated: int = 0
    skipped: int = 0
    pass_rate: float | None = None
    overall: float | None = None
    cost_usd: float | None = None
    gates_passed: int = 0
    gates_failed: int = 0
    is_good: bool = False
    tags: tuple[str, ...] = ()


def list_runs(
    connection: sqlite3.Connection,
    dead: Container[str],
    limit: int | None,
    *,
    model: str | None,
    suite: str | None,
    branch: str | None,
) -> list[RunSummary]:
    """The newest runs with this model, suite and branch, newest first; `dead` are ids.

    `suite` is a file if it ends like one, else a suite's name.
    """
    place = "file" if suite is not None and suite.endswith(SUITE_ENDING) else "suite"
    of_cases = " AND ".join(
        [
            "run = runs.number",
            *(["model = :model"] if model is not None else []),
            *([f"{place} = :suite"] if suite is not None else []),
        ]
    )
    of_runs = "1" if branch is None else "branch = :branch"
    if model is not None or suite is not None:
        of_runs += f" AND EXISTS (SELECT 1 FROM cases WHERE {of_cases})"
    bound = {"model": model, "suite": suite, "branch": branch, "limit": -1 if limit is None else limit}
    newest = f"FROM runs WHERE {of_runs} ORDER BY started DESC, number DESC LIMIT :limit"
    chosen = f"FROM (SELECT number {newest}) AS runs JOIN cases ON {of_cases}"
    rows = named_rows(connection, f"SELECT cases.run, {_FIGURES} {chosen} GROUP BY cases.run", bound)
    figures = {row.pop("run"): row for row in rows}
    models = _by_run(connection, f"SELECT DISTINCT run, model {chosen} ORDER BY model", bound)
    suites = _by_run(
        connection,
        f"SELECT DISTINCT run, name FROM suites WHERE run IN (SELECT number {newest}) ORDER BY file",
        bound,
    )
    tags = _by_run(connection, "SELECT run, name FROM tags ORDER BY name", {})
    summaries = []
    for number, gates_passed, gates_failed, unsure, is_good, *columns in connection.execute(
        f"SELECT number, gates_passed, gates_failed, unsure, {WHICH['good']}, {RUN_COLUMNS} {newest}",
        bound,
    ):
        run = stored_run(columns, dead)
        found = figures.get(number, {"cases": 0, "skipped": 0, "failed": 0, "errors": 0, "tolerated": 0})
        outcome, verdict = run_verdict(
            run,
            is_empty=found["cases"] == found["skipped"],
            failed=gates_failed > 0 or found["failed"] + found["errors"] > found["tolerated"],
            unsure=bool(unsure),
        )
        summary = RunSummary(
            **facts_of(run),
            outcome=outcome,
            verdict=verdict,
            duration_s=run.duration_s,
            models=tuple(models.get(number, ())),
            suites=tuple(suites.get(number, ())),
            selected=run.selected if model is None and suite is None else 0,
            gates_passed=gates_passed,
            gates_failed=gates_failed,
            is_good=bool(is_good),
            tags=tuple(tags.get(number, ())),
            **found,
        )
        summaries.append(summary)
    return summaries


def facts_of(run: Run) -> dict[str, Any]:
    names = ("id", "started", "status", "exitstatus", "scoring_version", "git")
    return {name: getattr(run, name) for name in names} | {"ending": ending(run.status, run.exitstatus)}


def named_rows(
    connection: sqlite3.Connection, query: str, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The rows of a query as dicts."""
    cursor = connection.execute(query, bound)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _by_run(
    connection: sqlite3.Connection, query: str, bound: Mapping[str, Any]
) -> dict[int, list[str]]:
    """The texts of a query for runs and texts."""
    found: dict[int, list[str]] = {}
    for run, text in connection.execute(query, bound):
        found.setdefault(run, []).append(text)
    return found


def stored_run(columns: Iterable[Any], dead: Container[str]) -> Run:
    """The run in `RUN_COLUMNS`, with status and duration also if it did not finish."""
    data, finished, updated = columns
    run = msgspec.json.decode(data, type=Run)
    if finished:
        return run
    lasted = updated - datetime.fromisoformat(run.started).timestamp()
    status: Status = "killed" if run.id in dead else "running"
    return structs.replace(run, status=status, duration_s=max(0.0, lasted))
