"""The output of `tooleval history` and `tooleval trend`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..figures import score_text
from ..history import Trend, TrendPoint
from ..record.run import RunSummary, whole_first
from ..reports.columns import Column, Record, cell, table_of, value_in
from ..text import counted, local_time, printable
from .tables import branch_text, commit_text, short, sparkline, table


def history_lines(runs: Sequence[RunSummary]) -> list[str]:
    """A line for each run, the newest whole one first."""
    texts = {"id", "when", "verdict", "commit", "branch", "models", "tags"}
    return table(history_cells(whole_first(runs)), texts)


def history_cells(runs: Sequence[RunSummary]) -> list[dict[str, str]]:
    """The columns of each run, safe to print."""
    found = table_of("runs", runs)
    return [
        {
            "id": printable(run.id),
            "when": local_time(run.started),
            "verdict": run.verdict.lower() + ", good" * run.is_good + _partial(run),
            "commit": commit_text(run.git),
            "branch": branch_text(run.git),
            "models": short(", ".join(run.models)),
            **{each.heading: _cell(record, each) for each in found.columns},
            "gates failed": str(run.gates_failed or ""),
            "tags": " ".join(run.tags),
        }
        for run, record in zip(runs, found.records, strict=True)
    ]


def _partial(run: RunSummary) -> str:
    return ", partial" if run.is_partial and not run.ending else ""


def _cell(record: Record, column: Column) -> str:
    return "" if column.seldom and not value_in(record, column) else cell(record, column)


def trend_lines(trend: Trend) -> Iterator[str]:
    """A line for each run and model, then a sparkline for each model, of whole runs."""
    yield printable(trend.suite if trend.case is None else f"{trend.suite} :: {trend.case}")
    before: dict[str, TrendPoint] = {}
    rows = []
    for point in trend.points:
        rows.append(_point_cells(point, trend.kind, before.get(point.model)))
        before[point.model] = point
    yield from table(rows, texts={"when", "run", "commit", "model", "outcome", "note"})
    for model in before:
        points = [point for point in trend.points if point.model == model and not point.is_part]
        values = [point.pass_rate for point in points]
        known = [value for value in values if value is not None]
        if len(known) > 1:
            ends = f"pass rate: first {score_text(known[0])} … last {score_text(known[-1])}"
            yield f"{short(model)}  {sparkline(values)}  {ends}"


def _point_cells(point: TrendPoint, kind: str, before: TrendPoint | None) -> dict[str, str]:
    known = before is not None and before.content and point.content
    changed = known and before is not None and before.content != point.content
    has_other_rules = before is not None and before.scoring_version != point.scoring_version
    part = f"partial: the suite has {counted(point.suite_cases, 'case')}" if point.is_part else ""
    notes = [
        point.ending,
        part,
        f"{kind} changed" if changed else "",
        "scoring rules changed" if has_other_rules else "",
    ]
    has_trials = point.outcome or point.scored > point.cases
    return {
        "when": local_time(point.started),
        "run": printable(point.id),
        "commit": commit_text(point.git),
        "model": short(point.model),
        "outcome": point.outcome or "",
        "passed": "" if point.outcome else f"{point.passed}/{point.cases}",
        "trials": f"{point.passes}/{point.scored}" if has_trials else "",
        "pass rate": score_text(point.pass_rate),
        "overall": score_text(point.overall),
        "note": ", ".join(filter(None, notes)),
    }
