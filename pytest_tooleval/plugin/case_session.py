"""Hooks for a process that collects cases: select them, send requests ahead, run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import pytest
from msgspec import structs

from ..run.facts import Part
from ..run.given import GivenTranscripts
from ..run.nodeids import split_nodeid
from ..run.unknown import unknown_scope
from ..settings.parts import Settings
from ..suite.model import Suite
from ..text import printable
from .case_queue import CaseQueue, is_skipped
from .garbage import leave_memory_at_exit, leave_out_what_is_there
from .items import CaseItem
from .no_model import missing_model, path_of_cases
from .output import clean_sections
from .settings import USAGE_ERROR
from .started import evaluates, will_run
from .state import Session
from .suites import SuiteWarnings, collected


class CaseSession:
    """The cases of one process. Each xdist worker has its own; the controller has none."""

    def __init__(self, config: pytest.Config, settings: Settings, session: Session) -> None:
        self.config = config
        self.settings = settings
        self.queue = CaseQueue(config, settings, waited=session.waited, undecided=session.undecided)
        # By file, as in the results.
        self.suites: dict[str, Suite] = {}
        # For each variant, the file and id of every collected case that it applies to.
        self.applied: dict[str, set[tuple[str, str]]] = {}
        given = settings.asking.transcripts
        self.transcripts = None if given is None else GivenTranscripts(given)
        self._is_worker = hasattr(config, "workerinput")
        self._session = session
        self._known = Part()
        self._warnings = SuiteWarnings()

    @property
    def part(self) -> Part:
        """What this process knows of the run."""
        return structs.replace(
            self._known,
            problems=(*self.queue.asker.problems, *self.queue.cassettes.problems),
            recorded=self.queue.cassettes.recorded,
            spent=self.queue.spent_apart,
        )

    @cached_property
    def collected(self) -> list[Suite]:
        """The suites that the command line names; variants borrow their tools."""
        return collected(self.config)

    # Wraps --lf and all other plugins that select items.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        settings, cases = self.settings, [item for item in items if isinstance(item, CaseItem)]
        # Other tests may evaluate cases from suites that are not collected.
        if 0 < len(cases) == len(items):
            self._refuse(items, unknown_scope(settings, (case.place for case in cases)))
        path = path_of_cases(config, items)
        labels = Counter(item.model for item in cases if item.job and not item.case.arm.variant)
        self._known = structs.replace(self._known, case_counts=dict(labels))
        result = yield
        if will_run(session) and any(isinstance(item, CaseItem) for item in items):
            self._refuse(items, missing_model(config, settings, path))
        self._know_selected(items)
        if settings.shard is not None:
            from .shards import keep_shard

            shard = keep_shard(config, items, settings)
            shard = structs.replace(shard, misnamed=self._known.misnamed)
            self._known = structs.replace(self._known, shard=shard)
        self._refuse(items, self.queue.unusable_cassettes(items) if evaluates(config) else "")
        return result

    def _know_selected(self, items: Sequence[pytest.Item]) -> None:
        """Note which transcripts and variants have no case among the selected ones."""
        given, known = self.transcripts, self._known
        if given is not None:
            unclaimed, misnamed = (*given.unread(), *given.left()), tuple(given.misnamed())
            known = structs.replace(known, unclaimed=unclaimed, misnamed=misnamed)
        unchanged = [each for each in items if isinstance(each, CaseItem) and not each.case.arm.variant]
        chosen = {split_nodeid(item.nodeid)[:2] for item in unchanged}
        if chosen:
            unapplied = tuple(name for name, found in self.applied.items() if not found & chosen)
            known = structs.replace(known, unapplied=unapplied)
        self._known = known

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
        facts, cases = self._session.state.facts, [i for i in session.items if isinstance(i, CaseItem)]
        facts.selected = facts.selected or sum(not item.case.arm.variant for item in cases)
        try:
            # An xdist worker has all workers' items, and learns one by one which it will run.
            if not self._is_worker and will_run(session):
                self._session.foresee(item.place for item in cases if not is_skipped(item))
                self._ask_ahead(session.items)
            # Other tests may turn existing objects into garbage, which pytest reports at the end, or
            # look at what happens at exit.
            if len(cases) == len(session.items):
                leave_out_what_is_there()
                leave_memory_at_exit()
            yield
        finally:
            self.queue.close()

    def _ask_ahead(self, items: Sequence[pytest.Item]) -> None:
        if self.settings.estimate:
            return
        self.queue.require_keys(items)
        for item in items:
            self.queue.ahead(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._is_worker:
            self.queue.next(item, nextitem)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not isinstance(item, CaseItem):
            return
        if item.job is not None and self.config.pluginmanager.hasplugin("allure_listener"):
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

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.queue.drop(nodeid)
