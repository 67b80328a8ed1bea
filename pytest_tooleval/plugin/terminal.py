"""What a person sees: scores beside the words, a heartbeat on long waits, the table at the end."""

from __future__ import annotations

import time
from collections.abc import Generator
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING
from typing import Any

import msgspec
import pytest

from ..record.results import CaseResult
from ..record.results import CaseRow
from ..record.results import KeptCase
from ..reports.comparison import render_comparison
from ..reports.notes import notes
from ..reports.run_text import VERDICTS
from ..reports.tables import score_table
from ..reports.text import EXPECTED
from ..reports.text import GOT
from ..reports.text import render_case
from ..text import counted
from ..text import printable
from .settings import NO_MODEL
from .verdicts import GATE_FILE

if TYPE_CHECKING:
    from .session import EvalSession

_HEARTBEAT_S = 15.0
_CASES_SHOWN = 20
# More failures than these are shown by their reasons alone, but for the first few.
_MANY, _FEW = 20, 5
_FILES = {"json": "results", "html": "report", "markdown": "summary", "csv": "table"}
_COLOURS = {"passed": "green", "failed": "red", "error": "red"}


class Terminal:
    """Registered in every process; a worker of xdist has no terminal and stays silent."""

    def __init__(self, config: pytest.Config, session: EvalSession) -> None:
        self._config = config
        self._session = session
        self._summarising = False
        self._rounds = 0
        self._last_sign = time.monotonic()
        session.asking.on_wait.append(self._heartbeat)
        session.on_round.append(self._round)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, Any, Any]:
        status = yield
        if report.skipped and report.nodeid.startswith(f"{GATE_FILE}::"):
            return "inconclusive", "i", ("INCONCLUSIVE", {"yellow": True})
        row = self._session.row_of(report)
        # The short summary calls this as well; there the plain word is what people search for.
        if row is None or self._summarising:
            return status
        allowed = isinstance(report, pytest.TestReport) and report.skipped
        if row.outcome == "error" and allowed and not hasattr(report, "wasxfail"):
            return "error (tolerated)", "E", ("ERROR", {"yellow": True})
        if getattr(report, "when", None) != "call":
            return status
        category, letter, word = status
        overall = row.scores.get("overall")
        self._last_sign = time.monotonic()
        if report.skipped and not hasattr(report, "wasxfail"):
            score = "" if overall is None else f" {overall:.2f}"
            return "failed (tolerated)", "F", (f"FAILED{score}", {"yellow": True})
        if overall is None or not isinstance(word, str) or category not in _COLOURS:
            return status
        return category, letter, (f"{word} {overall:.2f}", {_COLOURS[category]: True})

    def _heartbeat(self, waited_s: float) -> None:
        """One line on a long silence, so that a slow model does not look like a hang."""
        if time.monotonic() - self._last_sign >= _HEARTBEAT_S:
            more = f"{self._session.asking.waiting} more cases asked"
            self._say(f"waiting for answers, {waited_s:.0f} s for this one, {more}")

    def _round(self, undecided: int) -> None:
        """One line for each round of --tooleval-trials=auto, of which nothing else is to be seen."""
        self._rounds += 1
        verdict = f"no verdict yet on {counted(undecided, 'case')}" if undecided else "all is decided"
        self._say(f"round {self._rounds}: {verdict}")

    def _say(self, text: str) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        self._last_sign = time.monotonic()
        capture: Any = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            if reporter._tw.width_of_current_line:  # after the dots, too
                reporter.write_line("")
            reporter.write_line(f"tooleval: {text}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, object, object]:
        self._summarising = True
        failed = [each for each in terminalreporter.getreports("failed") if hasattr(each, "tooleval")]
        bodies = len(failed) if self._config.option.verbose > 0 else _bodies(failed)
        for number, report in enumerate(failed):
            if hasattr(report.longrepr, "reprcrash"):
                report.longrepr = _Coloured(report.longrepr, whole=number < bodies)
        if not self._silent:
            _write_tolerated(terminalreporter, self._session.tolerated)
        result = yield
        told = self._session.cases or self._session.spent
        if told and not self._silent:
            write_summary(terminalreporter, self._session)
        for problem in self._session.unwritten:
            terminalreporter.write_line(problem, red=True, bold=True)
        for command in self._session.annotations:
            terminalreporter.write_line(command)
        resumable = self._session.cases and self._session.settings.cassette is None
        if exitstatus == pytest.ExitCode.INTERRUPTED and resumable and not self._silent:
            terminalreporter.write_line("--tooleval-resume takes over the answers that have come")
        return result

    @property
    def _silent(self) -> bool:
        # pytest 9 calls the hook in spite of --no-summary.
        return bool(self._config.option.no_summary) or self._config.option.verbose < -1


def write_summary(reporter: pytest.TerminalReporter, session: EvalSession) -> None:
    """The table of models and suites, then what a reader must not miss."""
    document = session.document()
    reporter.write_sep("=", "tool calling")
    for number, line in enumerate(score_table(document) if document.cases else ()):
        reporter.write_line(line, bold=number == 0)
    _write_cases(reporter, "forbidden", [c for c in document.cases if c.called_forbidden], red=True)
    for line in notes(document):
        reporter.write_line(line, yellow=True)
    for path, lines in session.damaged_cassettes.items():
        numbers = ", ".join(map(str, lines))
        reporter.write_line(
            f"cassette {path}: line {numbers} cannot be read and was left out", yellow=True
        )
    for line in session.unclaimed:
        reporter.write_line(line, yellow=True)
    unnamed = sum(case.model == "" for case in document.cases)
    if unnamed:
        cases = f"{unnamed} test cases were" if unnamed > 1 else "1 test case was"
        reporter.write_line(f"{cases} NOT EVALUATED: {NO_MODEL}", red=True, bold=True)
    if session.keeper is not None and session.keeper.problem:
        reporter.write_line(printable(session.keeper.problem), yellow=True)
    tolerated = [case for case in document.cases if case.tolerated and not case.was_expected]
    for outcome in ("failed", "error"):
        of_it = [case for case in tolerated if case.outcome == outcome]
        _write_cases(reporter, f"{outcome}, tolerated", of_it, yellow=True)
    if session.comparison is not None:
        *rows, verdict = render_comparison(session.comparison)
        for line in rows:
            reporter.write_line(line)
        _, colour = VERDICTS[session.comparison.verdict]
        reporter.write_line(verdict, **{colour: True, "bold": True})
    for gate in session.gates:
        mark, colour = VERDICTS[gate.verdict]
        reporter.write_line(f"gate {mark}: {printable(gate.message)}", **{colour: True, "bold": True})
    if session.unjudged:
        reporter.write_line(
            "gates and baseline were not judged: the run was cut short", red=True, bold=True
        )
    if session.keeper is not None and session.keeper.is_kept:
        reporter.write_line(f"kept as {session.id}: tooleval show")
    if not session.unwritten:
        for format, file in session.settings.files.items():
            reporter.write_line(f"{_FILES[format]}: {file}")


def _write_tolerated(reporter: pytest.TerminalReporter, cases: Sequence[KeptCase]) -> None:
    """What pytest shows of failures, for those that it takes for skipped."""
    failed = [case for case in cases if case.row.outcome == "failed"]
    if not failed or reporter.config.getoption("tbstyle", "auto") in ("no", "line"):
        return
    reporter.write_sep("=", "TOLERATED FAILURES")
    bodies = _bodies(failed)
    for case in failed[:bodies]:
        reporter.write_sep("_", printable(case.row.nodeid), yellow=True, bold=True)
        result = msgspec.json.decode(case.json, type=CaseResult)
        _write_body(reporter, render_case(result, whole=reporter.config.option.verbose > 0))
    if len(failed) > bodies:
        reporter.write_line(f"{len(failed) - bodies} more: tooleval show latest --failed")


def _bodies(failed: Sequence[object]) -> int:
    """How many failures are shown with more than their reason."""
    return len(failed) if len(failed) <= _MANY else _FEW


class _Coloured:
    """What a failed case shows, which pytest would write without colours."""

    def __init__(self, shown: Any, *, whole: bool) -> None:
        self.reprcrash = shown.reprcrash
        self._text = str(shown) if whole else f"{self.reprcrash.message} (-v shows more)"

    def toterminal(self, tw: Any) -> None:
        _write_body(tw, self._text)

    def __str__(self) -> str:
        return self._text


def _write_body(writer: Any, text: str) -> None:
    """The reason in red; of the diff what was expected in green, and what came in red."""
    for number, line in enumerate(text.splitlines()):
        start = line.lstrip(" ")[:2]
        if number == 0:
            writer.line(line, red=True, bold=True)
        else:
            writer.line(line, green=start == EXPECTED, red=start == GOT)


def _write_cases(
    reporter: pytest.TerminalReporter, word: str, cases: Sequence[CaseRow], **markup: bool
) -> None:
    """One line for each case, of which pytest shows no section, or which must not be missed."""
    for case in cases[:_CASES_SHOWN]:
        reporter.write_line(f"{word}: {printable(case.nodeid)} - {printable(case.reason)}", **markup)
    if len(cases) > _CASES_SHOWN:
        reporter.write_line(f"{word}: {len(cases) - _CASES_SHOWN} more", **markup)
