"""A comparison of two runs as text, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ..text import counted
from ..text import printable
from ..text import shorten

_MOST = 20
_NAME = 60
_HEADER = ("model", "metric", "cases", "old", "new", "drop", "p", "")


def render_comparison(comparison: Mapping[str, Any]) -> list[str]:
    """What `verdicts.baseline.compare` found, as lines safe for a terminal; the last one is the verdict.

    `drop` is old minus new, so a gain is negative; `p` is Holm's, over all tests of the comparison.
    Lists of cases are cut after 20.
    """
    lines = [f"{side}: {_run(comparison[side])}" for side in ("old", "new")]
    table = [_HEADER, *(_metric(m, metric) for m in comparison["models"] for metric in m["metrics"])]
    if len(table) > 1:
        lines += ["", *aligned(table, texts=(0, 1, 7))]
    for model in comparison["models"]:
        lines += _cases_of(model, _models(model) if len(comparison["models"]) > 1 else "")
    lines += ["", *_matching(comparison["cases"])]
    return [*lines, "", printable(comparison["message"])]


def aligned(rows: Sequence[Sequence[str]], texts: Iterable[int] = ()) -> list[str]:
    """Rows of equal length as lines of a table; the columns `texts` stand left, numbers right."""
    left = set(texts)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _run(side: Mapping[str, Any]) -> str:
    git = side.get("git") or {}
    commit = str(git.get("commit") or "")[:10] + ("+" if git.get("dirty") else "")
    branch = f"({git['branch']})" if git.get("branch") else ""
    started = (side.get("started") or "").replace("T", " ").replace("+00:00", " UTC")
    id = side.get("id") or ""
    parts = [side["name"], id if id != side["name"] else "", started, commit, branch]
    return "  ".join(printable(shorten(part, _NAME)) for part in parts if part)


def _models(model: Mapping[str, Any]) -> str:
    old, new = _name(model["old"]), _name(model["new"])
    return new if old == new else f"{old} -> {new}"


def _metric(model: Mapping[str, Any], metric: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _models(model),
        _name(metric["metric"]) + (f" in {_name(metric['suite'])}" if metric.get("suite") else ""),
        str(metric["n"]),
        _number(metric["old"]),
        _number(metric["new"]),
        _number(metric["drop"]),
        _p(metric["p_adjusted"]),
        _verdict(metric),
    )


def _verdict(metric: Mapping[str, Any]) -> str:
    if metric["failed"]:
        return "FAILED"
    if metric["significant"]:
        return "allowed" if metric["drop"] > 0 else "better"
    return ""


def _cases_of(model: Mapping[str, Any], name: str) -> list[str]:
    suffix = f" on {name}" if name else ""
    p = model["flips_p_adjusted"]
    tested = "" if p is None else f" (p {_p(p)}{', FAILED' if model['flips_failed'] else ''})"
    flips = [f"{_case(case)}  {case['old']} -> {case['new']}" for case in model["flips"]]
    return [
        *_listed(f"passed always, now never{suffix}{tested}", flips),
        *_listed(f"worse{suffix}", map(_change, model["worse"])),
        *_listed(f"better{suffix}", map(_change, model["better"])),
    ]


def _change(case: Mapping[str, Any]) -> str:
    numbers = f"{_number(case['old'])} -> {_number(case['new'])}"
    return f"{_case(case)}  {numbers}  ({case['old_passes']} -> {case['new_passes']})"


def _matching(cases: Mapping[str, Any]) -> list[str]:
    """How the cases of the two runs were paired."""
    counts = [f"{len(cases[kind])} {kind}" for kind in ("added", "removed", "changed", "renamed")]
    lines = [f"{counted(cases['same'], 'case')} in both, {', '.join(counts)}"]
    for kind in ("added", "removed", "changed"):
        lines += _listed(kind, map(_case, cases[kind]))
    renamed = (
        f"{_name(case['old_suite'])} :: {_name(case['old_case'])} -> {_case(case)}"
        for case in cases["renamed"]
    )
    return [*lines, *_listed("renamed", renamed)]


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    if not found:
        return []
    more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ["", f"{title}:", *(f"  {line}" for line in found[:_MOST]), *more]


def _case(case: Mapping[str, Any]) -> str:
    return f"{_name(case['suite'])} :: {_name(case['case'])}"


def _name(text: str) -> str:
    return shorten(printable(shorten(text, _NAME + 1)), _NAME)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"
