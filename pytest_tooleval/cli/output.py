"""What `tooleval history`, `trend` and `show` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap

from ..figures import score_text, seconds_text
from ..history import Trend, TrendPoint
from ..record.document import RowsDocument
from ..record.results import CaseResult, TrialResult
from ..record.run import Git, Run, RunSummary, whole_first
from ..reports.columns import Column, RowDict, cell, table_of, value_in
from ..reports.mixed_up import mixed_up_text
from ..reports.run_lines import score_lines, verdict_lines
from ..reports.text import render_scores, render_transcript
from ..text import local_time, plural, printable, shown
from ..verdicts.run_summary import ending
from ..verdicts.summary import group_by
from .shared import table

_BARS = "▁▂▃▄▅▆▇█"
_WRONG = ("failed", "error")


def sparkline(values: Sequence[float | None]) -> str:
    """A bar for each value from 0 to 1, a dot for None."""
    last = len(_BARS) - 1
    return "".join(
        "·" if value is None else _BARS[round(min(max(value, 0.0), 1.0) * last)] for value in values
    )


def commit_text(git: Git | None) -> str:
    """The short commit; a + means uncommitted changes."""
    return f"{shown(git.commit[:9])}{'+' if git.dirty else ''}" if git else ""


def branch_text(git: Git | None) -> str:
    return shown(git.branch, 30) if git and git.branch else ""


def history_lines(runs: Sequence[RunSummary]) -> list[str]:
    """A line for each run, the newest whole one first."""
    runs = whole_first(runs)
    grid = table_of("runs", runs)
    rows = [
        {
            "id": printable(run.id),
            "when": local_time(run.started),
            "verdict": run.verdict.lower()
            + ", good" * run.is_good
            + ", partial" * (run.is_partial and not run.ending),
            "commit": commit_text(run.git),
            "branch": branch_text(run.git),
            "models": shown(", ".join(run.models), 40),
            **{each.heading: _cell(record, each) for each in grid.columns},
            "gates failed": str(run.gates_failed or ""),
            "tags": " ".join(run.tags),
        }
        for run, record in zip(runs, grid.records, strict=True)
    ]
    return table(rows, texts={"id", "when", "verdict", "commit", "branch", "models", "tags"})


def _cell(record: RowDict, column: Column) -> str:
    return "" if column.is_rare and not value_in(record, column) else cell(record, column)


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
        rates = [value for value in values if value is not None]
        if len(rates) > 1:
            ends = f"pass rate: first {score_text(rates[0])} … last {score_text(rates[-1])}"
            yield f"{shown(model, 40)}  {sparkline(values)}  {ends}"


def _point_cells(point: TrendPoint, kind: str, before: TrendPoint | None) -> dict[str, str]:
    comparable = before is not None and before.fingerprint and point.fingerprint
    changed = comparable and before is not None and before.fingerprint != point.fingerprint
    has_other_rules = before is not None and before.scoring_version != point.scoring_version
    part = f"partial: the suite has {plural(point.suite_cases, 'case')}" if point.is_part else ""
    notes = [
        point.ending,
        part,
        f"{kind} changed" if changed else "",
        "scoring rules changed" if has_other_rules else "",
    ]
    has_trials = point.outcome or point.answered > point.cases
    return {
        "when": local_time(point.started),
        "run": printable(point.id),
        "commit": commit_text(point.git),
        "model": shown(point.model, 40),
        "outcome": point.outcome or "",
        "passed": "" if point.outcome else f"{point.passed}/{point.cases}",
        "trials": f"{point.passes}/{point.answered}" if has_trials else "",
        "pass rate": score_text(point.pass_rate),
        "overall": score_text(point.overall),
        "note": ", ".join(filter(None, notes)),
    }


def run_lines(document: RowsDocument, model: str | None, *, all_failed: bool) -> Iterator[str]:
    """A run as pytest shows it: origin, tables, a line for each failed case (20 or all), the verdict."""
    yield from [*_head(document.run), ""]
    lines = [
        *score_lines(document, model, whole=True),
        *verdict_lines(document, model, whole=all_failed, listed=lambda row: row.outcome in _WRONG),
    ]
    yield from (line.text for line in lines)


def _head(run: Run) -> Iterator[str]:
    how = ", ".join(filter(None, [seconds_text(run.duration_s), ending(run.status, run.exitstatus)]))
    yield f"run {shown(run.id, 40)}  {local_time(run.started)}, {how}"
    about = {
        "commit": " ".join(filter(None, [commit_text(run.git), branch_text(run.git)])),
        "options": ", ".join(starmap(_option, run.options.items())),
        "versions": f"pytest-tooleval {run.pytest_tooleval}, pytest {run.pytest}, Python {run.python}",
    }
    yield from (f"{name}: {shown(text, 300)}" for name, text in about.items() if text)


def _option(name: str, value: object) -> str:
    """`trials=5`, `fail-under=0.9,tag=smoke:1`."""
    return f"{name}={','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}"


def mixed_up_lines(document: RowsDocument, model: str | None) -> Iterator[str]:
    """The tools that each model mixed up, or one model."""
    for label, cases in group_by(document.plain_cases, lambda case: case.model).items():
        if model in (None, label):
            yield from mixed_up_text(label, cases)


def case_lines(result: CaseResult, *, only_failed: bool) -> Iterator[str]:
    """The verdict of a case, then scores and transcript of each trial, or each failed one."""
    yield printable(f"{result.suite} :: {result.case} [{result.model}]  {result.outcome_text}")
    yield printable(f"{result.file}:{result.line}")
    if result.reason:
        yield printable(result.reason)
    for trial in result.trials:
        if not (only_failed and trial.passed):
            yield from _trial_lines(trial, result)
    yield ""


def _trial_lines(trial: TrialResult, result: CaseResult) -> Iterator[str]:
    word = "error" if trial.error else "passed" if trial.passed else "failed"
    yield ""
    yield f"trial {trial.trial + 1} of {len(result.trials)}: {word}"
    if trial.error:
        yield f"  {printable(trial.error.message)}"
    blocks = [render_scores(trial, result) if trial.scores else "", render_transcript(trial)]
    yield from (printable(block, keep_newlines=True) for block in blocks if block)
