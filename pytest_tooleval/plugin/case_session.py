"""Hooks for a process that collects cases: select them, send requests ahead, run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from ..record.encoding import to_json
from ..record.run import Shard
from ..run.case_queue import CaseQueue
from ..run.eval_run import EvalRun
from ..run.nodeids import split_nodeid
from ..run.observers import Observer, Wait
from ..run.shards import shard_of
from ..run.transcripts import TranscriptPool
from ..run.unknown_names import unknown_scope
from ..run.worker_cases import write_for_controller
from ..settings.options import ShardNumber
from ..suite.fingerprints import fingerprint_of_bytes
from ..suite.model import Suite
from ..text import printable
from .gc_tuning import leave_memory_at_exit, leave_out_what_is_there
from .items import CaseItem, is_skipped
from .preconditions import missing_model, path_of_cases
from .processes import USAGE_ERROR, evaluates, may_ask, next_items, will_run
from .redaction import clean_sections
from .suite_warnings import SuiteWarnings
from .suites import named_suites

if TYPE_CHECKING:
    from .python_tests import PythonTests

# A worker looks through its queue again once one in this many of its requests has been used.
_ONE_IN = 8


class CaseSession(Observer):
    """The cases of one process. Each xdist worker has its own; the controller has none."""

    def __init__(self, config: pytest.Config, run: EvalRun) -> None:
        self.config = config
        self.run = run
        self.queue = CaseQueue(run)
        # For each variant, the file and id of every collected case that it applies to.
        self.applied: dict[str, set[tuple[str, str]]] = {}
        transcripts = run.settings.asking.transcripts
        self.transcripts = None if transcripts is None else TranscriptPool(transcripts)
        # In an xdist worker: the items that come next.
        self._next: list[pytest.Item] = []
        self._warnings = SuiteWarnings(run.settings.asking)
        run.observers.add(self)

    @cached_property
    def python(self) -> PythonTests:
        """The Python tests that ask, once the first one is collected."""
        from .python_tests import PythonTests

        tests = PythonTests(self.config, self.run)
        self.config.pluginmanager.register(tests, "tooleval-python-tests")
        return tests

    @cached_property
    def named_suites(self) -> list[Suite]:
        """The suites that the command line names; variants borrow their tools."""
        return named_suites(self.config)

    # Wraps --lf and all other plugins that select items.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        settings, cases = self.run.settings, _cases(items)
        if self.transcripts is not None:
            for item in cases:
                task, file = item.task, split_nodeid(item.nodeid).file
                task.transcripts = self.transcripts.of_file(file, task.transcripts or ())
        # Other tests may evaluate cases from suites that are not collected.
        if 0 < len(cases) == len(items):
            self._refuse(items, unknown_scope(settings, (item.task.on_model for item in cases)))
        path = path_of_cases(config, items)
        labels = Counter(item.model for item in cases if item.model and not item.case.variant.label)
        self.run.replace_facts(case_counts=dict(labels))
        result = yield
        missing = missing_model(config, settings, path) if will_run(session) else ""
        asking = (item for item in items if may_ask(item) and self.python.asks_model(item))
        if missing and (_cases(items) or any(asking)):
            self._refuse(items, missing)
        self._note_selected(_cases(items))
        if settings.shard is not None:
            self.run.replace_facts(shard=self._keep_shard(items, settings.shard))
        if evaluates(config):
            paths = (item.path for item in _cases(items) if item.model)
            self._refuse(items, self.run.asker.cassettes.unusable(paths))
        return result

    # Before xdist's worker tells the controller that it has collected.
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        cases = _cases(session.items)
        self.run.replace_facts(selected=sum(not item.case.variant.label for item in cases))
        process = self.run.process
        if process.is_worker:
            rows = [item.selected_case for item in cases]
            rows += [self.python.selected_case(item) for item in session.items if may_ask(item)]
            write_for_controller(process, process.number, rows)

    def _note_selected(self, cases: Sequence[CaseItem]) -> None:
        """Note which transcripts and variants have no case among the selected ones."""
        transcripts = self.transcripts
        if transcripts is not None:
            unclaimed = (*transcripts.unread(), *transcripts.left_lines())
            without_case = transcripts.without_known_case()
            self.run.replace_facts(unclaimed=unclaimed, without_known_case=without_case)
        chosen = {split_nodeid(item.nodeid)[:2] for item in cases if not item.case.variant.label}
        if chosen:
            unapplied = (name for name, applied in self.applied.items() if not applied & chosen)
            self.run.replace_facts(unapplied=tuple(unapplied))

    def _keep_shard(self, items: list[pytest.Item], shard: ShardNumber) -> Shard:
        """Deselect the cases of other shards. Other tests run in every shard."""
        cases = {item.nodeid: item for item in items if isinstance(item, CaseItem) or may_ask(item)}
        of_each = {nodeid: shard_of(nodeid, shard.of) for nodeid in sorted(cases)}
        others = [item for nodeid, item in cases.items() if of_each[nodeid] != shard.number]
        self.config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if of_each.get(item.nodeid, shard.number) == shard.number]
        rows = [[id, self._content_of(cases[id]), number] for id, number in of_each.items()]
        return Shard(
            number=shard.number,
            of=shard.of,
            cases=len(cases),
            split_fingerprint=fingerprint_of_bytes(to_json(rows)),
            judging=dict(self.run.settings.left_to_merge),
            misnamed=self.run.collected_facts.without_known_case,
        )

    def _content_of(self, item: pytest.Item) -> str:
        """The fingerprint of an item's file."""
        if isinstance(item, CaseItem):
            return item.task.origin.file_fingerprint
        return self.python.fingerprint(item.path)

    def _refuse(self, items: list[pytest.Item], problem: str) -> None:
        """End the run with a usage error if there is a problem."""
        if problem:
            items.clear()
            # A report, because xdist workers send reports on. Without xdist, it ends the run here.
            text = USAGE_ERROR + printable(problem, keep_newlines=True)
            report = pytest.CollectReport("", "failed", text, [])
            self.config.hook.pytest_collectreport(report=report)

    @contextmanager
    def running(self, session: pytest.Session) -> Iterator[None]:
        """Send all selected cases ahead; at the end, cancel those still pending."""
        run, cases = self.run, _cases(session.items)
        try:
            # An xdist worker has all workers' items, and learns one by one which it will run.
            if not run.process.is_worker and will_run(session):
                run.report_hopeless_gates(item.selected_case for item in cases)
                if not run.settings.only_estimates:
                    self._require_keys(session.items)
                    self._send(session.items)
            # Other tests may turn existing objects into garbage, which pytest reports at the end, or
            # look at what happens at exit.
            if len(cases) == len(session.items):
                leave_out_what_is_there()
                leave_memory_at_exit()
            yield
        finally:
            self.queue.close()

    def _require_keys(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError if every selected item lacks its model's key or its callable.

        If anything else can run, each case reports it instead. Recorded answers need neither.
        """
        if self.run.settings.gating.excuses_unasked:
            return
        problems: dict[str, None] = {}
        for item in items:
            if is_skipped(item):
                return
            if isinstance(item, CaseItem):
                is_given = item.task.transcripts is not None
                problem = self.run.asker.cannot_ask(item.task.job, has_answers=is_given)
            else:
                problem = self.python.cannot_ask(item) if may_ask(item) else None
            if problem is None:
                return
            problems[problem] = None
        if problems:
            raise pytest.UsageError(printable("\n".join(problems), keep_newlines=True))

    def _send(self, items: Iterable[pytest.Item]) -> None:
        for item in _cases(items):
            if not is_skipped(item):
                self.queue.ahead(item.task)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self.run.settings.only_estimates or not will_run(session):
            return None
        from .estimate_table import show_estimate

        show_estimate(self.config, self.run, _cases(session.items))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self.run.process.is_worker:
            self._next = [item] if nextitem is None else [item, nextitem]
            self._send_queued()

    def waited(self, wait: Wait) -> None:
        if self._next:  # xdist may have queued more
            self._send_queued()

    def _send_queued(self) -> None:
        """In an xdist worker: send the next items, and those queued after them so far."""
        # Enough to use all its concurrency, and no more: xdist can still move a case that is not sent
        # to another worker, without paying twice.
        items, most = self._next, max(16, 2 * self.run.settings.asking.concurrency)
        if self.queue.waiting <= most - most // _ONE_IN:
            items = [*items, *next_items(self.config, items[0].session.items, most)]
        self._send(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not isinstance(item, CaseItem):
            return
        if item.model and self.config.pluginmanager.hasplugin("allure_listener"):
            import allure

            # Without this, Allure shows other models as retries of one test.
            allure.dynamic.parameter("model", item.model)
        # Only now, after the requests were sent.
        self._warnings.before(item.path, item.task.origin.suite, item.case.id)

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

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.queue.drop(nodeid)


def _cases(items: Iterable[pytest.Item]) -> list[CaseItem]:
    return [item for item in items if isinstance(item, CaseItem)]
