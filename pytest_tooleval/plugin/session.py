"""Hooks for a process with cases: send requests ahead, collect results, judge and end the run."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec
import pytest
from msgspec import structs

from ..record.events import Estimated
from ..record.results import CaseRow, KeptCase
from ..text import printable
from ..verdicts.run import RunVerdict, decide, foresee
from ..verdicts.sides import FindSuite, suites_in
from .case_queue import CaseQueue, is_skipped
from .cases import unknown_scope
from .garbage import leave_memory_at_exit, leave_out_what_is_there
from .items import CaseItem
from .logs import keep_keys_out_of_logs
from .no_model import missing_model, path_of_cases
from .nodeids import split_nodeid
from .output import clean_sections, clean_warning
from .settings import USAGE_ERROR, Settings
from .signals import OrderlyEnd
from .state import Observer, RunState, evaluates, will_run
from .suites import SuiteWarnings
from .terminal import Terminal
from .verdicts import VerdictItem, remember_tolerated, report_finding, undecided

_ROW = msgspec.json.Decoder(CaseRow)


class EvalSession:
    """One per process. Each xdist worker has its own; the controller only collects results."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        keep_keys_out_of_logs(config)
        self._is_worker = hasattr(config, "workerinput")
        self._config = config
        self._settings = settings
        queue = CaseQueue(config, settings, waited=self._waited, undecided=self._undecided)
        self.state = RunState(config, settings, queue)
        self._observers = list(_observers(config, self.state))
        self._warnings = SuiteWarnings()

    def register(self) -> None:
        """Register this object and the run's observers as plugins."""
        manager = self._config.pluginmanager
        manager.register(self, "tooleval-session")
        manager.register(OrderlyEnd(self._config), "tooleval-signals")
        for each in self._observers:
            manager.register(each, f"tooleval-{type(each).__name__.lower()}")
        if self._settings.estimate:
            from .estimate_table import EstimateOnly

            manager.register(EstimateOnly(self.state, self._estimated), "tooleval-estimate")

    def _estimated(self, estimated: Estimated) -> None:
        for each in self._observers:
            each.estimated(estimated)

    # Wraps --lf and all other plugins that select items.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        cases = [item for item in items if isinstance(item, CaseItem)]
        # Other tests may evaluate cases from suites that are not collected.
        if 0 < len(cases) == len(items):
            self._refuse(items, unknown_scope(self._settings, cases))
        path = path_of_cases(config, items)
        labels = (item.model for item in cases if item.job and not item.case.arm.variant)
        self.state.case_counts = dict(Counter(labels))
        result = yield
        if will_run(session) and any(isinstance(item, CaseItem) for item in items):
            self._refuse(items, missing_model(config, self._settings, path))
        state, transcripts = self.state, self.state.transcripts
        if transcripts is not None:
            state.unclaimed = [*transcripts.unread(), *transcripts.left()]
            state.misnamed = transcripts.misnamed()
        unchanged = [each for each in items if isinstance(each, CaseItem) and not each.case.arm.variant]
        chosen = {split_nodeid(item.nodeid)[:2] for item in unchanged}
        if chosen:
            state.unapplied = [name for name, found in state.applied.items() if not found & chosen]
        if self._settings.shard is not None:
            from .shards import keep_shard

            shard = keep_shard(config, items, self._settings)
            state.shard = structs.replace(shard, misnamed=tuple(state.misnamed))
        self._refuse(items, state.queue.unusable_cassettes(items) if evaluates(config) else "")
        return result

    def _refuse(self, items: list[pytest.Item], problem: str) -> None:
        """End the run with a usage error if there is a problem."""
        if problem:
            items.clear()
            # A report, because xdist workers send reports on. Without xdist, it ends the run here.
            text = USAGE_ERROR + printable(problem, keep_newlines=True)
            report = pytest.CollectReport("", "failed", text, [])
            self._config.hook.pytest_collectreport(report=report)

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Send all selected cases ahead; at the end, cancel those still pending."""
        state, cases = self.state, [item for item in session.items if isinstance(item, CaseItem)]
        state.selected = state.selected or sum(not item.case.arm.variant for item in cases)
        try:
            # An xdist worker has all workers' items, and learns one by one which it will run.
            if not self._is_worker and will_run(session):
                self.foresee(item.nodeid for item in cases if not is_skipped(item))
                self._ask_ahead(session.items)
            # Other tests may turn existing objects into garbage, which pytest reports at the end, or
            # look at what happens at exit.
            if len(cases) == len(session.items):
                leave_out_what_is_there()
                leave_memory_at_exit()
            yield
        finally:
            state.queue.close()

    def _ask_ahead(self, items: Sequence[pytest.Item]) -> None:
        if self._settings.estimate:
            return
        self.state.queue.require_keys(items)
        for item in items:
            self.state.queue.ahead(item)

    def foresee(self, nodeids: Iterable[str]) -> None:
        """Report what the gates can decide with these cases."""
        settings = self._settings
        if settings.gates.confidence is None or settings.transcripts is not None:
            return
        from .plan import planned

        rows = planned(nodeids, self._suites, settings.overrides)
        lines = foresee(rows, settings.gates, settings.looks)
        for each in self._observers:
            each.planned(lines)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if self._is_worker:
            self.state.queue.next(item, nextitem)
        if isinstance(item, VerdictItem):
            item.run_protocol()
            return True
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not isinstance(item, CaseItem):
            return
        if item.job is not None and self._config.pluginmanager.hasplugin("allure_listener"):
            import allure

            # Without this, Allure shows other models as retries of one test.
            allure.dynamic.parameter("model", item.model)
        # Only now, after the requests were sent.
        self._warnings.before(item.path, item.origin.suite, item.case.id)

    # Wraps plugins that rerun a case in this hook and print its end with the first report.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, CaseItem):
            item.attach(report, call)
            clean_sections(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        clean_warning(warning_message)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.state.queue.drop(nodeid)

    def _waited(self, seconds: float) -> None:
        for each in self._observers:
            each.waited(seconds)

    def add(self, json: bytes) -> None:
        """Keep a case from the JSON of its result. Reruns overwrite it."""
        case = KeptCase(_ROW.decode(json), json)
        self.state.add(case)
        for each in self._observers:
            each.case_done(case)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.state.collection_errors += report.failed

    # Runs inside the terminal's wrapper, whatever the order of registration: its summary shows what is
    # found here.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        state = self.state
        if self._is_worker:
            self._config.workeroutput["tooleval"] = state.summary  # type: ignore[attr-defined]
        no_tests = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if no_tests and state.shard is not None and state.shard.cases:
            session.exitstatus = pytest.ExitCode.OK  # more shards than cases
        try:
            return (yield)
        finally:
            state.queue.close()
            state.exitstatus, state.tests_failed = int(session.exitstatus), session.testsfailed
            if not state.exitstatus and not state.is_complete:
                # A second Ctrl-C came before pytest had handled the first.
                state.exitstatus = int(pytest.ExitCode.INTERRUPTED)
            self._finish()
            if state.unwritten:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _finish(self) -> None:
        """Notify each observer, even if Ctrl-C interrupts another one."""
        with ExitStack() as stack:
            for each in reversed(self._observers):
                stack.callback(each.finished)

    def judge(self, session: pytest.Session) -> None:
        """Judge the gates and the baseline of a complete run.

        This runs inside pytest's test loop, so that failures here set the exit code and reach all
        plugins.
        """
        if not self._is_worker and not self._settings.estimate and evaluates(self._config):
            self._judge(session)
        self.state.is_complete = True

    def _judge(self, session: pytest.Session) -> None:
        settings, state = self._settings, self.state
        verdict = self._verdict_on(state.rows if settings.gates or settings.baseline else [])
        state.verdict = verdict
        for finding in verdict.findings:
            report_finding(session, finding)
        if settings.shard or any(gate.failed for gate in verdict.gates):
            remember_tolerated(session, [kept.row.nodeid for kept in state.tolerated])
        for each in self._observers:
            each.judged()

    def _undecided(self, rows: Sequence[CaseRow]) -> set[str]:
        """With --tooleval-trials=auto: the cases whose verdicts more trials may decide."""
        verdict = self._verdict_on(rows)
        found = undecided(rows, verdict.gates, verdict.comparison)
        for each in self._observers:
            each.stepped(len(found))
        return found

    def _verdict_on(self, rows: Sequence[CaseRow]) -> RunVerdict:
        settings = self._settings
        return decide(
            rows,
            self.state.about(),
            settings.gates,
            settings.baseline,
            strict=settings.strict,
            looks=settings.looks,
            misnamed=self.state.misnamed,
            suites=self._suites,
        )

    @property
    def _suites(self) -> FindSuite:
        return suites_in(self._config.rootpath, self.state.suites)


def _observers(config: pytest.Config, state: RunState) -> Iterator[Observer]:
    """The run's observers, in order.

    Reports come before the history, because a report that cannot be written changes the exit code
    that the history saves. Events come last: a program that reads about a case may end the run
    immediately, and must find the case in the history.
    """
    settings, keeper = state.settings, None
    yield Terminal(state)
    if hasattr(config, "workerinput"):
        return  # the xdist controller gets all cases
    if settings.history and evaluates(config):
        from .history import Keeper

        keeper = Keeper(state)
    if state.is_reported and evaluates(config):
        from .report_files import ReportFiles

        yield ReportFiles(state, keeper)
    if keeper is not None:
        yield keeper
    if settings.events is not None:
        from .events import EventStream

        yield EventStream(state)
