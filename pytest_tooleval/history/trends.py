"""A case or a suite over the runs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ..errors import ToolevalError
from ..record.document import RowsDocument
from ..record.identity import Identity, suite_names
from ..record.results import Outcome
from ..record.run import Git, RunStatus
from ..record.summary import Summary
from ..text import first_few, printable
from .heads import Head, KeptRun, ShortCase, Sums
from .lists import IsThere, check_one_file

# In reports, which every run may write: how many runs a suite has, and how many are read at most.
_REPORTED_RUNS, _LOOKED_AT = 30, 300
_OF_RUN = ("id", "started", "status", "exitstatus", "ending", "scoring_version", "git")
_OF_BOTH = ("model", "passes", "answered", "fingerprint")


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run of a case or a suite on one model.

    `pass_rate` is the weighted share of a suite's cases that passed, or of a case's trials; `passes`
    counts passed trials, of `answered` with an answer; `overall` is the weighted mean. Both are None
    without a number. `outcome` is that of a case, None for a suite. `is_part`: some of the suite's
    `suite_cases` were not selected, or have no answer, so the point is not comparable with others.
    `fingerprint` is the hash of the case or of the suite's file, and shows a change of the question;
    `scoring_version` shows one of the scoring rules, by which no point is scored again.
    """

    id: str
    started: str
    status: RunStatus
    exitstatus: int | None
    ending: str  # why the run is incomplete; empty if it is complete
    scoring_version: int
    git: Git | None
    model: str
    outcome: Outcome | None
    cases: int
    passed: int
    passes: int
    answered: int
    suite_cases: int
    is_part: bool
    pass_rate: float | None
    overall: float | None
    fingerprint: str


class Trend(Struct, frozen=True):
    """Points from the oldest run to the newest, within a run by model; `case` is None for a suite."""

    suite: str
    case: str | None
    points: tuple[TrendPoint, ...]

    @property
    def kind(self) -> Literal["case", "suite"]:
        return "suite" if self.case is None else "case"


def read_trend(
    runs: Iterable[KeptRun], name: str, model: str | None, limit: int | None, is_there: IsThere
) -> Trend:
    """The first `limit` of these runs, newest first, that have the suite or case that `name` means.

    A name is a suite, its file, a case's id, `SUITE::CASE` or `FILE::CASE`, and means the first of these
    that a run has. A suite's name means the suite even if its file moved; a file means only that file.
    Raises ToolevalError for an unknown name, and for one that several suites or cases in the runs have.
    """
    left, _, right = name.rpartition("::")
    meanings = [Identity(name), Identity("", file=name), Identity("", name)] if name else []
    meanings += [Identity(left, right), Identity("", right, left)] if left and right else []
    every = [_Series(of, model, limit) for of in meanings]
    suites: set[str] = set()
    series: _Series | None = None
    for run in runs:
        suites.update(part.suite for part in run.head.parts if part.suite)
        for series in every:
            series.add(run)
            if series.models:
                break
        if series and series.is_full:
            break
    if series is None or not series.models:
        raise ToolevalError(
            f"no run has a suite or case {printable(name)}; expected a case's id, SUITE::CASE, or a "
            f"suite: {_names(suites) or 'none'}"
        )
    series.check(is_there)
    points = series.points()
    if not points:
        names = _names(series.models)
        if model in (None, *series.models):
            raise ToolevalError(f"{printable(name)} ran only under variants, on {names}")
        raise ToolevalError(f"{printable(name)} never ran on {printable(str(model))}, only on {names}")
    return Trend(series.suites[0], series.of.case or None, points)


def read_trends(runs: Iterable[KeptRun], document: RowsDocument, is_there: IsThere) -> list[Trend]:
    """The suites of a document on its models, up to its run.

    A suite whose file moved is the same, unless several files have a suite of this name.
    """
    models = {row.model for row in document.models}
    labels = suite_names(row.identity for row in document.suites)
    every = {each.suite: _Series(Identity(each.suite), None, _REPORTED_RUNS) for each in labels}
    until = (run for run in runs if run.head.summary.started <= document.run.started)
    for run in islice(until, _LOOKED_AT):
        growing = [series for series in every.values() if not series.is_full]
        for series in growing:
            series.add(run)
        if not growing:
            break
    trends = []
    for suite, label in labels.items():
        series = every[suite.suite]
        try:
            series.check(is_there)
            points = series.points()
        except ToolevalError:
            points = series.points(suite.file)
        trends.append(Trend(label, None, tuple(point for point in points if point.model in models)))
    return trends


class _Row(NamedTuple):
    """A suite or a case on a model in a run; without a point if all its cases are under a variant."""

    suite: str
    file: str
    model: str
    point: TrendPoint | None


class _Series:
    """The runs with a suite or a case, newest first. Without a suite's name, of any suite."""

    def __init__(self, of: Identity, model: str | None, limit: int | None) -> None:
        self.of = of
        self.models: set[str] = set()
        self._model, self._limit = model, limit
        self._runs: list[list[_Row]] = []

    def add(self, run: KeptRun) -> None:
        every = run.cases_called(self.of.case) if self.of.case else run.head.parts
        rows = [
            _Row(part.suite, part.file, part.model, _point(run.head, part))
            for part in every
            if part.model and self.of.suite in ("", part.suite) and self.of.file in ("", part.file)
        ]
        if rows and self.of.file:  # the suite last seen in it
            self.of = Identity(rows[-1].suite, self.of.case, self.of.file)
            rows = [each for each in rows if each.suite == self.of.suite]
        self.models.update(each.model for each in rows)
        if rows := [each for each in rows if self._model in (None, each.model)]:
            self._runs.append(sorted(rows, key=attrgetter("model")))

    @property
    def is_full(self) -> bool:
        return len(self._runs) == self._limit

    @property
    def suites(self) -> list[str]:
        return sorted({each.suite for run in self._runs for each in run}) or [self.of.suite]

    def check(self, is_there: IsThere) -> None:
        """Raise ToolevalError if the name is that of several suites or cases."""
        suites, case = self.suites, self.of.case
        if len(suites) > 1:
            names = _names(suites, f"::{case}")
            text = f"{len(suites)} suites have a case {printable(case)}; name one of {names}"
            raise ToolevalError(text)
        if not self.of.file:
            files = [{each.file for each in run} for run in self._runs]
            check_one_file(files, suites[0], is_there, case)

    def points(self, file: str = "") -> tuple[TrendPoint, ...]:
        """From the oldest run to the newest, of one file if it is named."""
        rows = (each for run in reversed(self._runs) for each in run if file in ("", each.file))
        return tuple(each.point for each in rows if each.point is not None)


def _point(head: Head, of: Sums | ShortCase) -> TrendPoint | None:
    if isinstance(of, ShortCase):
        figures = _of_case(head, of)
    elif of.total is not None:
        figures = _of_suite(of, of.total)
    else:
        return None
    run = {name: getattr(head.summary, name) for name in _OF_RUN}
    return TrendPoint(**run, **{name: getattr(of, name) for name in _OF_BOTH}, **figures)


def _of_suite(part: Sums, total: Summary) -> dict[str, Any]:
    overall = total.metrics.get("overall")
    return {
        "outcome": None,
        "cases": total.cases,
        "passed": total.passed,
        "suite_cases": part.suite_cases,
        "is_part": total.cases - total.errors < part.suite_cases,
        "pass_rate": total.pass_rate and total.pass_rate.mean,
        "overall": overall and overall.mean,
    }


def _of_case(head: Head, case: ShortCase) -> dict[str, Any]:
    key = (case.file, case.suite, case.model)
    suites = (part for part in head.parts if (part.file, part.suite, part.model) == key)
    return {
        "outcome": case.outcome,
        "cases": 1,
        "passed": int(case.outcome == "passed"),
        "suite_cases": next(suites).suite_cases,
        "is_part": False,
        "pass_rate": case.passes / case.answered if case.answered else None,
        "overall": case.overall,
    }


def _names(names: Iterable[str], after: str = "") -> str:
    """The first of these names, safe to show, each followed by `after`."""
    return first_few([printable(name + after) for name in sorted(names)])
