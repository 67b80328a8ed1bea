"""pytest's reports of Python tests that are cases: without keys, and with what happened."""

from __future__ import annotations

import pytest

from ..record.results import CaseResult
from ..reports.text import render_conversation
from ..secrets import clean_reason, harmless, secret_values
from ..text import first_few, printable


def clean_report(report: pytest.TestReport) -> None:
    """Take keys and escape sequences out of a report's traceback, or its reason for a skip."""
    values, shown = secret_values(), report.longrepr
    if isinstance(shown, tuple):
        path, line, reason = shown
        report.longrepr = path, line, clean_reason(reason)
    crash = getattr(shown, "reprcrash", None)
    if crash is not None:
        crash.message = harmless(crash.message, values)
    for traceback, _, _ in getattr(shown, "chain", ()):
        for entry in traceback.reprentries:
            for section in filter(None, (entry, getattr(entry, "reprlocals", None))):
                section.lines = [harmless(line, values) for line in section.lines]


def add_sections(report: pytest.TestReport, result: CaseResult) -> None:
    """Add what happened to the report of a failed test. As of a suite, no answer is an error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and result.reason:
        crash.message = result.reason
    if result.outcome == "error":
        report.when = "setup"  # by which pytest and JUnit tell an error from a failure
    wrong = [trial for trial in result.trials if not trial.passed]
    if len(result.trials) > 1:
        numbers: dict[str, list[str]] = {}
        for trial in wrong:
            text = trial.error.message if trial.error else trial.mistake
            numbers.setdefault(text, []).append(str(trial.trial + 1))
        lines = [
            f"{'trials' if len(same) > 1 else 'trial'} {first_few(same)}: {text}"
            for text, same in numbers.items()
        ]
        report.sections.append(
            ("trials", printable("\n".join([result.reason, *lines]), keep_newlines=True))
        )
    if wrong and wrong[0].transcript is not None:
        report.sections.append(("transcript", render_conversation(wrong[0])))
