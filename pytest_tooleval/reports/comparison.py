"""A comparison of two runs as text, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from itertools import starmap

from ..record.comparison import ComparedCase
from ..record.comparison import ComparedCases
from ..record.comparison import ComparedMetric
from ..record.comparison import ComparedModel
from ..record.comparison import ComparedRun
from ..record.comparison import Comparison
from ..record.comparison import Moved
from ..record.results import CaseRow
from ..text import counted
from ..text import printable
from ..text import score_text
from ..text import shown
from .run_text import VERDICTS
from .tables import aligned

MOST = 20
_NAME = 60
_HEADER = ("model", "metric", "cases", "old", "new", "drop", "p", "drop at most", "")


def render_comparison(comparison: Comparison) -> list[str]:
    """Lines safe for a terminal; the last one is the verdict. Lists of cases are cut after 20."""
    moved = [(model, word, case) for model in comparison.models for word, case in moves(model)]
    several = len(comparison.models) > 1
    table = [
        (word, change_text(case), _case(case) + (f" on {_models(model)}" if several else ""))
        for model, word, case in moved
    ]
    lines = [f"old: {_run(comparison.old)}", f"new: {_run(comparison.new)}"]
    lines += [_models(model) for model in comparison.models if model.old != model.new]
    if metrics := metric_lines(comparison):
        lines += ["", *metrics]
    if table:
        lines += ["", *_cut(aligned(table, texts=(0, 1, 2)))]
    lines += ["", *matching_lines(comparison.cases)]
    verdict = comparison.verdict if comparison.is_only_unsure else VERDICTS[comparison.verdict][0]
    return [*lines, "", f"comparison {verdict}: {printable(comparison.message)}"]


def moves(model: ComparedModel) -> list[tuple[str, Moved]]:
    """How each case changed that did, the worst first."""
    worse = [("newly broken" if case.newly_broken else "worse", case) for case in model.worse]
    return [*worse, *(("better", case) for case in model.better)]


def moved_cases(found: Comparison | None) -> dict[tuple[str, str, str], tuple[str, Moved]]:
    """The cases of `moves` by `case_key`."""
    return {
        (model.new, case.suite, case.case): (word, case)
        for model in (found.models if found else ())
        for word, case in reversed(moves(model))
    }


def case_key(case: CaseRow) -> tuple[str, str, str]:
    return case.model, case.suite, case.case


def change_text(case: Moved) -> str:
    """The passes before and now; where they are the same, the overall scores."""
    if case.old_passes != case.new_passes:
        return f"{_name(case.old_passes)} -> {_name(case.new_passes)}"
    return f"{score_text(case.old)} -> {score_text(case.new)}"


def metric_lines(comparison: Comparison) -> list[str]:
    """A table of the metrics that changed.

    `drop` is old minus new, `p` is adjusted by Holm over all tests, and drops above `drop at most` are
    ruled out.
    """
    rows = [(model, row) for model in comparison.models for row in model.metrics if row.drop]
    return aligned([_HEADER, *starmap(_metric, rows)], texts=(0, 1, 8)) if rows else []


def _cut(lines: Sequence[str]) -> list[str]:
    """The first 20 lines."""
    left = len(lines) - MOST
    return [*lines[:MOST], f"and {left} more"] if left > 0 else list(lines)


def compared_text(comparison: Comparison) -> str:
    """With which run, how the cases were paired, and what else to know."""
    run = comparison.old
    of = f" ({_name(run.id)})" if run.id != run.name else ""
    pairs = (_models(model) for model in comparison.models if model.old != model.new)
    both = f"{counted(comparison.cases.same, 'case')} in both"
    renamed = len(comparison.cases.renamed)
    # Else the line of a model says so.
    alone = comparison.verdict == "failed" and all(
        model.verdict != "failed" for model in comparison.models
    )
    about = [", ".join(pairs), both, f"{renamed} renamed" if renamed else ""]
    about += map(printable, comparison.remarks)
    begin = "baseline FAILED: " if alone else ""
    return f"{begin}compared with {_name(run.name)}{of}: {'; '.join(filter(None, about))}"


def _run(side: ComparedRun) -> str:
    git = side.git
    commit = git.commit[:10] + ("+" if git.dirty else "") if git else ""
    branch = f"({git.branch})" if git and git.branch else ""
    started = side.started.replace("T", " ").replace("+00:00", " UTC")
    parts = [side.name, side.id if side.id != side.name else "", started, commit, branch]
    return "  ".join(shown(part, _NAME) for part in parts if part)


def _models(model: ComparedModel) -> str:
    old, new = _name(model.old), _name(model.new)
    return new if old == new else f"{old} -> {new}"


def _metric(model: ComparedModel, metric: ComparedMetric) -> tuple[str, ...]:
    return (
        _models(model),
        _name(metric.title) + (f" in {_name(metric.suite)}" if metric.suite else ""),
        str(metric.n),
        score_text(metric.old),
        score_text(metric.new),
        score_text(metric.drop),
        _p(metric.p_adjusted),
        score_text(metric.largest_drop),
        "FAILED" if metric.verdict == "failed" else metric.verdict,
    )


def matching_lines(cases: ComparedCases) -> list[str]:
    """How the cases of the two runs were paired."""
    kinds = {"added": cases.added, "removed": cases.removed, "changed": cases.changed}
    lines = [f"{counted(cases.same, 'case')} in both"]
    for kind, found in kinds.items():
        lines += _listed(kind, map(_case, found))
    renamed = (
        f"{_name(case.old_suite)} :: {_name(case.old_case)} -> {_case(case)}" for case in cases.renamed
    )
    lines += _listed("renamed", renamed)
    incomparable = (f"{_case(case)}  {shown(case.why, 200)}" for case in cases.incomparable)
    return [*lines, *_listed("not comparable", incomparable)]


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    if not found:
        return []
    return ["", f"{len(found)} {title}:", *(f"  {line}" for line in _cut(found))]


def _case(case: ComparedCase) -> str:
    return f"{_name(case.suite)} :: {_name(case.case)}"


def _name(text: str) -> str:
    return shown(text, _NAME)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"
