"""Hooks for every process of a run: collect results, judge and end the run."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ..engine.limits.ledger import SharedSpending
from ..errors import ToolevalError
from ..record.events import Estimated
from ..record.results import CaseRow, KeptCase
from ..reports.outputs import on_github
from ..run.book import RunBook
from ..run.facts import Facts, Part
from ..settings.parts import Settings
from ..verdicts.run import foresee, undecided
from ..verdicts.sides import suites_in
from .logs import keep_keys_out_of_logs
from .output import clean_warning
from .signals import OrderlyEnd
from .started import evaluates, run_started
from .state import Observer, RunState, Wait
from .terminal import Terminal
from .verdicts import VerdictItem, remember_tolerated, report_finding
from .workers import ledger_of

if TYPE_CHECKING:
    from ..run.place import CasePlace, Places
    from ..suite.model import Suite
    from .case_session import CaseSession
    from .report_files import ReportFiles

_ROW = msgspec.json.Decoder(CaseRow)


class EvalSession:
    """One per process. The xdist controller has no `cases`: only its workers collect and ask."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        keep_keys_out_of_logs(config)
        self.cases: CaseSession | None = None
        self._is_worker = hasattr(config, "workerinput")
        self._config = config
        self._settings = settings
        asking, outputs = settings.asking, settings.outputs
        facts = Facts(config.rootpath, settings, run_started(config), pytest.__version__, self._part)
        book = RunBook(
            settings.judging,
            (spec.label for spec in asking.models),
            facts.about,
            self._suite,
            is_whole=bool(outputs.reports) or on_github(outputs.github),
        )
        self.state = RunState(config, settings, facts, book)
        self._files: ReportFiles | None = None
        self._observers = self._made_observers()

    def _made_observers(self) -> list[Observer]:
        """The run's observers, in order.

        Reports come before the history, because a report that cannot be written changes the exit code
        that the history saves. Events come last: a program that reads about a case may end the run
        immediately, and must find the case in the history.
        """
        state, outputs, keeper, events = self.state, self._settings.outputs, None, None
        is_shown = not self._is_worker  # the xdist controller gets all cases
        if is_shown and outputs.history and evaluates(self._config):
            from .history import Keeper

            keeper = Keeper(state)
        if is_shown and state.book.is_whole and evaluates(self._config):
            from .report_files import ReportFiles

            self._files = ReportFiles(state, keeper)
        if is_shown and outputs.events is not None:
            from .events import EventStream

            events = EventStream(state, self._files)
        terminal = Terminal(state, keeper, self._files)
        return [each for each in (terminal, self._files, keeper, events) if each is not None]

    def register(self) -> None:
        """Register this object and the run's observers as plugins."""
        manager = self._config.pluginmanager
        manager.register(self, "tooleval-session")
        manager.register(OrderlyEnd(self._config), "tooleval-signals")
        for each in self._observers:
            manager.register(each, f"tooleval-{type(each).__name__.lower()}")

    def _estimated(self, estimated: Estimated) -> None:
        for each in self._observers:
            each.estimated(estimated)

    def case_session(self) -> CaseSession:
        """Return what this process needs to run cases, made when the first suite is found."""
        if self.cases is None:
            from .case_session import CaseSession

            self.cases = CaseSession(self._config, self._settings, self)
            self._config.pluginmanager.register(self.cases, "tooleval-cases")
            if self._settings.estimate:
                from .estimate_table import EstimateOnly

                self._config.pluginmanager.register(
                    EstimateOnly(self.cases, self._estimated), "tooleval-estimate"
                )
        return self.cases

    def _part(self) -> Part:
        """What this process knows of the run; in the xdist controller, what its workers spent."""
        return Part(spent=self._shared.by_model) if self.cases is None else self.cases.part

    def take_over(self, part: Mapping[str, Any]) -> None:
        """Keep what an xdist worker knows of the run."""
        self.state.facts.take_over(msgspec.convert(part, Part))

    def foresee(self, places: Iterable[CasePlace]) -> None:
        """Report what the gates can decide with these cases."""
        settings = self._settings
        if settings.judging.gates.confidence is None or settings.asking.transcripts is not None:
            return
        from ..run.scored import planned

        try:
            lines = foresee(planned(places), settings.judging)
        except ToolevalError:  # a suite has changed since it was collected
            return
        for each in self._observers:
            each.planned(lines)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if isinstance(item, VerdictItem):
            item.run_protocol()
            return True
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        clean_warning(warning_message)

    def waited(self, wait: Wait) -> None:
        for each in self._observers:
            each.waited(wait)

    @cached_property
    def places(self) -> Places:
        """Where cases stand that this process did not collect itself."""
        from ..run.place import Places

        return Places(self._config.rootpath, self._suite, self._settings.asking.overrides)

    def add(self, json: bytes) -> None:
        """Keep a case from the JSON of its result. Reruns overwrite it."""
        case = KeptCase(_ROW.decode(json), json)
        self.state.book.add(case)
        for each in self._observers:
            each.case_done(case)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.state.facts.collection_errors += report.failed

    # Runs inside the terminal's wrapper, whatever the order of registration: its summary shows what is
    # found here.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        facts = self.state.facts
        if self._is_worker:
            part = msgspec.to_builtins(self._part())
            self._config.workeroutput["tooleval"] = part  # type: ignore[attr-defined]
        no_tests = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if no_tests and facts.known.shard is not None and facts.known.shard.cases:
            session.exitstatus = pytest.ExitCode.OK  # more shards than cases
        try:
            return (yield)
        finally:
            if self.cases is not None:
                self.cases.queue.close()
            facts.exitstatus, facts.tests_failed = int(session.exitstatus), session.testsfailed
            if not facts.exitstatus and not facts.is_complete:
                # A second Ctrl-C came before pytest had handled the first.
                facts.exitstatus = int(pytest.ExitCode.INTERRUPTED)
            self._finish()
            if self._files is not None and self._files.unwritten:
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
        self.state.facts.is_complete = True

    def _judge(self, session: pytest.Session) -> None:
        book = self.state.book
        verdict = book.judge(self.state.facts.known.misnamed)
        for finding in verdict.findings:
            report_finding(session, finding)
        if self._settings.shard or any(gate.failed for gate in verdict.gates):
            remember_tolerated(session, [kept.row.nodeid for kept in book.tolerated])
        for each in self._observers:
            each.judged()

    def undecided(self, rows: Sequence[CaseRow]) -> set[str]:
        """With --tooleval-trials=auto: the cases whose verdicts more trials may decide."""
        verdict = self.state.book.verdict_on(rows, self.state.facts.known.misnamed)
        found = undecided(rows, verdict.gates, verdict.comparison)
        for each in self._observers:
            each.stepped(len(found))
        return found

    def _suite(self, file: str) -> Suite:
        return suites_in(self._config.rootpath, self.cases.suites if self.cases else None)(file)

    @cached_property
    def _shared(self) -> SharedSpending:
        """What the processes of the run spent that share a ledger."""
        return SharedSpending(ledger_of(self._config))
