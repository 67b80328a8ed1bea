"""What one pytest process keeps during a run: the engine, the trials under way, the results."""

from __future__ import annotations

import concurrent.futures
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar
from typing import Union

import pytest

from .. import __version__
from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.folders import last_run
from ..engine.cassettes.folders import make_room
from ..engine.cassettes.folders import new_run
from ..engine.cassettes.replay import recorded
from ..engine.garbage import Relief
from ..engine.garbage import libraries_left_at_exit
from ..engine.garbage import seldom_collected
from ..engine.limits.spending import Budget
from ..engine.models.spec import LEXICAL
from ..engine.runner import Answer
from ..engine.runner import Runner
from ..engine.runner import Trial
from ..engine.runner import settled
from ..errors import ModelError
from ..errors import ToolevalError
from ..record.encoding import to_json
from ..record.transcript import Transcript
from ..reports.document import build_document
from ..rows import unpack
from ..suite.discovery import SUITE_ENDING
from .history import Keeper
from .logs import keep_keys_out_of_logs
from .options import given_options
from .outputs import on_github
from .outputs import tell_github
from .outputs import write_files
from .settings import Settings
from .verdicts import compare_run
from .verdicts import fail_run
from .verdicts import judge_run
from .verdicts import remember_misses
from .workers import lookahead
from .workers import queued
from .workers import worker_count
from .workers import worker_settings

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import RecordMode
    from .collection import CaseItem
    from .events import EventStream

_TICK_S = 0.25
# The queue of a worker is looked through only once this part of what it asks ahead has been used.
_PART = 8

_T = TypeVar("_T")

# The futures of a case's trials; or the one of all of them, when asking may stop early.
Pending = Union[list["concurrent.futures.Future[Transcript]"], "concurrent.futures.Future[list[Answer]]"]


class EvalSession:
    """One per process; under xdist each worker has its own, and the controller only collects rows."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._is_worker = hasattr(config, "workerinput")
        # The settings of the whole run; `settings` are this process' part of them.
        self.whole = settings
        if self._is_worker:
            settings = worker_settings(config, settings)
        keep_keys_out_of_logs(config)
        self.config = config
        self.settings = settings
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.on_wait: Callable[[float], None] = lambda waited_s: None
        self.events: EventStream | None = None
        self.asked = 0
        self._known: list[pytest.Item] = []
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self.gates: list[dict[str, Any]] = []
        self.comparison: dict[str, Any] | None = None
        self._judged = False
        self._collection_errors = 0
        self._exitstatus: int | None = None
        self._relief = Relief()
        self._runner: Runner | None = None
        self._pending: dict[str, Pending] = {}
        self._cassettes: dict[Path, Cassette] = {}
        self.damaged_elsewhere: dict[str, list[int]] = {}
        self._started = datetime.now(timezone.utc)
        self._begin = time.monotonic()
        self.keeper: Keeper | None = None
        if settings.history and not self._is_worker and _evaluates(config):
            self.keeper = Keeper(config.rootpath, self.about)

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Ask ahead for everything selected; at the end cancel what is still under way."""
        try:
            # A worker of xdist has everybody's items and learns only one by one which are its own.
            with seldom_collected():
                if not self._is_worker and _will_run(session) and not self.settings.estimate:
                    for item in session.items:
                        self._ask_ahead(item)
            yield
        finally:
            self._relief.switch(False)
            self.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """With --tooleval-estimate, show what the selected cases would ask and cost, and run nothing."""
        if not self.settings.estimate or not _will_run(session):
            return None
        from ..engine.estimate import estimate
        from .collection import CaseItem
        from .estimate_table import write_estimate

        chosen = [item for item in session.items if isinstance(item, CaseItem) and not _is_skipped(item)]
        rows = estimate((i.case, i.spec, self.cassette_for(i.path)) for i in chosen if i.spec)
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            write_estimate(reporter, rows)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        from .collection import CaseItem

        # Other tests may look at the collector, or through it.
        self._relief.switch(isinstance(item, CaseItem))
        if self._is_worker:
            self._known = [item] if nextitem is None else [item, nextitem]
            self._ask_queued()

    def _ask_queued(self) -> None:
        """In a worker of xdist: ask ahead for what it has been given so far."""
        told = self._known
        most = lookahead(self.settings.concurrency)
        if len(self._pending) <= most - most // _PART:
            told = [*told, *queued(self.config, told[0].session.items, most)]
        for item in told:
            self._ask_ahead(item)

    def _ask_ahead(self, item: pytest.Item) -> None:
        from .collection import CaseItem

        if not isinstance(item, CaseItem) or item.nodeid in self._pending or item.runs:
            return
        if not _is_skipped(item):
            self._submit(item)

    def _submit(self, item: CaseItem) -> Pending:
        assert item.spec is not None
        # A rerun by pytest-rerunfailures wants a new answer, not the recorded one again.
        fresh, item.runs = item.runs > 0, item.runs + 1
        # The baseline is not kept: asking it costs nothing.
        cassette = None if item.spec.model == LEXICAL else self.cassette_for(item.path)
        live = item.origin.live
        trials = [
            Trial(item.case, item.spec, number, self.asked + number, cassette, fresh, live)
            for number in range(item.case.trials)
        ]
        self.asked += len(trials)
        pending: Pending
        if self.settings.early_stop and len(trials) > 1:
            pending = self.runner.submit_until(trials, item.further_trials)
        else:
            pending = [self._begin_trial(trial) for trial in trials]
        self._pending[item.nodeid] = pending
        return pending

    def _begin_trial(self, trial: Trial) -> concurrent.futures.Future[Transcript]:
        if trial.cassette is not None and not trial.fresh:
            try:
                found = recorded(trial.case, trial.model, trial.cassette, trial.number)
            except ModelError:
                found = None  # a cassette that cannot be read; asking says so
            if found is not None:
                done: concurrent.futures.Future[Transcript] = concurrent.futures.Future()
                done.set_result(found)
                return done
        return self.runner.submit(trial)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        from .collection import CaseItem

        report = yield
        if isinstance(item, CaseItem):
            item.attach(report, call)
        return report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Nobody takes the answers of a case that something else skipped or failed."""
        for future in _futures(self._pending.pop(nodeid, [])):
            future.cancel()

    def take(self, item: CaseItem) -> list[Answer]:
        """The answer to each trial of a case, waited for; asks now if nobody has asked ahead."""
        pending = self._pending.pop(item.nodeid, None) or self._take_submitted(item)
        try:
            if not isinstance(pending, list):
                waited = self.wait(pending)
                return [waited] if isinstance(waited, ModelError) else waited
            return list(map(self.wait, pending))
        except BaseException:
            # Ctrl-C, or a time-out plugin: nobody will come back for these.
            for future in _futures(pending):
                future.cancel()
            raise

    def _take_submitted(self, item: CaseItem) -> Pending:
        self._submit(item)
        return self._pending.pop(item.nodeid)

    def wait(self, future: concurrent.futures.Future[_T]) -> _T | ModelError:
        """Wait in short steps, so that Ctrl-C is seen everywhere and a heartbeat can be shown."""
        begin = time.monotonic()
        while not future.done() and not concurrent.futures.wait([future], timeout=_TICK_S).done:
            if self._known:
                self._ask_queued()
            self.on_wait(time.monotonic() - begin)
            if self.events is not None:
                self.events.waited(len(self.rows), self._answered)
        return settled(future)

    @property
    def waiting(self) -> int:
        """Cases asked ahead that nobody has taken yet."""
        return len(self._pending)

    @property
    def _answered(self) -> int:
        """Those of them whose answers have all come."""
        return sum(all(f.done() for f in _futures(each)) for each in self._pending.values())

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            settings = self.settings
            libraries_left_at_exit()
            self._runner = Runner(settings.concurrency, settings.timeout_s, budget=self._budget())
        return self._runner

    def _budget(self) -> Budget:
        most = self.settings.max_cost
        if most is None or not self._is_worker:
            return Budget(most)
        if self.ledger.parent.is_dir():
            return Budget(most, self.ledger)
        # A worker on another machine cannot share the file; it may spend its part.
        return Budget(most / worker_count(self.config))

    @cached_property
    def ledger(self) -> Path:
        """The file in which all processes of a run note what they spend."""
        if self._is_worker:
            return Path(self.config.workerinput["tooleval_ledger"])  # type: ignore[attr-defined]
        return Path(tempfile.mkdtemp(prefix="tooleval-")) / "spent"

    def cassette_for(self, suite_path: Path) -> Cassette | None:
        """Where a suite's answers are kept: its path below the root folder, inside that folder."""
        if suite_path not in self._cassettes:
            root = self.config.rootpath
            below = suite_path.relative_to(root) if suite_path.is_relative_to(root) else suite_path.name
            name = str(below).removesuffix(SUITE_ENDING) + ".jsonl"
            folder, record = self._kept
            if folder is None:
                return None
            before = self._recorded_before
            existed = None if before is None else str(folder / name) in before
            self._cassettes[suite_path] = Cassette(folder / name, record, existed)
        return self._cassettes[suite_path]

    @cached_property
    def _kept(self) -> tuple[Path | None, RecordMode]:
        """The folder of this run's answers: the cassettes, else the run's own below `.tooleval`."""
        if self.settings.cassette is not None:
            return self.settings.cassette, self.settings.record
        if self._is_worker:
            folder = Path(self.config.workerinput["tooleval_answers"])  # type: ignore[attr-defined]
        else:
            folder = answers_folder(self.config, self.settings)
        try:
            make_room(self.config.rootpath)
        except OSError as error:
            self.config.issue_config_time_warning(
                pytest.PytestWarning(f"answers are not kept, so this run cannot be resumed: {error}"), 2
            )
            return None, "new"
        return folder, "new"

    @property
    def _recorded_before(self) -> list[str] | None:
        """In a worker, the cassettes that were there before the run; None where it can look itself."""
        worker: dict[str, Any] = getattr(self.config, "workerinput", {})
        return worker.get("tooleval_recorded")

    @property
    def damaged_cassettes(self) -> dict[str, list[int]]:
        """Line numbers that could not be read, per cassette file; of all workers together."""
        own = {str(c.path): list(c.damaged) for c in self._cassettes.values() if c.damaged}
        return {**self.damaged_elsewhere, **own}

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Keep a case's packed result; the last one of a case that was run again holds."""
        self.rows[row["nodeid"]] = row
        if self.keeper is not None:
            self.keeper.add(row)
        if self.events is not None:
            self.events.case_done(to_json(unpack(row)))

    def document(self, *, whole: bool = True) -> dict[str, Any]:
        """The result document of the run so far; if not `whole`, without transcripts and scores."""
        order = {spec.label: number for number, spec in enumerate(self.settings.models)}

        def place(row: Mapping[str, Any]) -> tuple[str, int, int]:
            return row["file"], row["position"], order.get(row["model"], len(order))

        # In the order of the files, however the workers of xdist came to report.
        rows = sorted(self.rows.values(), key=place)
        return build_document(
            self.about(),
            map(unpack, rows) if whole else rows,
            self.gates,
            self.comparison,
            intervals=whole,
        )

    def about(self) -> dict[str, Any]:
        """What the result document and the history say of the run itself."""
        return {
            "id": self.id,
            "started": self._started.isoformat(timespec="seconds"),
            "duration_s": round(time.monotonic() - self._begin, 3),
            "pytest_tooleval": __version__,
            "pytest": pytest.__version__,
            "python": platform.python_version(),
            "exitstatus": self._exitstatus,
            "collection_errors": self._collection_errors,
            "max_cost_usd": self.settings.max_cost,
            "answers": self._answers,
            "models": [{"model": spec.label, "calls": spec.identity} for spec in self.settings.models],
            "options": given_options(self.config),
            "git": self._git,
            "partial": self._partial,
        }

    @property
    def _partial(self) -> bool:
        """Whether some case of a suite was not selected, or did not come to its turn."""
        ran: dict[tuple[str, str], int] = {}
        whole: dict[tuple[str, str], int] = {}
        for row in list(self.rows.values()):
            key = row["file"], row["model"]
            ran[key] = ran.get(key, 0) + 1
            whole[key] = row["suite_cases"]
        return any(ran[key] < cases for key, cases in whole.items())

    @cached_property
    def id(self) -> str:
        """The name of this run in the history and in its document."""
        from ..history import new_run_id

        return new_run_id(self._started)

    @cached_property
    def _git(self) -> dict[str, Any] | None:
        from ..history import git_state

        return git_state(self.config.rootpath)

    @property
    def _answers(self) -> str:
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
            damaged = self.damaged_cassettes
            self.config.workeroutput["tooleval_damaged"] = damaged  # type: ignore[attr-defined]
        try:
            return (yield)
        finally:
            self.close()
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
        rows = list(self.rows.values())
        self.gates = judge_run(rows, self.settings)
        try:
            store = self.config.rootpath / ".tooleval"
            self.comparison = compare_run(rows, self.about(), self.settings, store)
        except ToolevalError as error:  # a model of --tooleval-baseline-model that has no case here
            fail_run(session, "baseline", str(error))
        for gate in self.gates:
            if not gate["passed"]:
                fail_run(session, f"gate {gate['name']}", gate["message"])
        if not all(gate["passed"] for gate in self.gates):
            remember_misses(session, rows)
        if self.comparison is not None and self.comparison["failed"]:
            fail_run(session, "baseline", self.comparison["message"])
        if self.events is not None:
            self.events.judged(self.gates, self.comparison)

    @property
    def unjudged(self) -> bool:
        """Whether there is something to judge, and the run ended before that."""
        asked = bool(self.settings.gates or self.settings.baseline)
        return asked and bool(self.rows) and not self._judged

    def _write_files(self, session: pytest.Session) -> None:
        github = on_github(self.settings.github) and bool(self.rows)
        if not self.settings.files and not github:
            return
        document = self.document()
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

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self._pending.clear()
        if not self._is_worker and "ledger" in vars(self):
            shutil.rmtree(self.ledger.parent, ignore_errors=True)


def _evaluates(config: pytest.Config) -> bool:
    """Whether this run is one: what only shows the tests or their fixtures judges and keeps nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def _futures(pending: Pending) -> Sequence[concurrent.futures.Future[Any]]:
    return pending if isinstance(pending, list) else [pending]


def _is_skipped(item: pytest.Item) -> bool:
    """Whether a case may not run. One with a `skipif` that does not hold is asked in its turn."""
    names = {mark.name for mark in item.iter_markers()}
    never_run = any(mark.kwargs.get("run") is False for mark in item.iter_markers("xfail"))
    return bool(names & {"skip", "skipif"}) or never_run


def answers_folder(config: pytest.Config, settings: Settings) -> Path:
    """Where this run keeps its answers: with --tooleval-resume, where the last run did."""
    return (settings.resume and last_run(config.rootpath)) or new_run(config.rootpath)


def _will_run(session: pytest.Session) -> bool:
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return _evaluates(session.config) and not failed
