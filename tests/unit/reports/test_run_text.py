"""The verdict of a run in words, which page, report and Markdown share."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.reports.run_text import run_words

from .samples import comparison
from .samples import document
from .samples import gate
from .samples import no_answer
from .samples import row
from .samples import trial

PASSED, FAILED = row("passed", trial(0)), row("failed", trial(0, 0.5))
ERROR = row("error", no_answer(), tolerated=True)


@pytest.mark.parametrize(
    ("rows", "run", "expected"),
    [
        ([PASSED], {"exitstatus": 0}, "passed Passed: 1 of 1 result passed"),
        ([FAILED], {"exitstatus": 1}, "failed Failed: 1 of 1 result failed"),
        ([FAILED], {"exitstatus": None}, "failed Failed: 1 of 1 result failed"),
        ([ERROR], {"exitstatus": 0}, "passed Passed: 0 of 1 result passed · 1 tolerated"),
        ([PASSED], {"exitstatus": 2}, "failed Incomplete (interrupted): "),
        ([PASSED], {"exitstatus": None, "status": "killed"}, "failed Incomplete (killed): "),
        ([PASSED], {"exitstatus": 1}, "failed Failed: another test in the run failed"),
        ([row("skipped", model="")], {"exitstatus": 0}, "skipped Nothing was evaluated: 1 case skipped"),
        ([], {"exitstatus": 5}, "failed Nothing was evaluated: no test was collected"),
        (
            [PASSED],
            {"exitstatus": 0, "gates": ({**gate(False), "verdict": "inconclusive", "failed": False},)},
            "inconclusive Inconclusive: 1 of 1 result passed · 1 of 1 gate inconclusive",
        ),
        (
            [PASSED],
            {"exitstatus": 1, "gates": (gate(False), gate(True)), "baseline": comparison()},
            "failed Failed: 1 of 2 gates failed · worse than the baseline",
        ),
    ],
)
def test_the_verdict(rows: list[dict[str, Any]], run: dict[str, Any], expected: str) -> None:
    found = run_words(document(*rows, **run).rows())
    assert f"{found.outcome} {found.words}: {' · '.join(found.details)}" == expected
