"""A case or a suite over the runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import partial
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
from .heads import Sums
from .index import NEWEST, OF_ROOT, IsThere, check_one_file, read_parts

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


def read_trend(
    connection: sqlite3.Connection,
    name: str,
    model: str | None,
    limit: int | None,
    is_there: IsThere,
    root: str | None = None,
) -> Trend:
    """The newest `limit` runs that have the suite or case that `name` means.

    A name is a suite, its file, a case's id, `SUITE::CASE` or `FILE::CASE`. A suite's name means the
    suite even if its file moved; a file means only that file. Runs of another `root` within the
    repository are left out. Raises ToolevalError for an unknown name, and for one that several suites or
    cases have.
    """
    meant = _resolve(connection, name)
    points = _points(connection, meant, is_there, model=model, limit=limit, root=root)
    if not points:
        known = connection.execute(
            "SELECT DISTINCT model FROM suites WHERE name = ? AND model != '' ORDER BY model",
            (meant.suite,),
        ).fetchall()
        names = _names(known)
        if not model:
            raise ToolevalError(f"{printable(name)} ran only under variants, on {names}")
        raise ToolevalError(f"{printable(name)} never ran on {printable(model)}, only on {names}")
    return Trend(meant.suite, meant.case or None, points)


def read_trends(
    connection: sqlite3.Connection, document: RowsDocument, is_there: IsThere
) -> list[Trend]:
    """The suites of a document on its models, up to its run, in runs of its root folder.

    A suite whose file moved is the same, unless several files have a suite of this name.
    """
    models = {row.model for row in document.models}
    until, git = document.run.started, document.run.git
    read = partial(_points, limit=_REPORTED_RUNS, until=until, root=git.root if git else None)
    found = []
    for suite, label in suite_names(row.identity for row in document.suites).items():
        try:
            named = Identity(suite.suite)
            points = read(connection, named, is_there)
        except ToolevalError:
            points = read(connection, suite, is_there)
        found.append(Trend(label, None, tuple(point for point in points if point.model in models)))
    return found


def _points(
    connection: sqlite3.Connection,
    of: Identity,
    is_there: IsThere,
    *,
    model: str | None = None,
    limit: int | None,
    until: str | None = None,
    root: str | None = None,
) -> tuple[TrendPoint, ...]:
    """The points of a case or a suite. Raises ToolevalError if it names no file, and several have it."""
    bound = {"suite": of.suite, "file": of.file, "name": of.case, "model": model}
    chosen = "suites.name = :suite AND model != ''"
    chosen += " AND file = :file" if of.file else ""
    chosen += " AND model = :model" if model else ""
    chosen += f" AND {_HAS_CASE}" if of.case else ""
    if not of.file:
        check_one_file(connection, of.case or of.suite, chosen, bound, is_there, of.case)
    runs = connection.execute(
        f"""
        SELECT number, summary FROM runs
        WHERE number IN (SELECT run FROM suites WHERE {chosen}) AND started <= ifnull(:until, started)
            AND {OF_ROOT}
        {NEWEST} LIMIT :limit
        """,
        {**bound, "until": until, "root": root, "limit": -1 if limit is None else limit},
    ).fetchall()[::-1]
    points: list[TrendPoint] = []
    for number, summary in runs:
        if not of.case:
            by_model = read_parts(connection, number, of.suite, of.file or None)
            found = [_of_suite(part) for each, part in by_model.items() if each]
        else:
            found = _of_case(connection, chosen, {**bound, "run": number})
        facts = _facts(msgspec.json.decode(summary, type=RunSummary))
        points += [TrendPoint(**facts, **each) for each in found if model in (None, each["model"])]
    return tuple(points)


def _of_suite(part: Sums) -> dict[str, Any]:
    total = part.total
    assert total is not None
    same = ("model", "passes", "scored", "suite_cases", "content")
    return {
        **{name: getattr(part, name) for name in same},
        "outcome": None,
        "cases": total.cases,
        "passed": total.passed,
        "is_part": total.cases - total.errors < part.suite_cases,
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
