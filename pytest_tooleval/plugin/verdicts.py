"""Gates and the baseline in pytest: failures that they judge, and failures without an item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ..record.results import CaseResult
from ..reports.junit import excused_text
from ..reports.text import GATE_FILE, render_case
from ..settings.parts import Settings
from ..text import printable
from ..verdicts.run import RunProblem, counts, is_apart
from ..verdicts.words import COUNTED, NOT_JUDGED, VARIED


def excused(report: pytest.TestReport, result: CaseResult, settings: Settings) -> CaseResult:
    """Turn a failure or error into a skipped report if a gate, or `tooleval merge`, will judge it.

    So does a variant's failure that has no part in the verdict. pytest does the same with expected
    failures. The failure's text becomes a section of the report. Return the result, marked as counted
    or tolerated.
    """
    is_judged_later = settings.shard is not None and not result.variant
    is_counted = bool(result.trials) if is_judged_later else counts(settings.judging.gates, result)
    apart = is_apart(settings.judging.gates, result)
    if not report.failed or not (is_counted or apart):
        return result
    report.outcome = "skipped"
    text = excused_text(result, of_shard=settings.shard is not None)
    report.longrepr = (result.file, result.line, text)
    if result.outcome == "failed":
        word = VARIED if result.variant else NOT_JUDGED if is_judged_later else COUNTED
        report.sections.append((word, render_case(result)))
    return structs.replace(result, counted=is_counted, tolerated=apart)


def remember(session: pytest.Session, nodeids: Sequence[str]) -> None:
    """Let --lf rerun the cases that made a gate fail."""
    remembered = getattr(session.config.pluginmanager.getplugin("lfplugin"), "lastfailed", None)
    if remembered is not None:
        remembered.update(dict.fromkeys(nodeids, True))


class VerdictItem(pytest.Item):
    """A verdict over many cases, as an item without a file that runs after all others.

    As an item, it appears in every report, including those of plugins that read items.
    """

    def __init__(self, *, message: str, failed: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._message = printable(message)
        self._failed = failed

    def reportinfo(self) -> tuple[Path, None, str]:
        # Not the last part of the id: pytest would take it for a class path, with `::` for its dots.
        return self.config.rootpath / GATE_FILE, None, f"{GATE_FILE} {self.name}"

    def runtest(self) -> None:
        if self._failed:
            raise AssertionError(self._message)
        pytest.skip(self._message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return self._message

    def run_protocol(self) -> None:
        """Run pytest's protocol, but let no plugin stop the run or change the result."""
        hook, manager = self.config.hook, self.config.pluginmanager
        # These plugins would stop the run, or wait for this item to pass in a later run.
        stopping = map(manager.getplugin, ("session", "lfplugin", "stepwiseplugin"))
        log = manager.subset_hook_caller("pytest_runtest_logreport", stopping)
        # The terminal would begin a line here, and GitHub needs annotations at the start of a line.
        terminal = [manager.getplugin("terminalreporter")]
        start = manager.subset_hook_caller("pytest_runtest_logstart", terminal)
        steps: dict[Any, partial[object]] = {
            "setup": partial(hook.pytest_runtest_setup, item=self),
            "call": partial(hook.pytest_runtest_call, item=self),
            "teardown": partial(hook.pytest_runtest_teardown, item=self, nextitem=None),
        }
        start(nodeid=self.nodeid, location=self.location)
        for when, step in steps.items():
            call = pytest.CallInfo.from_call(step, when=when)
            report: pytest.TestReport = hook.pytest_runtest_makereport(item=self, call=call)
            # Hooks that skip or fail tests must not change the verdict.
            report.outcome, report.longrepr = "passed", None
            if when == "call" and self._failed:
                report.outcome, report.longrepr = "failed", self._message
            elif when == "call":
                report.outcome, report.longrepr = "skipped", (GATE_FILE, 0, self._message)
            log(report=report)
        hook.pytest_runtest_logfinish(nodeid=self.nodeid, location=self.location)


def report_finding(session: pytest.Session, finding: RunProblem) -> None:
    """Report a failure without a test, so that all reports and the exit status include it.

    An inconclusive verdict that does not fail the run is reported as skipped, with the reason.
    """
    message, failed, name = finding.message, finding.failed, printable(finding.name)
    item: VerdictItem = VerdictItem.from_parent(
        session, name=name, nodeid=f"{GATE_FILE}::{name}", message=message, failed=failed
    )
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()  # the line of dots ends with [100%]
        if terminal._tw.width_of_current_line:
            # An annotation from another plugin must start a line.
            terminal.write_line("")
    session.testscollected += 1
    session.testsfailed += failed
    session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
