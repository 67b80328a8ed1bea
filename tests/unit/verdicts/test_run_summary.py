"""The verdict of a run in words, which lists, page, report and Markdown share."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.verdicts.run_summary import run_summary
from unit.reports.samples import comparison, document, gate, no_answer, row, trial

PASSED, FAILED = row("passed", trial(0)), row("failed", trial(0, 0.5))
TOLERATED = row("failed", trial(0, 0.6), counted=True)
ERROR = row("error", no_answer(), counted=True)
ALLOWED = gate(True, kind="fail_over", metric="errors")


@pytest.mark.parametrize(
    ("rows", "run", "expected"),
    [
        ([PASSED], {"exitstatus": 0}, "passed Passed: 1 of 1 case passed"),
        ([FAILED], {"exitstatus": 1}, "failed Failed: 1 of 1 case failed"),
        ([FAILED], {"exitstatus": None}, "failed Failed: 1 of 1 case failed"),
        (
            [ERROR],
            {"exitstatus": 0, "gates": (ALLOWED,)},
            "passed Passed: 0 of 1 case passed · 1 tolerated",
        ),
        ([ERROR], {"exitstatus": 2}, "failed Incomplete (interrupted): 1 not judged yet"),
        ([PASSED], {"exitstatus": 2}, "failed Incomplete (interrupted): "),
        ([PASSED], {"exitstatus": None, "status": "killed"}, "failed Incomplete (killed): "),
        ([PASSED], {"status": "running"}, "skipped Running: 1 of 1 case passed"),
        ([PASSED, row("error")], {}, "failed Failed: 1 case without an answer"),
        (
            [TOLERATED],
            {"exitstatus": 0, "gates": (gate(True),)},
            "passed Passed: 0 of 1 case passed · 1 tolerated",
        ),
        (
            [TOLERATED],
            {"gates": (gate(True), gate(False))},
            "failed Failed: 1 of 2 gates failed · 1 counted by a failed gate",
        ),
        (
            [PASSED],
            {"exitstatus": 0, "baseline": comparison(False)},
            "passed Passed: 1 of 1 case passed",
        ),
        ([PASSED], {"exitstatus": 1}, "failed Failed: another test in the run failed"),
        ([row("skipped", model="")], {"exitstatus": 0}, "skipped Not evaluated: 0 of 1: 1 case skipped"),
        ([], {"exitstatus": 5}, "failed Nothing was evaluated: no test was collected"),
        (
            [PASSED],
            {"exitstatus": 0, "gates": ({**gate(False), "verdict": "inconclusive", "failed": False},)},
            "inconclusive Inconclusive: 1 of 1 case passed · 1 of 1 gate inconclusive",
        ),
        (
            [PASSED],
            {
                "exitstatus": 0,
                "baseline": {**comparison(False), "verdict": "inconclusive", "models": ()},
            },
            "inconclusive Inconclusive: 1 of 1 case passed · comparison with the baseline inconclusive",
        ),
        (
            [PASSED],
            {"exitstatus": 1, "gates": (gate(False), gate(True)), "baseline": comparison()},
            "failed Failed: 1 of 2 gates failed · worse than the baseline",
        ),
    ],
)
def test_the_verdict(rows: list[dict[str, Any]], run: dict[str, Any], expected: str) -> None:
    found = run_summary(document(*rows, **run).rows())
    assert f"{found.outcome} {found.verdict}: {' · '.join(found.details)}" == expected


@pytest.mark.parametrize(
    ("rows", "run", "good"),
    [
        ([PASSED], {"exitstatus": 0}, True),
        ([PASSED], {"exitstatus": 2}, False),
        ([PASSED], {"exitstatus": 1}, False),  # such as another test, or answers of older code
        ([FAILED], {"exitstatus": 1}, False),
        ([PASSED, TOLERATED], {"exitstatus": 0, "gates": (gate(True),)}, True),
        ([PASSED], {"exitstatus": 1, "gates": (gate(True), gate(False))}, False),
        ([PASSED, ERROR], {"exitstatus": 0, "gates": (gate(True), ALLOWED)}, True),
        ([PASSED, ERROR], {"exitstatus": 0}, False),
        ([ERROR], {"exitstatus": 0, "gates": (ALLOWED,)}, False),
        # Only a gate on errors allows errors, and only those that it judges.
        ([PASSED, ERROR], {"exitstatus": 1, "gates": (gate(True),)}, False),
        ([PASSED, ERROR], {"exitstatus": 1, "gates": ({**ALLOWED, "scope": "tag", "of": "a"},)}, False),
        ([PASSED, row("error")], {"exitstatus": 1, "gates": (ALLOWED,)}, False),
        ([PASSED], {"exitstatus": 1, "collection_errors": 1}, False),
        ([PASSED], {"exitstatus": 1, "baseline": comparison()}, False),
    ],
)
def test_what_may_become_the_baseline(
    rows: list[dict[str, Any]], run: dict[str, Any], good: bool
) -> None:
    assert run_summary(document(*rows, **run).rows()).is_good == good
