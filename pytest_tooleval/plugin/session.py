"""The state of pytest-tooleval in one pytest process: its settings, results, gates and files."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import Literal

import msgspec
import pytest

from .. import __version__
from ..engine.garbage import collect_seldom
from ..errors import ToolevalError
from ..record.comparison import Comparison
from ..record.document import Document
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.results import CaseResult
from ..record.results import CaseRow
from ..record.results import KeptCase
from ..record.run import AskedModel
from ..record.run import Git
from ..record.run import Run
from ..record.run import Spent
from ..record.run import new_run_id
from ..text import counted
from ..verdicts.summary import file_order
from ..verdicts.summary import rows_document
from ..verdicts.summary import whole_document
from .asking import Asking
from .asking import is_skipped
from .events import EventStream
from .history import Keeper
from .items import CaseItem
from .logs import keep_keys_out_of_logs
from .options import given_options
from .outputs import on_github
from .outputs import tell_github
from .outputs import write_files
from .recorded import RecordedRuns
from .settings import Settings
from .suites import warn_of
from .verdicts import compare_run
from .verdicts import judge_run
from .verdicts import remember_tolerated
from .verdicts import report_verdict
from .verdicts import undecided


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
        # Called after each round of --tooleval-trials=auto with the number of cases without a verdict.
        self.on_round: list[Callable[[int], None]] = []
        self.cases: dict[str, KeptCase] = {}
        self.selected = 0
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self.gates: list[Gate] = []
        self.comparison: Comparison | None = None
        runs = settings.recorded
        self.recorded = None if runs is None else RecordedRuns(runs)
        self.unclaimed_elsewhere: list[str] | None = None
        self.misnamed_elsewhere: list[str] | None = None
        self.damaged_elsewhere: dict[str, list[int]] = {}
        self._spent_elsewhere: dict[str, Spent] = {}
        self.events: EventStream | None = None
        self._judged = False
        self._checked: set[Path] = set()
        self._collection_errors = 0
        self._exitstatus: int | None = None
        self._started = datetime.now(timezone.utc)
        # The name of this run in the history and in its document.
        self.id = new_run_id(self._started)
        self._begin = time.monotonic()
        self.keeper: Keeper | None = None
        if settings.history and not self._is_worker and _evaluates(config):
            self.keeper = Keeper(config.rootpath, self.about)

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Ask ahead for everything selected; at the end cancel what is still under way."""
        self.selected = self.selected or sum(isinstance(item, CaseItem) for item in session.items)
        try:
            # A worker of xdist has everybody's items and learns only one by one which are its own.
            if not self._is_worker and _will_run(session) and not self.settings.estimate:
                self.asking.require_keys(session.items)
                for item in session.items:
                    self.asking.ahead(item)
            yield
        finally:
            collect_seldom(False)
            self.asking.close()

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
                reporter.write_line(f"a first round of --tooleval-trials=auto; up to {most} trials each")
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        # Other tests may look at the collector.
        collect_seldom(isinstance(item, CaseItem))
        if self._is_worker:
            self.asking.next(item, nextitem)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        # Only now, when there are answers to wait for.
        if isinstance(item, CaseItem) and item.path not in self._checked:
            self._checked.add(item.path)
            warn_of(item.path, item.origin.suite)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, CaseItem):
            item.attach(report, call)
        return report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.asking.drop(nodeid)

    def _waited(self, seconds: float) -> None:
        if self.events is not None:
            self.events.waited(len(self.cases), self.asking.answered)

    @property
    def unclaimed(self) -> list[str]:
        """What to say of recorded runs that belong to no case; each worker has met all cases."""
        if self.unclaimed_elsewhere is not None:
            return self.unclaimed_elsewhere
        return self.recorded.left() if self.recorded else []

    @property
    def misnamed(self) -> list[str]:
        """Recorded runs that name a case which no suite of this run has."""
        if self.misnamed_elsewhere is not None:
            return self.misnamed_elsewhere
        return self.recorded.misnamed() if self.recorded else []

    @property
    def damaged_cassettes(self) -> dict[str, list[int]]:
        """Line numbers that could not be read, per cassette file; of all workers together."""
        return {**self.damaged_elsewhere, **self.asking.damaged}

    def add_spent(self, spent: dict[str, Any]) -> None:
        """Count what a worker on another machine has spent."""
        for model, more in msgspec.convert(spent, dict[str, Spent]).items():
            self._spent_elsewhere[model] = self._spent_elsewhere.get(model, Spent()) + more

    @property
    def spent(self) -> dict[str, Spent]:
        """What was spent on each model, by all processes."""
        spent = self.asking.spent
        for model, more in self._spent_elsewhere.items():
            spent[model] = spent.get(model, Spent()) + more
        return spent

    def add(self, json: bytes) -> None:
        """Keep a case by the JSON of its result; the last one of a case that was run again holds."""
        kept = KeptCase(msgspec.json.decode(json, type=CaseRow), json)
        self.cases[kept.row.nodeid] = kept
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
        return [kept.row for kept in self._in_order()]

    def _in_order(self) -> list[KeptCase]:
        order = file_order(spec.label for spec in self.settings.models)
        return sorted(self.cases.values(), key=lambda kept: order(kept.row))

    @property
    def tolerated(self) -> list[KeptCase]:
        """What did not pass and does not fail the run, other than by xfail."""
        return [kept for kept in self._in_order() if kept.row.tolerated and not kept.row.was_expected]

    def document(self) -> RowsDocument:
        """The results so far without transcripts and explanations."""
        return rows_document(self.about(), self.rows, self.gates, self.comparison)

    def whole_document(self) -> Document:
        """The results so far."""
        decoder = msgspec.json.Decoder(CaseResult)
        cases = [decoder.decode(kept.json) for kept in self._in_order()]
        return whole_document(self.about(), cases, self.gates, self.comparison)

    def about(self) -> Run:
        """What the result document and the history say of the run itself."""
        return Run(
            id=self.id,
            started=self._started.isoformat(timespec="seconds"),
            duration_s=round(time.monotonic() - self._begin, 3),
            pytest_tooleval=__version__,
            pytest=pytest.__version__,
            python=platform.python_version(),
            exitstatus=self._exitstatus,
            collection_errors=self._collection_errors,
            max_cost_usd=self.settings.max_cost,
            spent=self.spent,
            answers=self._answers,
            models=tuple(AskedModel(spec.label, spec.identity) for spec in self.settings.models),
            options=given_options(self.config),
            git=self._git,
            selected=self.selected,
            partial=self._partial,
        )

    @property
    def _partial(self) -> bool:
        """Whether some case of a suite was not selected, or did not come to its turn."""
        ran: dict[tuple[str, str], int] = {}
        whole: dict[tuple[str, str], int] = {}
        # A copy: the thread that keeps the history asks, too.
        for kept in list(self.cases.values()):
            key = kept.row.file, kept.row.model
            ran[key] = ran.get(key, 0) + 1
            whole[key] = kept.row.suite_cases
        return any(ran[key] < cases for key, cases in whole.items())

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
            damaged = self.asking.damaged
            self.config.workeroutput["tooleval_damaged"] = damaged  # type: ignore[attr-defined]
            self.config.workeroutput["tooleval_unclaimed"] = self.unclaimed  # type: ignore[attr-defined]
            self.config.workeroutput["tooleval_misnamed"] = self.misnamed  # type: ignore[attr-defined]
            self.config.workeroutput["tooleval_spent"] = self.asking.spent_apart  # type: ignore[attr-defined]
        try:
            return (yield)
        finally:
            self.asking.close()
            self._exitstatus = int(session.exitstatus)
            if not self._is_worker and _evaluates(self.config):
                self._write_files(session)
                if self.events is not None:
                    self.events.files_written(self.settings.files, self.unwritten)
                self._exitstatus = int(session.exitstatus)
                if self.keeper is not None:
                    self.keeper.finish(self.about(), self.gates, self.comparison)

    def judge(self, session: pytest.Session) -> None:
        """Judge the gates and the baseline of a run that came to its end.

        In the loop of the tests, so that pytest makes the exit code of what failed here and tells it to
        all plugins.
        """
        if self._is_worker or self.settings.estimate or not _evaluates(self.config):
            return
        self._judged = True
        rows = self.rows if self.settings.gates or self.settings.baseline else []
        self.gates = judge_run(rows, self.settings)
        try:
            self.comparison = self._compared(rows)
        except ToolevalError as error:  # a model of --tooleval-baseline-model that has no case here
            report_verdict(session, "baseline", str(error))
        for gate in self.gates:
            if gate.verdict != "passed":
                report_verdict(session, f"gate {gate.name}", gate.message, failed=gate.failed)
        if self.gates and self.misnamed:
            first, *more = self.misnamed
            others = f" (and {counted(len(more), 'more run')})" if more else ""
            message = f"recorded runs are missing in what the gates judged: {first}{others}"
            report_verdict(session, "recorded runs", message)
        if any(gate.failed for gate in self.gates):
            remember_tolerated(session, rows)
        if self.comparison is not None and self.comparison.verdict != "passed":
            failed = self.comparison.failed
            report_verdict(session, "baseline", self.comparison.message, failed=failed)
        if self.events is not None:
            self.events.judged(self.gates, self.comparison)

    def _compared(self, rows: Sequence[CaseRow]) -> Comparison | None:
        return compare_run(rows, self.about(), self.settings, self.config.rootpath / ".tooleval")

    def _undecided(self, rows: Sequence[CaseRow]) -> set[str]:
        """With --tooleval-trials=auto: the cases whose verdict more trials may decide."""
        try:
            comparison = self._compared(rows)
        except ToolevalError:
            comparison = None  # said in the end
        found = undecided(rows, judge_run(rows, self.settings), comparison)
        for tell in self.on_round:
            tell(len(found))
        return found

    @property
    def unjudged(self) -> bool:
        """Whether there is something to judge, and the run ended before that."""
        asked = bool(self.settings.gates or self.settings.baseline)
        return asked and bool(self.cases) and not self._judged

    def _write_files(self, session: pytest.Session) -> None:
        github = on_github(self.settings.github) and bool(self.cases)
        if not self.settings.files and not github:
            return
        document = self.whole_document()
        trends = None
        if self.keeper is not None and "html" in self.settings.files:
            trends = self.keeper.trends(document)
        self.unwritten = write_files(self.settings.files, document, trends)
        if github:
            manager = self.config.pluginmanager
            others = manager.hasplugin("pytest_github_actions_annotate_failures")
            try:
                self.annotations = tell_github(document, self.config.rootpath, failures=not others)
            except OSError as error:
                self.unwritten.append(f"GITHUB_STEP_SUMMARY: cannot be written: {error.strerror}")
        if self.unwritten:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR


def _evaluates(config: pytest.Config) -> bool:
    """Whether this run is one: what only shows the tests or their fixtures judges and keeps nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def _will_run(session: pytest.Session) -> bool:
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return _evaluates(session.config) and not failed
