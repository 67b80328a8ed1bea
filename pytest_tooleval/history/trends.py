"""A case or a suite over the runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..record.identity import Identity, suite_names
from ..record.results import Outcome
from ..record.run import Git, Run, Status
from ..record.summary import Mean
from ..text import first_few, printable
from ..verdicts.words import ending
from .summaries import RUN_COLUMNS, IsThere, Sums, check_one_file, read_sums, stored_run

_REPORTED_RUNS = 30


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run of a case or a suite on one model.

    `pass_rate` is the weighted share of a suite's cases that passed, or of a case's trials; `passes`
    counts passed trials, of `scored` with an answer; `overall` is the weighted mean. Both are None
    without a number. `outcome` is that of a case, None for a suite. `is_part`: some of the suite's
    `suite_cases` were not selected, or have no answer, so the point is not comparable with others.
    `content` is the hash of the case or of the suite's file, and shows a change of the question;
    `scoring_version` shows one of the scoring rules, by which no point is scored again.
    """

    id: str
    started: str
    status: Status
    exitstatus: int | None
    ending: str  # why the run is incomplete; empty if it is complete
    scoring_version: int
    git: Git | None
    model: str
    outcome: Outcome | None
    cases: int
    passed: int
    passes: int
    scored: int
    suite_cases: int
    is_part: bool
    pass_rate: float | None
    overall: float | None
    content: str


class Trend(Struct, frozen=True):
    """Points from the oldest run to the newest, within a run by model; `case` is None for a suite."""

    suite: str
    case: str | None
    points: tuple[TrendPoint, ...]

    @property
    def kind(self) -> Literal["case", "suite"]:
        return "suite" if self.case is None else "case"


class PastRun(Struct, frozen=True):
    """A run in the trends of a report."""

    id: str
    started: str
    commit: str | None
    scoring_version: int


class Series(Struct, frozen=True):
    """The pass rates of a suite on a model, one per run; None if a run has none.

    `values` are those of whole runs, `parts` those of runs with only some of the suite's cases.
    """

    model: str
    suite: str
    values: tuple[float | None, ...]
    parts: tuple[float | None, ...]


class Trends(Struct, frozen=True):
    """The suites and models of a report over its run and earlier ones."""

    runs: tuple[PastRun, ...]
    series: tuple[Series, ...]


def read_trend(
    connection: sqlite3.Connection,
    dead: Container[str],
    name: str,
    model: str | None,
    limit: int | None,
    is_there: IsThere,
) -> Trend:
    """The newest `limit` runs that have the suite or case that `name` means.

    A name is a suite, its file, a case's id, `SUITE::CASE` or `FILE::CASE`. A suite's name means the
    suite even if its file moved; a file means only that file. Raises ToolevalError for an unknown name,
    and for one that several suites or cases have.
    """
    found_as = _resolve(connection, name)
    suite, case, file = found_as.suite, found_as.case, found_as.file
    bound = {"suite": suite, "file": file, "name": case, "model": model or ""}
    chosen = " AND ".join(f"cases.{column} = :{column}" for column in bound if bound[column])
    if not file:
        check_one_file(connection, name, chosen, bound, is_there, case)
    runs = connection.execute(
        f"""
        SELECT number, {RUN_COLUMNS} FROM runs
        WHERE EXISTS (SELECT 1 FROM cases WHERE run = number AND {chosen})
        ORDER BY started DESC, number DESC LIMIT :limit
        """,
        {**bound, "limit": -1 if limit is None else limit},
    ).fetchall()[::-1]
    if not runs:
        known = connection.execute(
            "SELECT DISTINCT model FROM cases WHERE suite = ? ORDER BY model", (suite,)
        ).fetchall()
        names = _names(known)
        raise ToolevalError(f"{printable(name)} never ran on {printable(model or '')}, only on {names}")
    points: list[TrendPoint] = []
    for number, *columns in runs:
        run = stored_run(columns, dead)
        if not case:
            by_model = read_sums(connection, number, file or suite)
            found = [_of_suite(each, sums) for each, sums in by_model.items() if each]
        else:
            found = _of_case(connection, chosen, {**bound, "run": number})
        points += [TrendPoint(**_facts(run), **each) for each in found if model in (None, each["model"])]
    return Trend(suite, case or None, tuple(points))


def _of_suite(model: str, sums: Sums) -> dict[str, Any]:
    total = sums.total
    return {
        "model": model,
        "outcome": None,
        "cases": total.cases,
        "passed": total.passed,
        "passes": sums.passes,
        "scored": sums.scored,
        "suite_cases": sums.suite_cases,
        "is_part": _is_part(sums),
        "pass_rate": _mean(total.pass_rate),
        "overall": _mean(total.metrics.get("overall")),
        "content": sums.content,
    }


def _of_case(
    connection: sqlite3.Connection, chosen: str, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    cursor = connection.execute(
        f"""
        SELECT model, outcome, 1 AS cases, (outcome = 'passed') AS passed, passes, scored, suite_cases,
               passes * 1.0 / scored AS pass_rate, overall, content
        FROM cases WHERE run = :run AND {chosen} ORDER BY model
        """,
        bound,
    )
    names = [name for name, *_ in cursor.description]
    return [{"is_part": False, **dict(zip(names, row, strict=True))} for row in cursor]


def _facts(run: Run) -> dict[str, Any]:
    names = ("id", "started", "status", "exitstatus", "scoring_version", "git")
    return {name: getattr(run, name) for name in names} | {"ending": ending(run.status, run.exitstatus)}


def _mean(found: Mean | None) -> float | None:
    return None if found is None else found.mean


def _is_part(sums: Sums) -> bool:
    """Whether some cases of the suite are missing or have no answer."""
    return sums.total.cases - sums.total.errors < sums.suite_cases


def read_trends(connection: sqlite3.Connection, document: RowsDocument, is_there: IsThere) -> Trends:
    """The pass rates of the suites and models of a document, over its run and earlier ones."""
    models = {row.model for row in document.models}
    labels = suite_names(row.identity for row in document.suites)
    names = list({suite.suite for suite in labels})
    among = f"({', '.join('?' * len(names))})"
    runs = connection.execute(
        f"""
        SELECT number, {RUN_COLUMNS} FROM runs
        WHERE started <= ? AND number IN (SELECT run FROM suites WHERE name IN {among})
        ORDER BY started DESC, number DESC LIMIT ?
        """,
        (document.run.started, *names, _REPORTED_RUNS),
    ).fetchall()[::-1]
    series: dict[tuple[str, str], tuple[dict[int, float], dict[int, float]]] = {}
    for number, *_ in runs:
        rows = connection.execute(
            f"SELECT name, file FROM suites WHERE run = ? AND name IN {among} ORDER BY name, file",
            (number, *names),
        )
        known = [Identity(name, file=file) for name, file in rows]
        for suite in known:
            now = _now(suite, known, labels, is_there)
            found = read_sums(connection, number, suite.file) if now else {}
            for model, sums in found.items():
                rate = _mean(sums.total.pass_rate)
                if model in models and rate is not None and now:
                    kinds = series.setdefault((labels[now], model), ({}, {}))
                    kinds[_is_part(sums)][number] = rate
    past = [stored_run(columns, ()) for _, *columns in runs]
    return Trends(
        tuple(
            PastRun(run.id, run.started, run.git.commit if run.git else None, run.scoring_version)
            for run in past
        ),
        tuple(
            Series(model, suite, *(tuple(values.get(run[0]) for run in runs) for values in kinds))
            for (suite, model), kinds in series.items()
        ),
    )


def _now(
    suite: Identity, known: Sequence[Identity], labels: Collection[Identity], is_there: IsThere
) -> Identity | None:
    """Which of the suites in `labels` an earlier run's suite is; `known` are all of that run.

    One whose file is gone may have moved, unless several files have a suite of this name.
    """
    if suite in labels:
        return suite
    others = [each for each in labels if each.suite == suite.suite]
    is_only = len(others) == 1 == sum(each.suite == suite.suite for each in known)
    return others[0] if is_only and not is_there(suite.file) else None


def _names(rows: Iterable[tuple[str]], after: str = "") -> str:
    """The first names in these rows, safe to show, each followed by `after`."""
    return first_few([printable(f"{name}{after}") for (name,) in rows])


def _resolve(connection: sqlite3.Connection, name: str) -> Identity:
    """The suite, or the case if the name means one; with a file if only that one is meant."""
    suite = _suite_called(connection, name)
    if suite is not None:
        return suite
    found = connection.execute(
        "SELECT DISTINCT suite FROM cases WHERE name = ? ORDER BY suite", (name,)
    ).fetchall()
    if len(found) == 1:
        return Identity(found[0][0], name)
    if found:
        names = _names(found, f"::{name}")
        raise ToolevalError(f"{len(found)} suites have a case {printable(name)}; name one of {names}")
    left, separator, right = name.rpartition("::")
    suite = _suite_called(connection, left) if separator else None
    if (
        suite is not None
        and connection.execute(
            "SELECT 1 FROM cases WHERE suite = ? AND ? IN (file, '') AND name = ? LIMIT 1",
            (suite.suite, suite.file, right),
        ).fetchone()
    ):
        return Identity(suite.suite, right, suite.file)
    suites = connection.execute("SELECT DISTINCT name FROM suites ORDER BY name").fetchall()
    raise ToolevalError(
        f"no run has a suite or case {printable(name)}; expected a case's id, SUITE::CASE, or a suite: "
        + (_names(suites) or "none")
    )


def _suite_called(connection: sqlite3.Connection, name: str) -> Identity | None:
    """The suite of this name; or, for a file, the suite last seen in it, and the file."""
    row = connection.execute(
        "SELECT name, CASE WHEN name = :name THEN '' ELSE file END FROM suites "
        "WHERE name = :name OR file = :name ORDER BY name = :name DESC, run DESC",
        {"name": name},
    ).fetchone()
    return None if row is None else Identity(row[0], file=row[1])
