"""The state of a run so far, and its observers."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

import msgspec
import pytest
from msgspec import Struct

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
from ..reports.outputs import on_github
from ..verdicts.run import RunVerdict
from ..verdicts.summary import file_order
from ..verdicts.summary import kept_document
from ..verdicts.summary import ran_partly
from ..verdicts.summary import rows_document
from .case_queue import CaseQueue
from .settings import Settings
from .started import run_started
from .transcripts import GivenTranscripts

if TYPE_CHECKING:
    from ..reports.outputs import Report
    from ..suite.model import Suite


class Observer:
    """What follows a run: it overrides what it wants to be told."""

    def planned(self, lines: Sequence[str]) -> None:
        """Nothing has been asked yet; these lines say what the gates can decide."""

    def waited(self, seconds: float) -> None:
        """An answer has not come for so long."""

    def stepped(self, undecided: int) -> None:
        """A step of --tooleval-trials=auto left so many cases without a verdict."""

    def case_done(self, case: KeptCase) -> None:
        """A case has its result, or another one after it was run again."""

    def judged(self) -> None:
        """All cases are done, and the verdict on the run is there."""

    def finished(self) -> None:
        """The run is over, whether or not it came to its end."""


class WorkerSummary(Struct, frozen=True):
    """What a worker of xdist sends to the controller at its end.

    Each is of the whole run, except `problems`, `recorded` and the part of `spent` that it could not
    note in the ledger.
    """

    unclaimed: list[str]
    misnamed: list[str]
    unapplied: list[str]
    problems: list[str]
    recorded: int
    spent: Mapping[str, Spent]
    shard: Shard | None


class RunState:
    """What is known of a run. The controller of xdist learns it from its workers."""

    def __init__(self, config: pytest.Config, settings: Settings, queue: CaseQueue) -> None:
        self.config = config
        # The settings of the whole run; `queue.settings` are this process' part of them.
        self.settings = settings
        self.queue = queue
        self.cases: dict[str, KeptCase] = {}
        # Each by its file, as in the results. The controller of xdist collects none.
        self.suites: dict[str, Suite] = {}
        self.selected = 0
        # Each variant with the file and id of the cases that it applies to, of all that were collected,
        # and those variants that apply to no selected case; workers of xdist all know all.
        self.applied: dict[str, set[tuple[str, str]]] = {}
        self.unapplied: list[str] = []
        self.shard: Shard | None = None
        self.verdict = RunVerdict()
        runs = settings.transcripts
        self.transcripts = None if runs is None else GivenTranscripts(runs)
        # Transcripts without a case, and those of them that name one; workers of xdist all have met all.
        self.unclaimed: list[str] = []
        self.misnamed: list[str] = []
        self.workers: list[WorkerSummary] = []
        self.collection_errors = 0
        self.tests_failed: int | None = None
        # Whether all tests were run; without, whatever ends the run is no verdict on it.
        self.is_complete = False
        self.exitstatus: int | None = None
        # What observers left behind, and could not.
        self.reports: Sequence[Report] = ()
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self.unsaved = ""
        self.is_saved = False
        self._started = run_started(config)
        self._begin = time.monotonic()
        # The name of this run in the history and in its document.
        self.id = new_run_id(self._started)

    def add(self, case: KeptCase) -> None:
        """Keep the result of a case. Only reports and failure output read the whole result again."""
        is_read = self.is_reported or case.row.outcome != "passed"
        self.cases[case.row.nodeid] = case if is_read else KeptCase(case.row)

    @cached_property
    def collected(self) -> list[Suite]:
        """The suites that the command line names; variants take tools of them."""
        from .suites import collected

        return collected(self.config)

    @cached_property
    def is_reported(self) -> bool:
        """Whether files, or GitHub, get the results."""
        return bool(self.settings.reports) or on_github(self.settings.github)

    @property
    def summary(self) -> object:
        """What the controller of xdist needs of this worker."""
        summary = WorkerSummary(
            self.unclaimed,
            self.misnamed,
            self.unapplied,
            self.problems,
            self.answers_recorded,
            self.queue.spent_apart,
            self.shard,
        )
        return msgspec.to_builtins(summary)

    def take_over(self, summary: Mapping[str, Any]) -> None:
        """Keep what a worker of xdist sent."""
        worker = msgspec.convert(summary, WorkerSummary)
        self.workers.append(worker)
        self.unclaimed, self.misnamed = worker.unclaimed, worker.misnamed
        self.unapplied = worker.unapplied
        self.shard = worker.shard or self.shard

    @property
    def problems(self) -> list[str]:
        """A line for each thing that was wrong in any process, and ended no run."""
        elsewhere = (line for worker in self.workers for line in worker.problems)
        return list(dict.fromkeys([*elsewhere, *self.queue.problems]))

    @property
    def answers_recorded(self) -> int:
        """How many answers the run has added to its cassette."""
        return self.queue.recorded + sum(worker.recorded for worker in self.workers)

    @property
    def spent(self) -> dict[str, Spent]:
        """What was spent on each model, by all processes."""
        return add_up(self.queue.spent, *(worker.spent for worker in self.workers))

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
        """What did not pass and does not fail the run, other than by xfail or under a variant."""
        chosen = (kept for kept in self.cases.values() if kept.row.tolerated and not kept.row.variant)
        return self._in_order(kept for kept in chosen if not kept.row.was_expected)

    @property
    def is_unjudged(self) -> bool:
        """Whether there is something to judge, and the run ended before that."""
        asked = bool(self.settings.gates or self.settings.baseline)
        return asked and bool(self.cases) and not self.is_complete

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
            exitstatus=self.exitstatus,
            collection_errors=self.collection_errors,
            tests_failed=self.tests_failed,
            max_cost_usd=self.settings.max_cost,
            spent=self.spent,
            answers=self._answers,
            models=tuple(AskedModel(spec.label, spec.identity) for spec in self.settings.models),
            options=dict(self.settings.options),
            git=self._git,
            selected=self.selected,
            unapplied=tuple(self.unapplied),
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


def evaluates(config: pytest.Config) -> bool:
    """False with --collect-only and --setup-only, which evaluate and keep nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def will_run(session: pytest.Session) -> bool:
    """Whether the tests of a session will be run, as pytest does without errors of the collection."""
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return evaluates(session.config) and not failed
