"""The state of pytest-tooleval in one pytest process: its settings, results, gates and files."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

import msgspec
import pytest
from msgspec import Struct
from msgspec import structs

from .. import __version__
from ..record.document import Document
from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..record.results import KeptCase
from ..record.run import SCORING_VERSION
from ..record.run import AskedModel
from ..record.run import Git
from ..record.run import Run
from ..record.run import Shard
from ..record.run import Spent
from ..record.run import add_up
from ..record.run import new_run_id
from ..reports.outputs import leave
from ..reports.outputs import on_github
from ..verdicts.run import RunVerdict
from ..verdicts.run import foresee
from ..verdicts.run import judge
from ..verdicts.sides import suites_in
from ..verdicts.summary import file_order
from ..verdicts.summary import kept_document
from ..verdicts.summary import ran_partly
from ..verdicts.summary import rows_document
from .asking import Asking
from .asking import is_skipped
from .events import EventStream
from .garbage import collect_seldom
from .garbage import leave_memory_at_exit
from .garbage import leave_out_what_is_there
from .history import Keeper
from .items import CaseItem
from .logs import keep_keys_out_of_logs
from .no_model import missing_model
from .output import clean_sections
from .output import clean_warning
from .settings import Settings
from .suites import SuiteWarnings
from .transcripts import GivenTranscripts
from .verdicts import VerdictItem
from .verdicts import remember_tolerated
from .verdicts import report_finding
from .verdicts import undecided

if TYPE_CHECKING:
    from ..suite.model import Suite

_ROW = msgspec.json.Decoder(CaseRow)


class _Told(Struct, frozen=True):
    """What a worker of xdist tells its controller: of the whole run, but for `problems` and `spent`.

    What it could note in the ledger is not in `spent`.
    """

    unclaimed: list[str]
    misnamed: list[str]
    problems: list[str]
    recorded: int
    spent: Mapping[str, Spent]
    shard: Shard | None


class EvalSession:
    """One per process; under xdist each worker has its own, and the controller only collects results."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._is_worker = hasattr(config, "workerinput")
        keep_keys_out_of_logs(config)
        self.config = config
        # The settings of the whole run; `asking.settings` are this process' part of them.
        self.settings = settings
        self.asking = Asking(config, settings)
        self.asking.on_wait.append(self._waited)
        self.asking.undecided = self._undecided
        # Called after each step of --tooleval-trials=auto with the number of cases without a verdict.
        self.on_step: list[Callable[[int], None]] = []
        # Called before anything is asked, with what the gates can decide at all.
        self.on_plan: list[Callable[[list[str]], None]] = []
        self.cases: dict[str, KeptCase] = {}
        # Each by its file, as in the results. The controller of xdist collects none.
        self.suites: dict[str, Suite] = {}
        self.selected = 0
        self.shard: Shard | None = None
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self.verdict = RunVerdict()
        runs = settings.transcripts
        self.transcripts = None if runs is None else GivenTranscripts(runs)
        self._told: list[_Told] = []
        self.events: EventStream | None = None
        # Whether the tests came to their end.
        self._ended = False
        self._warnings = SuiteWarnings()
        self._running: pytest.Item | None = None
        self._collection_errors = 0
        self._exitstatus: int | None = None
        self._started = datetime.now(timezone.utc)
        # The name of this run in the history and in its document.
        self.id = new_run_id(self._started)
        self._begin = time.monotonic()
        self.keeper: Keeper | None = None
        leave_memory_at_exit()
        if settings.history and not self._is_worker and _evaluates(config):
            self.keeper = Keeper(config.rootpath, self.about)

    # Outside of --lf, and of all others that select.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        result = yield
        if self.settings.shard is not None:
            from .shards import keep_shard

            shard = keep_shard(config, items, self.settings)
            self.shard = structs.replace(shard, misnamed=tuple(self.misnamed))
        return result

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Ask ahead for everything selected; at the end cancel what is still under way."""
        self.selected = self.selected or sum(isinstance(item, CaseItem) for item in session.items)
        problem = missing_model(self.config, self.settings)
        if problem and self.selected and _will_run(session):
            raise pytest.UsageError(problem)
        try:
            if not self._is_worker and _will_run(session):
                chosen = [item for item in session.items if isinstance(item, CaseItem)]
                self.foresee([item.nodeid for item in chosen if not is_skipped(item)])
            # A worker of xdist has everybody's items and learns only one by one which are its own.
            if not self._is_worker and _will_run(session) and not self.settings.estimate:
                self.asking.require_keys(session.items)
                for item in session.items:
                    self.asking.ahead(item)
            # Other tests may leave garbage of what is there now, of which pytest tells at the end.
            if self.selected == len(session.items):
                leave_out_what_is_there()
            yield
        finally:
            self.asking.close()

    def foresee(self, nodeids: Sequence[str]) -> None:
        """Tell what the gates can decide over these cases."""
        settings = self.settings
        if settings.gates.confidence is None or settings.transcripts is not None:
            return
        from .plan import planned

        suites = suites_in(self.config.rootpath, self.suites)
        rows = planned(nodeids, suites, settings.overrides)
        for tell in self.on_plan:
            tell(foresee(rows, settings.gates, settings.looks))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """With --tooleval-estimate, show what the selected cases would ask and cost, and run nothing."""
        if not self.settings.estimate or not _will_run(session):
            return None
        from ..engine.estimate import estimate
        from .estimate_table import write_estimate

        chosen = [item for item in session.items if isinstance(item, CaseItem) and not is_skipped(item)]
        cases = ((i.case, i.spec, self.asking.cassette_for(i.path), i.user) for i in chosen if i.spec)
        rows = estimate(cases, self.settings.judge)
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            write_estimate(reporter, rows)
            if self.settings.most_trials is not None:
                most = self.settings.most_trials
                reporter.write_line(f"a first step of --tooleval-trials=auto; up to {most} trials each")
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        # Other tests may look at the collector.
        collect_seldom(isinstance(item, CaseItem))
        self._running = item
        if self._is_worker:
            self.asking.next(item, nextitem)
        if isinstance(item, VerdictItem):
            item.run_protocol()
            return True
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not isinstance(item, CaseItem):
            return
        if item.spec is not None and self.config.pluginmanager.hasplugin("allure_listener"):
            import allure

            # By nothing else Allure would tell the models of a case apart, and show retries of one test.
            allure.dynamic.parameter("model", item.spec.label)
        # Only now, when there are answers to wait for.
        self._warnings.before(item.path, item.origin.suite, item.case.id)

    @pytest.hookimpl(wrapper=True)
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

    def complete(self, report: pytest.TestReport) -> None:
        """Put the result on a report that a plugin has changed, before others take it from there."""
        item = self._running
        if isinstance(item, CaseItem) and item.is_retried and report.when == "call":
            item.attach_again(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.asking.drop(nodeid)

    def _waited(self, seconds: float) -> None:
        if self.keeper is not None and not self.cases:
            self.keeper.prepare()
        if self.events is not None:
            self.events.waited(len(self.cases), self.asking.answered)

    @property
    def unclaimed(self) -> list[str]:
        """What to say of transcripts that belong to no case; each worker has met all cases."""
        if self._told:
            return self._told[-1].unclaimed
        return self.transcripts.left() if self.transcripts else []

    @property
    def misnamed(self) -> list[str]:
        """Transcripts that name a case which no suite of this run has."""
        if self._told:
            return self._told[-1].misnamed
        return self.transcripts.misnamed() if self.transcripts else []

    @property
    def problems(self) -> list[str]:
        """A line for each thing that was wrong in any process, and ended no run."""
        elsewhere = (line for told in self._told for line in told.problems)
        return list(dict.fromkeys([*elsewhere, *self.asking.problems]))

    @property
    def answers_recorded(self) -> int:
        """How many answers the run has added to its cassette."""
        return self.asking.recorded + sum(told.recorded for told in self._told)

    def take_over(self, told: dict[str, Any]) -> None:
        """What a worker of xdist tells at its end."""
        self._told.append(msgspec.convert(told, _Told))
        self.shard = self._told[-1].shard or self.shard

    @property
    def spent(self) -> dict[str, Spent]:
        """What was spent on each model, by all processes."""
        return add_up(self.asking.spent, *(told.spent for told in self._told))

    def add(self, json: bytes) -> None:
        """Keep a case by the JSON of its result; the last one of a case that was run again holds."""
        kept = KeptCase(_ROW.decode(json), json)
        # Only files, and what tells of failures, read the text once more.
        is_read = self._writes_files or kept.row.outcome != "passed"
        self.cases[kept.row.nodeid] = kept if is_read else KeptCase(kept.row)
        if self.keeper is not None:
            self.keeper.add(kept)
        if self.events is not None:
            self.events.case_done(json)

    def row_of(self, report: pytest.TestReport | pytest.CollectReport) -> CaseRow | None:
        """The row that a report brought, if it did. A worker of xdist hands it on."""
        kept = self.cases.get(report.nodeid) if hasattr(report, "tooleval") else None
        return kept.row if kept else None

    @property
    def rows(self) -> list[CaseRow]:
        """In the order of the files, however the workers of xdist came to report."""
        return [kept.row for kept in self._in_order(self.cases.values())]

    def _in_order(self, cases: Iterable[KeptCase]) -> list[KeptCase]:
        order = file_order(spec.label for spec in self.settings.models)
        return sorted(cases, key=lambda kept: order(kept.row))

    @property
    def tolerated(self) -> list[KeptCase]:
        """What did not pass and does not fail the run, other than by xfail."""
        chosen = [kept for kept in self.cases.values() if kept.row.tolerated]
        return self._in_order([kept for kept in chosen if not kept.row.was_expected])

    def document(self) -> RowsDocument:
        """The results so far without transcripts and explanations."""
        return rows_document(self.about(), self.rows, self.verdict.gates, self.verdict.comparison)

    def whole_document(self) -> Document:
        """The results so far."""
        kept = self._in_order(self.cases.values())
        return kept_document(self.about(), kept, self.verdict.gates, self.verdict.comparison)

    def about(self) -> Run:
        """What the result document and the history say of the run itself."""
        # A copy: the thread that keeps the history asks, too.
        rows = [kept.row for kept in list(self.cases.values())]
        return Run(
            id=self.id,
            started=self._started.isoformat(timespec="seconds"),
            duration_s=round(time.monotonic() - self._begin, 3),
            pytest_tooleval=__version__,
            pytest=pytest.__version__,
            python=platform.python_version(),
            scoring_version=SCORING_VERSION,
            exitstatus=self._exitstatus,
            collection_errors=self._collection_errors,
            max_cost_usd=self.settings.max_cost,
            spent=self.spent,
            answers=self._answers,
            models=tuple(AskedModel(spec.label, spec.identity) for spec in self.settings.models),
            options=dict(self.settings.options),
            git=self._git,
            selected=self.selected,
            partial=ran_partly(rows) or self.shard is not None,
            shard=self.shard,
        )

    @cached_property
    def _git(self) -> Git | None:
        from ..history import git_state

        return git_state(self.config.rootpath)

    @property
    def _answers(self) -> Literal["replayed", "resumed", "shared"]:
        """Where answers that were not asked for now came from: shown beside their number."""
        if self.settings.cassette is not None:
            return "replayed"
        return "resumed" if self.settings.resume else "shared"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._collection_errors += report.failed

    # Inside of the terminal's, whose summary shows what is found here, whenever this was registered.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        if self._is_worker:
            told = _Told(
                self.unclaimed,
                self.misnamed,
                self.problems,
                self.answers_recorded,
                self.asking.spent_apart,
                self.shard,
            )
            self.config.workeroutput["tooleval"] = msgspec.to_builtins(told)  # type: ignore[attr-defined]
        no_tests = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if no_tests and self.shard is not None and self.shard.cases:
            session.exitstatus = pytest.ExitCode.OK  # more shards than cases
        try:
            return (yield)
        finally:
            self.asking.close()
            self._exitstatus = int(session.exitstatus)
            if not self._exitstatus and not self._ended:
                # A second Ctrl-C, before pytest had noted the first.
                self._exitstatus = int(pytest.ExitCode.INTERRUPTED)
            if not self._is_worker and _evaluates(self.config):
                self._leave(session)

    def _leave(self, session: pytest.Session) -> None:
        """Write the files; and end the history, even if Ctrl-C interrupts that."""
        try:
            self._write_files(session)
            if self.events is not None:
                self.events.reports_written(self.settings.reports, self.unwritten)
        finally:
            self._exitstatus = int(session.exitstatus) or self._exitstatus
            if self.keeper is not None:
                self.keeper.finish(self.about(), self.verdict.gates, self.verdict.comparison)

    def judge(self, session: pytest.Session) -> None:
        """Judge the gates and the baseline of a run that came to its end.

        In the loop of the tests, so that pytest makes the exit code of what failed here and tells it to
        all plugins.
        """
        if not self._is_worker and not self.settings.estimate and _evaluates(self.config):
            self._judge(session)
        self._ended = True

    def _judge(self, session: pytest.Session) -> None:
        settings = self.settings
        self.verdict = self._verdict_on(self.rows if settings.gates or settings.baseline else [])
        for finding in self.verdict.findings:
            report_finding(session, finding)
        if settings.shard or any(gate.failed for gate in self.verdict.gates):
            remember_tolerated(session, [kept.row.nodeid for kept in self.tolerated])
        if self.events is not None:
            self.events.judged(self.verdict.gates, self.verdict.comparison)

    def _undecided(self, rows: Sequence[CaseRow]) -> set[str]:
        """With --tooleval-trials=auto: the cases whose verdict more trials may decide."""
        verdict = self._verdict_on(rows)
        found = undecided(rows, verdict.gates, verdict.comparison)
        for tell in self.on_step:
            tell(len(found))
        return found

    def _verdict_on(self, rows: Sequence[CaseRow]) -> RunVerdict:
        settings = self.settings
        return judge(
            rows,
            self.about(),
            settings.gates,
            settings.baseline,
            strict=settings.strict,
            looks=settings.looks,
            misnamed=self.misnamed,
            suites=suites_in(self.config.rootpath, self.suites),
        )

    @property
    def unjudged(self) -> bool:
        """Whether there is something to judge, and the run ended before that."""
        asked = bool(self.settings.gates or self.settings.baseline)
        return asked and bool(self.cases) and not self._ended

    @cached_property
    def _writes_files(self) -> bool:
        return bool(self.settings.reports) or on_github(self.settings.github)

    def _write_files(self, session: pytest.Session) -> None:
        if not self._writes_files:
            return
        document = self.whole_document()
        trends = None
        if self.keeper is not None and self.settings.writes("html"):
            trends = self.keeper.trends(document)
        others = self.config.pluginmanager.hasplugin("pytest_github_actions_annotate_failures")
        self.unwritten, self.annotations = leave(
            document,
            self.settings.reports,
            trends,
            self.config.rootpath,
            github=bool(self.cases) and on_github(self.settings.github),
            failures=not others,
        )
        if self.unwritten:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR


def _evaluates(config: pytest.Config) -> bool:
    """Whether this run is one: what only shows the tests or their fixtures judges and keeps nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def _will_run(session: pytest.Session) -> bool:
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return _evaluates(session.config) and not failed
