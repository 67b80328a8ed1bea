"""Summaries of runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Container
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import structs

from ..record.run import Git
from ..record.run import Run
from ..record.run import Status
from ..suite.discovery import SUITE_ENDING
from .run_names import WHICH

RUN_COLUMNS = "runs.run, finished, updated"
# Weighted means as in the result document, without errors and skipped cases.
MEAN_PARTS = """
    SUM(CASE WHEN outcome IN ('passed', 'failed') THEN overall * weight END),
    SUM(CASE WHEN outcome IN ('passed', 'failed') AND overall IS NOT NULL THEN weight END)
"""
# Numerator and denominator of the pass rate.
PASS_PARTS = """
    SUM(CASE WHEN outcome = 'passed' THEN weight END),
    SUM(CASE WHEN outcome IN ('passed', 'failed') THEN weight END)
"""
_FIGURES = f"""
    COUNT(*), SUM(outcome = 'passed'), SUM(outcome = 'failed'), SUM(outcome = 'error'),
    SUM(tolerated), SUM(outcome = 'skipped'), {PASS_PARTS}, {MEAN_PARTS}, SUM(cost_usd)
"""


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run and its figures; `pass_rate` and `overall` are weighted over cases, None without a number.

    `models` are those with a case, `suites` the names of all suites. The `duration_s` of an unfinished
    run is the time to its last result. `selected` counts the selected cases of the whole run. `cost_usd`
    sums the known costs, None without any. Listed for one model or suite, `models` and the figures are
    only for that (and `selected` is 0), but suites, gates and `tags` are those of the whole run.
    """

    id: str
    started: str
    duration_s: float
    status: Status
    exitstatus: int | None
    git: Git | None
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
    found: dict[int, list[tuple[Any, ...]]] = {}
    for number, *figures in connection.execute(
        f"SELECT run, model, {_FIGURES} FROM (SELECT number {newest}) AS runs JOIN cases ON {of_cases} "
        "GROUP BY run, model ORDER BY run, model",
        bound,
    ):
        found.setdefault(number, []).append(tuple(figures))
    runs = connection.execute(
        f"SELECT number, gates_passed, gates_failed, {WHICH['good']}, {RUN_COLUMNS} {newest}", bound
    )
    suites: dict[int, list[str]] = {}
    for number, name in connection.execute(
        "SELECT DISTINCT run, name FROM suites "
        f"WHERE run IN (SELECT number {newest}) ORDER BY run, file",
        bound,
    ):
        suites.setdefault(number, []).append(name)
    tags: dict[int, list[str]] = {}
    for number, name in connection.execute("SELECT run, name FROM tags ORDER BY name"):
        tags.setdefault(number, []).append(name)
    summaries = [
        _summary(row, suites.get(row[0], []), tags.get(row[0], []), found.get(row[0], []), dead)
        for row in runs
    ]
    if model is None and suite is None:
        return summaries
    return [structs.replace(summary, selected=0) for summary in summaries]


def _summary(
    row: tuple[Any, ...],
    suites: list[str],
    tags: list[str],
    figures: list[tuple[Any, ...]],
    dead: Container[str],
) -> RunSummary:
    _, gates_passed, gates_failed, is_good, *columns = row
    run = stored_run(columns, dead)
    models, *sums = zip(*figures, strict=True) if figures else ((), *[()] * 11)
    *counts, passing, judged, total, weight, cost = map(_sum, sums)
    cases, passed, failed, errors, tolerated, skipped = (count or 0 for count in counts)
    return RunSummary(
        id=run.id,
        started=run.started,
        duration_s=run.duration_s,
        status=run.status,
        exitstatus=run.exitstatus,
        git=run.git,
        models=models,
        suites=tuple(suites),
        tags=tuple(tags),
        selected=run.selected,
        cases=cases,
        passed=passed,
        failed=failed,
        errors=errors,
        tolerated=tolerated,
        skipped=skipped,
        pass_rate=(passing or 0) / judged if judged else None,
        overall=total / weight if weight else None,
        cost_usd=cost,
        gates_passed=gates_passed,
        gates_failed=gates_failed,
        is_good=bool(is_good),
    )


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def stored_run(columns: Iterable[Any], dead: Container[str]) -> Run:
    """The run in `RUN_COLUMNS`, with status and duration also if it did not finish."""
    data, finished, updated = columns
    run = msgspec.json.decode(data, type=Run)
    if finished:
        return run
    lasted = updated - datetime.fromisoformat(run.started).timestamp()
    status: Status = "killed" if run.id in dead else "running"
    return structs.replace(run, status=status, duration_s=max(0.0, lasted))
