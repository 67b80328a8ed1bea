"""The comparison with a baseline: what moved, whether by more than chance, and in which cases."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ...text import counted
from .head import commit_text
from .head import outcome_text
from .head import scrolling
from .head import section
from .markup import Html
from .markup import join
from .markup import named
from .markup import tag
from .numbers import moment
from .numbers import probability
from .numbers import score
from .numbers import signed
from .numbers import title

# Lists of cases are opened by hand; beyond this many nobody reads on.
_LISTED = 200


def baseline_section(comparison: Mapping[str, Any] | None) -> Html:
    if not comparison:
        return join([])
    outcome = "failed" if comparison["failed"] else "passed"
    return section(
        "baseline",
        "Against the baseline",
        tag("p", outcome_text(outcome), f": {comparison.get('message') or ''}", class_="message"),
        tag("p", "old: ", _run(comparison["old"]), " · new: ", _run(comparison["new"]), class_="muted"),
        *(_model(model, comparison) for model in comparison["models"]),
        _changes(comparison.get("cases") or {}),
    )


def _run(run: Mapping[str, Any]) -> Html:
    parts: list[str] = [named(run.get("name") or run.get("id") or "this run")]
    if run.get("started"):
        parts.append(f" of {moment(run['started'])}")
    if run.get("git"):
        parts += [" at ", tag("bdi", commit_text(run["git"]))]
    return join(parts)


def _model(model: Mapping[str, Any], comparison: Mapping[str, Any]) -> Html:
    names = [named(model["new"])]
    if model["old"] != model["new"]:
        names = [named(model["old"]), join([" → "]), named(model["new"])]
    columns = ("Metric", "Old", "New", "Change", "Cases", "p", "p adjusted", "Test", "Result")
    head = tag(
        "tr",
        *(
            tag(
                "th",
                column,
                scope="col",
                class_=None if column in ("Metric", "Test", "Result") else "number",
            )
            for column in columns
        ),
    )
    rows = [_metric_row(row) for row in model["metrics"]]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="baseline")
    alpha, drop = comparison.get("alpha", 0.05), comparison.get("max_drop", 0.0)
    note = (
        f"{counted(model['cases'], 'case')} compared. Significant below {alpha:g} after Holm's "
        f"correction; a drop of up to {drop:g} is let pass."
    )
    return join(
        [
            tag("h3", *names),
            scrolling("Comparison", table),
            tag("p", note, class_="muted"),
            _flips(model),
            _case_list("Worse cases", model.get("worse") or []),
            _case_list("Better cases", model.get("better") or []),
        ]
    )


def _metric_row(row: Mapping[str, Any]) -> Html:
    change = row["new"] - row["old"] if None not in (row["new"], row["old"]) else None
    if row["failed"]:
        result = outcome_text("failed", "significant drop")
    elif row["significant"]:
        result = outcome_text("passed", "significant gain" if row["drop"] < 0 else "allowed drop")
    else:
        result = tag("span", "within chance", class_="muted")
    return tag(
        "tr",
        tag("th", title(row["metric"]), *_suite(row), scope="row"),
        tag("td", score(row["old"]), class_="number"),
        tag("td", score(row["new"]), class_="number"),
        tag("td", signed(change), class_="number"),
        tag("td", f"{row['n']:,}", class_="number"),
        tag("td", probability(row["p"]), class_="number"),
        tag("td", probability(row["p_adjusted"]), class_="number"),
        tag("td", row["test"]),
        tag("td", result),
    )


def _suite(row: Mapping[str, Any]) -> list[Html]:
    return [tag("span", " in ", named(row["suite"]), class_="muted")] if row.get("suite") else []


def _flips(model: Mapping[str, Any]) -> Html:
    """Cases that always passed and now always fail."""
    flips = model.get("flips") or []
    if not flips:
        return join([])
    verdict = outcome_text("failed", "fails the gate") if model.get("flips_failed") else join(["noted"])
    p_value = probability(model.get("flips_p_adjusted", model.get("flips_p")))
    summary = tag("summary", f"{counted(len(flips), 'case')} passed always and now never: ", verdict)
    rows = [_case_row(flip, f"{flip['old']} → {flip['new']} trials") for flip in flips[:_LISTED]]
    return tag(
        "details",
        summary,
        tag("p", f"p adjusted: {p_value}", class_="muted"),
        _rows(rows, flips),
        open="",
    )


def _case_list(heading: str, cases: Sequence[Mapping[str, Any]]) -> Html:
    if not cases:
        return join([])
    rows = []
    for case in cases[:_LISTED]:
        passes = ""
        if case.get("old_passes") and case.get("new_passes"):
            passes = f" ({case['old_passes']} → {case['new_passes']} trials)"
        rows.append(_case_row(case, f"{score(case['old'])} → {score(case['new'])}{passes}"))
    return tag("details", tag("summary", f"{heading}: {len(cases):,}"), _rows(rows, cases))


def _rows(rows: Sequence[Html], everything: Sequence[object]) -> Html:
    left = len(everything) - len(rows)
    more = tag("li", f"and {left:,} more") if left > 0 else join([])
    return tag("ul", *rows, more, class_="cases")


def _case_row(case: Mapping[str, Any], change: str) -> Html:
    return tag(
        "li", named(case["suite"]), " / ", named(case["case"]), " ", tag("span", change, class_="number")
    )


def _changes(cases: Mapping[str, Any]) -> Html:
    """What the two runs do not share, and so was not compared."""
    blocks = []
    for kind, heading in (
        ("added", "New cases"),
        ("removed", "Cases that are gone"),
        ("changed", "Changed cases, not compared"),
        ("renamed", "Renamed cases, compared under their new name"),
    ):
        found = cases.get(kind) or []
        if found:
            rows = [_case_row(case, _former(case)) for case in found[:_LISTED]]
            blocks.append(
                tag("details", tag("summary", f"{heading}: {len(found):,}"), _rows(rows, found))
            )
    return join([tag("h3", "Cases that the two runs do not share"), *blocks]) if blocks else join([])


def _former(case: Mapping[str, Any]) -> str:
    return f"was {case['old_suite']} / {case['old_case']}" if "old_case" in case else ""
