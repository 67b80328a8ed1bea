"""Gates and the baseline in pytest: failures that they judge, and failures without an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from ..record.results import CaseResult
from ..reports.text import GATE_FILE, render_case
from ..settings.settings import Settings
from ..text import printable
from ..verdicts.run import RunProblem, is_judged_by_gate, is_outside_verdict
from ..verdicts.run_summary import COUNTED, NOT_JUDGED, VARIED, excused_text


def leave_to_gate(report: pytest.TestReport, result: CaseResult, settings: Settings) -> CaseResult:
    """Turn a failure or error into a skipped report if a gate, or `tooleval merge`, will judge it.

    So does a variant's failure that has no part in the verdict. pytest does the same with expected
    failures. The failure's text becomes a section of the report. Return the result, marked as counted
    or tolerated.
    """
    is_judged_later = settings.shard is not None and not result.variant
    is_counted = (
        bool(result.trials) if is_judged_later else is_judged_by_gate(settings.gating.gates, result)
    )
    apart = is_outside_verdict(settings.gating.gates, result)
    if not report.failed or not (is_counted or apart):
        return result
    if result.outcome == "failed":
        word = VARIED if result.variant else NOT_JUDGED if is_judged_later else COUNTED
        shown = report.longreprtext if result.is_python else render_case(result)
        report.sections.insert(0, (word, shown))
    report.outcome = "skipped"
    text = excused_text(result, of_shard=settings.shard is not None)
    report.longrepr = (result.file, result.line, text)
    return structs.replace(result, counted=is_counted, tolerated=apart)


def remember(session: pytest.Session, nodeids: Sequence[str]) -> None:
    """Let --lf rerun the cases that made a gate fail."""
    remembered = getattr(session.config.pluginmanager.getplugin("lfplugin"), "lastfailed", None)
    if remembered is not None:
        remembered.update(dict.fromkeys(nodeids, True))


def report_run_problem(session: pytest.Session, problem: RunProblem) -> None:
    """Report a failure without a test, so that reports and the exit status include it.

    An inconclusive verdict that does not fail the run is reported as skipped, with the reason.
    """
    message, name = printable(problem.message), f"{GATE_FILE}::{printable(problem.name)}"
    # Not the last part of the id: pytest would take it for a class path, with `::` for its dots.
    location = GATE_FILE, None, name.replace("::", " ", 1)
    manager = session.config.pluginmanager
    terminal: Any = manager.getplugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()  # the line of dots ends with [100%]
        if terminal._tw.width_of_current_line:
            # An annotation from another plugin must start a line.
            terminal.write_line("")
    session.testscollected += 1
    session.testsfailed += problem.failed
    # These plugins would stop the run, or wait for this report's test to pass in a later run.
    stopping = map(manager.getplugin, ("session", "lfplugin", "stepwiseplugin"))
    log = manager.subset_hook_caller("pytest_runtest_logreport", stopping)
    # Some reports add a test only once it has been torn down.
    log(report=pytest.TestReport(name, location, {}, "passed", None, "setup"))
    if problem.failed:
        log(report=pytest.TestReport(name, location, {}, "failed", message, "call"))
    else:
        log(report=pytest.TestReport(name, location, {}, "skipped", (GATE_FILE, 0, message), "call"))
    log(report=pytest.TestReport(name, location, {}, "passed", None, "teardown"))
