"""A case or a suite over the runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..record.identity import Identity, suite_names
from ..record.results import Outcome
from ..record.run import Git, RunSummary, Status
from ..record.summary import Mean
from ..text import first_few, printable
from .heads import Part
from .index import NEWEST, IsThere, check_one_file, read_parts

_REPORTED_RUNS = 30
_HAS_CASE = "EXISTS (SELECT 1 FROM cases WHERE cases.suite = suites.number AND cases.name = :name)"


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
    meant = _resolve(connection, name)
    suite, case, file = meant.suite, meant.case, meant.file
    bound = {"suite": suite, "file": file, "name": case, "model": model}
    chosen = "suites.name = :suite AND model != ''"
    chosen += " AND file = :file" if file else ""
    chosen += " AND model = :model" if model else ""
    chosen += f" AND {_HAS_CASE}" if case else ""
    if not file:
        check_one_file(connection, name, chosen, bound, is_there, case)
    runs = connection.execute(
        f"""
        SELECT number, summary FROM runs
        WHERE number IN (SELECT run FROM suites WHERE {chosen})
        {NEWEST} LIMIT :limit
        """,
        {**bound, "limit": -1 if limit is None else limit},
    ).fetchall()[::-1]
    if not runs:
        known = connection.execute(
            "SELECT DISTINCT model FROM suites WHERE name = ? AND model != '' ORDER BY model", (suite,)
        ).fetchall()
        names = _names(known)
        raise ToolevalError(f"{printable(name)} never ran on {printable(model or '')}, only on {names}")
    points: list[TrendPoint] = []
    for number, summary in runs:
        if not case:
            by_model = read_parts(connection, number, suite, file or None)
            found = [_of_suite(part) for model, part in by_model.items() if model]
        else:
            found = _of_case(connection, chosen, {**bound, "run": number})
        facts = _facts(msgspec.json.decode(summary, type=RunSummary))
        points += [TrendPoint(**facts, **each) for each in found if model in (None, each["model"])]
    return Trend(suite, case or None, tuple(points))


def _of_suite(part: Part) -> dict[str, Any]:
    total = part.total
    assert total is not None
    same = ("model", "passes", "scored", "suite_cases", "content")
    return {
        **{name: getattr(part, name) for name in same},
        "outcome": None,
        "cases": total.cases,
        "passed": total.passed,
        "is_part": _is_part(part),
        "pass_rate": _mean(total.pass_rate),
        "overall": _mean(total.metrics.get("overall")),
    }


def _of_case(
    connection: sqlite3.Connection, chosen: str, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    cursor = connection.execute(
        f"""
        SELECT model, outcome, 1 AS cases, (outcome = 'passed') AS passed, passes, scored, suite_cases,
               passes * 1.0 / scored AS pass_rate, overall, content
        FROM suites JOIN cases ON cases.suite = suites.number
        WHERE run = :run AND cases.name = :name AND {chosen}
        ORDER BY model
        """,
        bound,
    )
    names = [name for name, *_ in cursor.description]
    return [{"is_part": False, **dict(zip(names, row, strict=True))} for row in cursor]


def _facts(run: RunSummary) -> dict[str, Any]:
    names = ("id", "started", "status", "exitstatus", "scoring_version", "git", "ending")
    return {name: getattr(run, name) for name in names}


def _mean(found: Mean | None) -> float | None:
    return None if found is None else found.mean


def _is_part(part: Part) -> bool:
    """Whether some cases of the suite are missing or have no answer."""
    return part.total is not None and part.total.cases - part.total.errors < part.suite_cases


def read_trends(connection: sqlite3.Connection, document: RowsDocument, is_there: IsThere) -> Trends:
    """The pass rates of the suites and models of a document, over its run and earlier ones."""
    models = {row.model for row in document.models}
    labels = suite_names(row.identity for row in document.suites)
    names = list({suite.suite for suite in labels})
    among = f"({', '.join('?' * len(names))})"
    runs = connection.execute(
        f"""
        SELECT number, summary FROM runs
        WHERE started <= ? AND number IN (SELECT run FROM suites WHERE name IN {among})
        {NEWEST} LIMIT ?
        """,
        (document.run.started, *names, _REPORTED_RUNS),
    ).fetchall()[::-1]
    series: dict[tuple[str, str], tuple[dict[int, float], dict[int, float]]] = {}
    for number, *_ in runs:
        rows = connection.execute(
            f"SELECT DISTINCT name, file FROM suites WHERE run = ? AND name IN {among} ORDER BY 1, 2",
            (number, *names),
        )
        known = [Identity(name, file=file) for name, file in rows]
        for suite in known:
            now = _now(suite, known, labels, is_there)
            found = read_parts(connection, number, suite.suite, suite.file) if now else {}
            for model, part in found.items():
                rate = _mean(part.total.pass_rate) if part.total else None
                if model in models and rate is not None and now:
                    kinds = series.setdefault((labels[now], model), ({}, {}))
                    kinds[_is_part(part)][number] = rate
    past = [msgspec.json.decode(summary, type=RunSummary) for _, summary in runs]
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
        f"SELECT DISTINCT name FROM suites WHERE {_HAS_CASE} ORDER BY name", {"name": name}
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
            f"SELECT 1 FROM suites WHERE name = :suite AND :file IN (file, '') AND {_HAS_CASE} LIMIT 1",
            {"suite": suite.suite, "file": suite.file, "name": right},
        ).fetchone()
    ):
        return Identity(suite.suite, right, suite.file)
    suites = connection.execute(
        "SELECT DISTINCT name FROM suites WHERE name != '' ORDER BY name"
    ).fetchall()
    raise ToolevalError(
        f"no run has a suite or case {printable(name)}; expected a case's id, SUITE::CASE, or a suite: "
        + (_names(suites) or "none")
    )


def _suite_called(connection: sqlite3.Connection, name: str) -> Identity | None:
    """The suite of this name; or, for a file, the suite last seen in it, and the file."""
    row = connection.execute(
        "SELECT name, CASE WHEN name = :name THEN '' ELSE file END FROM suites "
        "WHERE name != '' AND :name IN (name, file) ORDER BY name = :name DESC, run DESC",
        {"name": name},
    ).fetchone()
    return None if row is None else Identity(row[0], file=row[1])
