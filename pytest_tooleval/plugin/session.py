"""Hooks for every process of a run: collect results, judge and end the run."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec
import pytest

from ..record.run import Unreadable
from ..run.eval_run import EvalRun
from ..run.history_writer import HistoryWriter
from ..run.observers import Observer
from ..run.report_files import ReportFiles
from ..secrets import scrub, secret_values
from ..settings.settings import Settings
from ..text import shown
from .processes import USAGE_ERROR, evaluates, process_of
from .redaction import clean_warning, keep_keys_out_of_logs
from .signals import OrderlyEnd
from .terminal import Terminal
from .verdicts import remember, report_run_problem

if TYPE_CHECKING:
    from .case_session import CaseSession

_REASON = 500


class EvalSession(Observer):
    """One per process. The xdist controller has no `cases`: only its workers collect and ask."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.cases: CaseSession | None = None
        self.run = EvalRun(process_of(config), settings)
        self._config = config
        self.run.observers.add(self)
        config.pluginmanager.register(self, "tooleval-session")
        config.pluginmanager.register(OrderlyEnd(config), "tooleval-signals")
        if not self.run.process.is_worker:  # the xdist controller gets all cases
            self._show()

    # Also called for plugins that are registered already. With events, this session is the first.
    def pytest_plugin_registered(self, plugin: object, manager: pytest.PytestPluginManager) -> None:
        if manager.get_name(plugin) == "logging-plugin":
            keep_keys_out_of_logs(plugin)

    def _show(self) -> None:
        """Add the observers that show and keep the run, in order.

        Reports come before the history, because a report that cannot be written changes the exit code
        that the history saves. Events come last: a program that reads about a case may end the run
        immediately, and must find the case in the history.
        """
        config, run, outputs = self._config, self.run, self.run.settings.outputs
        files, writer, events = None, None, None
        if outputs.history and evaluates(config):
            writer = HistoryWriter(run.results, run.about, run.process.store_folder, outputs.history)
        if run.results.is_whole and evaluates(config):
            others = config.pluginmanager.hasplugin("pytest_github_actions_annotate_failures")
            files = ReportFiles(run, writer.trends if writer else None, annotates=not others)
        if outputs.events is not None:
            from .events import EventStream

            events = EventStream(config, run)
        terminal = Terminal(config, run, writer)
        for observer in filter(None, (files, writer, terminal, events)):
            run.observers.add(observer)
        for plugin in filter(None, (terminal, events)):
            config.pluginmanager.register(plugin, f"tooleval-{type(plugin).__name__.lower()}")

    def case_session(self) -> CaseSession:
        """Return what this process needs to run cases, made when the first suite is found."""
        if self.cases is None:
            from .case_session import CaseSession

            self.cases = CaseSession(self._config, self.run)
            self._config.pluginmanager.register(self.cases, "tooleval-cases")
        return self.cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        if self.cases is None:
            return None
        from .items import CaseItem  # which the xdist controller never needs

        return item.report_unanswered(call) if isinstance(item, CaseItem) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        clean_warning(warning_message)

    def warned(self, text: str) -> None:
        self._config.issue_config_time_warning(pytest.PytestWarning(text), 2)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.run.unreadable.append(Unreadable(report.nodeid, _why(report)))

    # Runs inside the terminal's wrapper, whatever the order of registration: its summary shows what is
    # found here.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        run = self.run
        if run.process.is_worker:
            facts = msgspec.to_builtins(run.process_facts)
            self._config.workeroutput["tooleval"] = facts  # type: ignore[attr-defined]
        no_tests = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if no_tests and run.run_facts.shard is not None and run.run_facts.shard.cases:
            session.exitstatus = pytest.ExitCode.OK  # more shards than cases
        try:
            return (yield)
        finally:
            if self.cases is not None:
                self.cases.queue.close()
            run.exitstatus, run.tests_failed = int(session.exitstatus), session.testsfailed
            if not run.exitstatus and not run.is_complete:
                # A second Ctrl-C came before pytest had handled the first.
                run.exitstatus = int(pytest.ExitCode.INTERRUPTED)
            run.observers.finished()
            if run.written.problems:
                session.exitstatus = run.exitstatus

    def decide(self, session: pytest.Session) -> None:
        """Judge the gates and the baseline of a complete run.

        This runs inside pytest's test loop, so that failures here set the exit code and reach all
        plugins.
        """
        run = self.run
        if not run.process.is_worker and not run.settings.only_estimates and evaluates(self._config):
            verdict = run.decide()
            for problem in verdict.problems:
                report_run_problem(session, problem)
            if run.settings.shard or any(gate.failed for gate in verdict.gates):
                remember(session, [kept.row.nodeid for kept in run.results.counted_by_gates])
            run.observers.decided()
        run.is_complete = True


def _why(report: pytest.CollectReport) -> str:
    """Why a file cannot be collected, in one line: the exception of a module, else the first problem."""
    lines = [line for line in report.longreprtext.splitlines() if line.strip()]
    raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    reason = next(iter([*raised, *lines]), "").removeprefix(USAGE_ERROR)
    return shown(scrub(reason, secret_values()), _REASON)
