"""Terminal output: scores next to outcomes, a heartbeat on long waits, the summary."""

from __future__ import annotations

import shlex
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ..figures import score_text
from ..record.document import RowsDocument
from ..record.results import CaseResult, CaseRow, KeptCase
from ..reports.run_lines import Line, score_lines, verdict_lines
from ..reports.text import EXPECTED, GATE_FILE, GOT, render_case
from ..run.eval_run import EvalRun
from ..run.observers import Observer, Wait
from ..run.results import RunResults
from ..settings.options import PRESETS
from ..text import plural, printable
from ..verdicts.run_summary import COUNTED, FAILED_GATE, NOT_JUDGED, TOLERATED, VARIED, excuse
from .preconditions import no_model

if TYPE_CHECKING:
    from ..run.history_writer import HistoryWriter

_HEARTBEAT_S = 15.0
# With more failures than _MANY, only the first few are shown with details.
_MANY, _FEW = 20, 5
_FILES = {"json": "results", "html": "report", "markdown": "summary", "csv": "table"}
_COLOURS = {"passed": "green", "failed": "red", "error": "red"}
# The category of a gate, by the outcome of its report.
_GATES = {"failed": "gate failed", "skipped": "gate inconclusive"}


class Terminal(Observer):
    """Not in xdist workers, which write to no terminal."""

    def __init__(self, config: pytest.Config, run: EvalRun, writer: HistoryWriter | None) -> None:
        self._config = config
        self._run = run
        self._writer = writer
        # The word for failures until the gates have judged them.
        self._excused = COUNTED if run.settings.shard is None else NOT_JUDGED
        self._summarising = False
        self._last_sign = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, Any, Any]:
        status = yield
        if report.nodeid.startswith(f"{GATE_FILE}::") and getattr(report, "when", "") == "call":
            # Counted apart from cases, and shown only in the summary.
            return _GATES[report.outcome], "", ""
        row = self._row_of(report)
        if row is not None and row.is_python and row.outcome == "error" and report.failed:
            return "error", "E", "ERROR"
        # The short summary also calls this, and people search it for the plain word.
        if row is None or row.outcome == "skipped" or self._summarising:
            return status
        allowed = isinstance(report, pytest.TestReport) and report.skipped
        if row.outcome == "error" and allowed and not hasattr(report, "wasxfail"):
            return f"error ({self._word(row)})", "E", ("ERROR", {"yellow": True})
        if getattr(report, "when", None) != "call":
            return status
        category, letter, word = status
        overall = row.scores.get("overall")
        self._last_sign = time.monotonic()
        if report.skipped and not hasattr(report, "wasxfail"):
            score = "" if overall is None else f" {score_text(overall, row.thresholds.values())}"
            return f"failed ({self._word(row)})", "F", (f"FAILED{score}", {"yellow": True})
        if overall is None or not isinstance(word, str) or category not in _COLOURS:
            return status
        score = score_text(overall, row.thresholds.values())
        return category, letter, (f"{word} {score}", {_COLOURS[category]: True})

    def _word(self, row: CaseRow) -> str:
        return VARIED if row.variant else self._excused

    def _row_of(self, report: pytest.TestReport | pytest.CollectReport) -> CaseRow | None:
        """The row that a report carried, if any."""
        case = self._run.results.cases.get(report.nodeid) if hasattr(report, "tooleval") else None
        return case.row if case else None

    def waited(self, wait: Wait) -> None:
        """Print a line after a long wait, so that a slow model does not look like a hang."""
        if time.monotonic() - self._last_sign >= _HEARTBEAT_S:
            more = plural(wait.sent - wait.answered(), "more case")
            self._say(f"waiting for an answer for {wait.seconds:.0f} s; {more} pending")

    def gates_cannot_pass(self, lines: Sequence[str]) -> None:
        for line in () if self._silent else lines:
            self._say(line)

    def _say(self, text: str) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        self._last_sign = time.monotonic()
        capture: Any = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            if reporter._tw.width_of_current_line:  # such as after the dots
                reporter.write_line("")
            reporter.write_line(f"tooleval: {text}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, object, object]:
        self._summarising = True
        document = self._run.document()
        reports = self._count_excused(terminalreporter, document)
        _count_gates(terminalreporter)
        failed = [each for each in terminalreporter.getreports("failed") if hasattr(each, "tooleval")]
        bodies = len(failed) if self._config.option.verbose > 0 else _bodies(failed)
        for number, report in enumerate(failed):
            if hasattr(report.longrepr, "reprcrash"):
                longrepr = report.longrepr
                short = f"{longrepr.reprcrash.message} (-v shows more)"
                report.longrepr = _ColouredText(longrepr, str(longrepr) if number < bodies else short)
        _shorten_repeated(terminalreporter.getreports("error"))
        for report in terminalreporter.getreports("error"):
            row = self._row_of(report)
            if row is not None and row.is_python:
                report.when = "call"  # where it happened; until now, it tells an error from a failure
        if not self._silent:
            title = f"FAILURES ({self._excused})"
            _write_excused(terminalreporter, title, self._run.results.counted_by_gates, reports)
        result = yield
        run, results, facts = self._run, self._run.results, self._run.run_facts
        spent = facts.spent
        # The fixture also queries models: show the summary if that has cost something.
        paid = spent and (run.selected_count or any(each.usd for each in spent.values()))
        judged = bool(results.verdict.problems)
        has_summary = results.cases or paid or judged or _unnamed(terminalreporter, document)
        if has_summary and not self._silent:
            self._write_summary(terminalreporter, document)
        elif judged and not self._config.option.no_summary:
            # With -qq, pytest reports only what failed.
            _write_verdicts(terminalreporter, results, document)
        shard = facts.shard
        if shard is not None:
            what = f"{len(results.cases)} of {plural(shard.cases, 'case')}, not judged"
            text = f"shard {shard.number}/{shard.of}: {what}: `tooleval merge` joins the shards"
            terminalreporter.write_line(text, yellow=True, bold=True)
        for problem in run.written.problems:
            terminalreporter.write_line(problem, red=True, bold=True)
        for command in run.written.commands:
            terminalreporter.write_line(command)
        resumable = results.cases and run.settings.asking.cassette_path is None
        if exitstatus == pytest.ExitCode.INTERRUPTED and resumable and not self._silent:
            terminalreporter.write_line("--tooleval-resume reuses the answers so far")
        return result

    def finished(self) -> None:
        manager = self._config.pluginmanager
        lacks = manager.getplugin("terminalreporter") is None and not manager.is_blocked("terminal")
        if lacks and not self._silent and self._run.results.cases:
            # Another plugin has replaced pytest's reporter with one that prints no summaries.
            self._write_summary(pytest.TerminalReporter(self._config), self._run.document())

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Move our categories to those that other plugins know, because they count them now."""
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        words = (self._excused, TOLERATED, FAILED_GATE, NOT_JUDGED, VARIED)
        categories = [f"{outcome} ({word})" for outcome in ("failed", "error") for word in words]
        categories += [f"{gates} inconclusive" for gates in ("gate", "gates")]
        moved = dict.fromkeys(categories, "skipped") | {
            "gate failed": "failed",
            "gates failed": "failed",
        }
        for category, standard in moved.items() if reporter is not None else ():
            reporter.stats.setdefault(standard, []).extend(reporter.stats.pop(category, []))

    def _count_excused(self, reporter: Any, document: RowsDocument) -> dict[str, pytest.TestReport]:
        """In pytest's last line, count cases by what the gates made of them, and before the gates.

        Returns their reports by node id.
        """
        by_nodeid = {}
        words = {row.nodeid: excuse(row, document) for row in document.cases}
        for outcome in ("failed", "error"):
            reports = reporter.stats.pop(f"{outcome} ({self._excused})", [])
            for report in reports:
                word = words.get(report.nodeid) or self._excused
                reporter.stats.setdefault(f"{outcome} ({word})", []).append(report)
                by_nodeid[report.nodeid] = report
        for category in _GATES.values():
            if category in reporter.stats:
                reporter.stats[category] = reporter.stats.pop(category)
        return by_nodeid

    @property
    def _silent(self) -> bool:
        # pytest 9 calls the hook even with --no-summary.
        return bool(self._config.option.no_summary) or self._config.option.verbose < -1

    def _write_summary(self, reporter: pytest.TerminalReporter, document: RowsDocument) -> None:
        """Write the table of models and suites, each model's verdict, and what readers must not miss."""
        facts, settings = self._run.run_facts, self._run.settings
        whole = reporter.config.option.verbose > 0
        reporter.write_sep("=", "tool calling")
        if reporter.config.option.verbose < 0 or not settings.asking.models:  # there was no header
            for text in settings.replaced:
                reporter.write_line(f"tooleval: {printable(text)}")
        _write(reporter, score_lines(document, whole=whole))
        for problem in (*facts.problems, *facts.unclaimed):
            reporter.write_line(printable(problem), yellow=True)
        if unnamed := _unnamed(reporter, document):
            cases = f"{unnamed} test cases were" if unnamed > 1 else "1 test case was"
            reason = no_model(reporter.config)
            reporter.write_line(f"{cases} NOT EVALUATED: {reason}", red=True, bold=True)
        if preset := PRESETS.get(settings.preset):
            reporter.write_line(f"{settings.preset}: {preset.meaning}")
        _write_verdicts(reporter, self._run.results, document)
        if why := self._run.results.verdict.why_uncompared:
            reporter.write_line(
                f"NOT COMPARED with a baseline: {printable(why)}", yellow=True, bold=True
            )
        if self._run.is_unjudged:
            reporter.write_line(
                "gates and baseline were not judged: the run was cut short", red=True, bold=True
            )
        if facts.recorded and settings.asking.cassette_path is not None:
            replies = "1 reply" if facts.recorded == 1 else f"{facts.recorded} replies"
            reporter.write_line(
                f"{replies} recorded in {_near(reporter.config, settings.asking.cassette_path)}"
            )
        if self._writer is not None and self._writer.unsaved:
            reporter.write_line(printable(self._writer.unsaved), yellow=True)
        if self._writer is not None and self._writer.is_saved:
            where = _folder_option(reporter.config)
            reporter.write_line(f"saved as {self._run.id}; view: tooleval show{where}")
        for report in self._run.written.reports:
            reporter.write_line(f"{_FILES[report.format]}: {report.path}")


def _unnamed(reporter: pytest.TerminalReporter, document: RowsDocument) -> int:
    """The number of cases, and of Python tests without a row, that were skipped without a model."""
    cases = sum(case.model == "" for case in document.plain_cases)
    tests = [each for each in reporter.getreports("skipped") if not hasattr(each, "tooleval")]
    reason = no_model(reporter.config) if tests else ""
    return cases + sum(reason in str(test.longrepr) for test in tests)


def _count_gates(reporter: Any) -> None:
    """Count gates apart from cases in pytest's last line. Make it red if one failed."""
    for category in _GATES.values():
        reports = reporter.stats.get(category, ())
        if reports and category == "gate failed":
            reporter.stats.setdefault("failed", [])
        if len(reports) > 1:
            reporter.stats[category.replace("gate", "gates")] = reporter.stats.pop(category)
    reporter._main_color = None  # pytest caches it


def _write_verdicts(
    reporter: pytest.TerminalReporter, results: RunResults, document: RowsDocument
) -> None:
    whole = reporter.config.option.verbose > 0
    _write(reporter, verdict_lines(document, whole=whole, listed=_is_unlisted))
    for problem in results.verdict.other_messages:
        reporter.write_line(f"FAILED: {printable(problem)}", red=True, bold=True)


def _write(reporter: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    for line in lines:
        markup = {line.colour: True} if line.colour else {}
        reporter.write_line(line.text, bold=line.bold, **markup)


def _is_unlisted(case: CaseRow) -> bool:
    """True for a failed or unanswered case that pytest's own summary does not list."""
    return (case.counted or case.tolerated) and not case.was_expected


def _near(config: pytest.Config, path: Path) -> str:
    """The path, relative to where pytest was started if it is below that folder."""
    here = config.invocation_params.dir
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _folder_option(config: pytest.Config) -> str:
    """The option that `tooleval` needs to find the history. It searches the current folder and up."""
    here, root = config.invocation_params.dir, config.rootpath
    if here.is_relative_to(root):
        return ""
    # On Windows, a relative path cannot lead to another drive.
    folder = root.relative_to(here) if root.is_relative_to(here) else root
    return printable(f" -C {shlex.quote(folder.as_posix())}")


def _write_excused(
    reporter: pytest.TerminalReporter,
    title: str,
    cases: Sequence[KeptCase],
    reports: Mapping[str, pytest.TestReport],
) -> None:
    """Show failures that gates judge, which pytest counts as skipped, like failures."""
    failed = [case for case in cases if case.row.outcome == "failed"]
    if not failed or reporter.config.getoption("tbstyle", "auto") in ("no", "line"):
        return
    reporter.write_sep("=", title)
    bodies = _bodies(failed)
    for case in failed[:bodies]:
        reporter.write_sep("_", printable(case.row.nodeid), yellow=True, bold=True)
        if case.row.is_python and case.row.nodeid in reports:
            _write_failure(reporter, *reports[case.row.nodeid].sections)
            continue
        result = msgspec.json.decode(case.json, type=CaseResult)
        _write_body(reporter, render_case(result, whole=reporter.config.option.verbose > 0))
    if len(failed) > bodies:
        reporter.write_line(f"{len(failed) - bodies} more: tooleval show latest --failed")


def _write_failure(
    reporter: pytest.TerminalReporter, shown: tuple[str, str], *sections: tuple[str, str]
) -> None:
    """Write a Python test's failure as pytest does."""
    for line in shown[1].splitlines():
        reporter.write_line(line, red=line.startswith("E "), bold=line[:1] in ("E", ">"))
    for title, text in sections:
        reporter.write_sep("-", title)
        reporter.write_line(text)


def _bodies(failed: Sequence[object]) -> int:
    """How many failures are shown with details."""
    return len(failed) if len(failed) <= _MANY else _FEW


def _shorten_repeated(reports: Iterable[Any]) -> None:
    """Write an error's text once, however many cases it concerns."""
    first: dict[str, Any] = {}
    for report in reports:
        longrepr = report.longrepr
        if hasattr(report, "tooleval") and hasattr(longrepr, "reprcrash"):
            earlier = first.setdefault(str(longrepr), report)
            if earlier is not report:
                file, _, name = earlier.nodeid.partition("::")
                name = name if report.nodeid.startswith(f"{file}::") else earlier.nodeid
                report.longrepr = _ColouredText(longrepr, printable(f"the same as for {name}"))


class _ColouredText:
    """The text of a failed case, with colours."""

    def __init__(self, shown: Any, text: str) -> None:
        self.reprcrash = shown.reprcrash
        self._text = text

    def toterminal(self, tw: Any) -> None:
        _write_body(tw, self._text)

    def __str__(self) -> str:
        return self._text


def _write_body(writer: Any, text: str) -> None:
    """Write the reason in red, and the diff's expected lines in green and actual ones in red."""
    for number, line in enumerate(text.splitlines()):
        start = line.lstrip(" ")[:2]
        if number == 0:
            writer.line(line, red=True, bold=True)
        else:
            writer.line(line, green=start == EXPECTED, red=start == GOT)
