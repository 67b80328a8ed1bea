"""A comparison as text."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pytest_tooleval.record.comparison import Comparison
from pytest_tooleval.reports import comparison as text


def render_comparison(made: dict[str, Any]) -> list[str]:
    return text.render_comparison(msgspec.convert(made, Comparison))


HOSTILE = "\x1b[31m\u202e\n"


def metric(name: str = "overall", **fields: Any) -> dict[str, Any]:
    return {
        "metric": name,
        "suite": None,
        "old": 0.9,
        "new": 0.7,
        "drop": 0.2,
        "n": 40,
        "p": 0.0001,
        "p_adjusted": 0.0004,
        "test": "permutation",
        "largest_drop": 0.3,
        "verdict": "failed",
        **fields,
    }


def model(**fields: Any) -> dict[str, Any]:
    return {
        "old": "claude-3",
        "new": "claude-3",
        "cases": 40,
        "verdict": "failed",
        "metrics": [metric()],
        "newly_broken_p": None,
        "newly_broken_p_adjusted": None,
        "newly_broken_failed": False,
        "worse": [],
        "better": [],
        **fields,
    }


def comparison(*models: dict[str, Any], **cases: Any) -> dict[str, Any]:
    git = {"commit": "ab" * 20, "branch": "main", "dirty": True}
    return {
        "old": {"name": "latest", "id": "2026-a", "started": "2026-11-22T10:15:30+00:00", "git": git},
        "new": {"name": "this run", "id": "2026-b", "started": "2026-11-22T11:15:30+00:00", "git": None},
        "alpha": 0.05,
        "max_drop": 0.0,
        "margin": 0.1,
        "models": list(models),
        "cases": {"same": 40, "added": [], "removed": [], "changed": [], "renamed": [], **cases},
        "verdict": "failed",
        "failed": True,
        "message": "overall dropped",
    }


def change(case: str, old: str = "claude-3", new: str = "claude-3") -> dict[str, Any]:
    share = {"old_passes": "5/5", "new_passes": "1/5"}
    of = {"suite": "Weather", "case": case, "model": new}
    return {**of, "was": {**of, "model": old}, "old": 1.0, "new": None, **share}


def test_the_whole_of_a_small_one() -> None:
    broken = {**change("rome"), "new": 0.0, "new_passes": "0/5", "newly_broken": True}
    found = model(
        metrics=[
            metric(),
            metric(
                "pass", p_adjusted=1, verdict="inconclusive", new=0.9, drop=0, low=-0.115, high=0.115
            ),
            metric("grounded", drop=-0.1, new=1.0, largest_drop=-0.02, verdict="passed"),
        ],
        newly_broken_p_adjusted=0.03,
        newly_broken_failed=True,
        worse=[broken, change("paris")],
    )
    lines = render_comparison(comparison(found, added=[{"suite": "Weather", "case": "oslo"}]))
    assert lines[:3] + lines[7:] == [
        "old: latest  2026-a  2026-11-22 10:15:30 UTC  ababababab+  (main)",
        "new: this run  2026-b  2026-11-22 11:15:30 UTC",
        "",
        "",
        "newly broken  5/5 -> 0/5  Weather :: rome",
        "worse         5/5 -> 1/5  Weather :: paris",
        "",
        "40 cases in both",
        "",
        "1 added:",
        "  Weather :: oslo",
        "",
        "comparison FAILED: overall dropped",
    ]
    assert [re.split("  +", line)[1:] for line in lines[3:7]] == [
        ["metric", "cases", "old", "new", "difference", "p", "drop at most"],
        ["overall", "40", "0.90", "0.70", "-20 points", "<0.001", "0.30", "FAILED"],
        [
            *("passing trials", "40", "0.90", "0.90", "0 points (-11.5 to 11.5)"),
            *("1.000", "0.30", "inconclusive"),
        ],
        ["grounded", "40", "0.90", "1.00", "+10 points", "<0.001", "-0.02", "passed"],
    ]


def test_two_models_are_told_apart() -> None:
    other = model(old="gpt-4", new="gpt-5", better=[change("oslo", "gpt-4", "gpt-5")])
    lines = render_comparison(comparison(model(worse=[change("rome")]), other))
    assert "worse   5/5 -> 1/5  Weather :: rome on claude-3" in lines
    assert "better  5/5 -> 1/5  Weather :: oslo on gpt-4 -> gpt-5" in lines
    assert any(line.startswith("gpt-4 -> gpt-5  overall") for line in lines)


def test_metrics_that_did_not_change_have_no_row() -> None:
    lines = render_comparison(comparison(model(metrics=[metric(), metric("state", drop=0.0, new=0.9)])))
    assert not any(" state " in line for line in lines)


def test_long_lists_are_cut() -> None:
    cases = [{"suite": "s", "case": f"case-{n}"} for n in range(50)]
    renamed = [{**case, "old_suite": "t", "old_case": "old"} for case in cases[:20]]
    lines = render_comparison(comparison(model(), removed=cases, renamed=renamed))
    assert lines.count("  and 30 more") == 1
    assert lines[lines.index("50 removed:") + 20 :][:2] == ["  s :: case-19", "  and 30 more"]
    assert "  s :: case-19  was t :: old" in lines


def test_every_line_is_safe() -> None:
    named = {"suite": HOSTILE, "case": HOSTILE}
    of = {**named, "model": HOSTILE * 2, "was": {**named, "model": HOSTILE}}
    hostile = {**of, "old": 1.0, "new": 0.0, "old_passes": "1/1", "new_passes": "0/1"}
    found = model(
        old=HOSTILE, new=HOSTILE * 2, metrics=[metric(HOSTILE)], worse=[hostile], better=[hostile]
    )
    renamed = {**named, "old_suite": HOSTILE, "old_case": HOSTILE * 50}
    made = comparison(found, found, added=[named], removed=[named], changed=[named], renamed=[renamed])
    git = {"commit": HOSTILE, "branch": HOSTILE, "dirty": False}
    made |= {"old": {"name": HOSTILE, "id": HOSTILE, "started": HOSTILE, "git": git}, "message": HOSTILE}
    lines = render_comparison(made)
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 300
