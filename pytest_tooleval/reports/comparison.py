"""A comparison of two runs as text, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from ..record.comparison import ComparedCase
from ..record.comparison import ComparedCases
from ..record.comparison import ComparedMetric
from ..record.comparison import ComparedModel
from ..record.comparison import ComparedRun
from ..record.comparison import Comparison
from ..record.comparison import Moved
from ..text import counted
from ..text import printable
from ..text import score_text
from ..text import shown
from .run_text import VERDICTS
from .tables import aligned

_MOST = 20
_NAME = 60
_HEADER = ("model", "metric", "cases", "old", "new", "drop", "p", "drop at most", "")


def render_comparison(comparison: Comparison, what: str = "baseline") -> list[str]:
    """Lines safe for a terminal; the last one is the verdict on `what`.

    `drop` is old minus new, `p` is adjusted by Holm over all tests, and drops above `drop at most` are
    ruled out. Lists of cases are cut after 20.
    """
    lines = [f"old: {_run(comparison.old)}", f"new: {_run(comparison.new)}"]
    table = [_HEADER, *(_metric(m, metric) for m in comparison.models for metric in m.metrics)]
    if len(table) > 1:
        lines += ["", *aligned(table, texts=(0, 1, 8))]
    for model in comparison.models:
        lines += _cases_of(model, _models(model) if len(comparison.models) > 1 else "")
    lines += ["", *_matching(comparison.cases)]
    verdict = comparison.verdict if comparison.is_only_unsure else VERDICTS[comparison.verdict][0]
    return [*lines, "", f"{what} {verdict}: {printable(comparison.message)}"]


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


def _cases_of(model: ComparedModel, name: str) -> list[str]:
    suffix = f" on {name}" if name else ""
    p = model.newly_broken_p_adjusted
    tested = "" if p is None else f" (p {_p(p)}{', FAILED' if model.newly_broken_failed else ''})"
    worse = [case for case in model.worse if not case.newly_broken]
    return [
        *_listed(f"newly broken{suffix}{tested}", map(_change, model.newly_broken)),
        *_listed(f"worse{suffix}", map(_change, worse)),
        *_listed(f"better{suffix}", map(_change, model.better)),
    ]


def _change(case: Moved) -> str:
    numbers = f"{score_text(case.old)} -> {score_text(case.new)}"
    return f"{_case(case)}  {numbers}  ({case.old_passes} -> {case.new_passes})"


def _matching(cases: ComparedCases) -> list[str]:
    """How the cases of the two runs were paired."""
    kinds = {"added": cases.added, "removed": cases.removed, "changed": cases.changed}
    counts = [f"{len(found)} {kind}" for kind, found in {**kinds, "renamed": cases.renamed}.items()]
    lines = [f"{counted(cases.same, 'case')} in both, {', '.join(counts)}"]
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
    more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ["", f"{title}:", *(f"  {line}" for line in found[:_MOST]), *more]


def _case(case: ComparedCase) -> str:
    return f"{_name(case.suite)} :: {_name(case.case)}"


def _name(text: str) -> str:
    return shown(text, _NAME)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"
