"""The state of a run so far, and its observers."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest
from msgspec import Struct

from .. import __version__
from ..record.document import Document, RowsDocument
from ..record.events import Estimated
from ..record.results import CaseRow, KeptCase
from ..record.run import SCORING_VERSION, AskedModel, Git, Run, Shard, Spent, add_up, new_run_id
from ..reports.outputs import on_github
from ..verdicts.run import RunVerdict
from ..verdicts.summary import file_order, kept_document, ran_partly, rows_document
from .case_queue import CaseQueue
from .settings import Settings
from .started import run_started
from .transcripts import GivenTranscripts

if TYPE_CHECKING:
    from ..reports.outputs import Report
    from ..suite.model import Suite


class Observer:
    """Follows a run. Subclasses override the methods for events that they need."""

    def planned(self, lines: Sequence[str]) -> None:
        """Called before any request, with lines that report what the gates can decide."""

    def estimated(self, estimated: Estimated) -> None:
        """Called instead of a run with --tooleval-estimate."""

    def waited(self, seconds: float) -> None:
        """Called repeatedly with the seconds spent waiting for one answer."""

    def stepped(self, undecided: int) -> None:
        """Called after each step of --tooleval-trials=auto, with the number of undecided cases."""

    def case_done(self, case: KeptCase) -> None:
        """Called when a case has its result, and again after each rerun."""

    def judged(self) -> None:
        """Called when all cases are done and the run has its verdict."""

    def finished(self) -> None:
        """Called when the run is over, even if it was cut short."""


class WorkerSummary(Struct, frozen=True):
    """Sent to the controller when an xdist worker ends.

    The fields describe the whole run, except `problems` and `recorded`, which are the worker's own,
    and `spent`, which is only what it could not record in the ledger.
    """

    unclaimed: list[str]
    misnamed: list[str]
    unapplied: list[str]
    problems: list[str]
    recorded: int
    case_counts: dict[str, int]
    spent: Mapping[str, Spent]
    shard: Shard | None


class RunState:
    """The state of a run. The xdist controller gets it from its workers."""

    def __init__(self, config: pytest.Config, settings: Settings, queue: CaseQueue) -> None:
        self.config = config
        # The whole run's settings; `queue.settings` have this process's share of the limits.
        self.settings = settings
        self.queue = queue
        self.cases: dict[str, KeptCase] = {}
        # By file, as in the results. The xdist controller collects none.
        self.suites: dict[str, Suite] = {}
        self.selected = 0
        # How many cases each model has, selected or not.
        self.case_counts: dict[str, int] = {}
        # For each variant, the file and id of every collected case that it applies to; and the variants
        # that apply to no selected case. Every xdist worker has them all.
        self.applied: dict[str, set[tuple[str, str]]] = {}
        self.unapplied: list[str] = []
        self.shard: Shard | None = None
        self.verdict = RunVerdict()
        runs = settings.transcripts
        self.transcripts = None if runs is None else GivenTranscripts(runs)
        # Lines about transcripts without a case, and about those that name an unknown one. Every xdist
        # worker has them all.
        self.unclaimed: list[str] = []
        self.misnamed: list[str] = []
        self.workers: list[WorkerSummary] = []
        self.collection_errors = 0
        self.tests_failed: int | None = None
        # True once all tests have run. Until then, no end of the run is a verdict.
        self.is_complete = False
        self.exitstatus: int | None = None
        # What the observers wrote, and what they could not.
        self.reports: Sequence[Report] = ()
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self.unsaved = ""
        self.is_saved = False
        self._started = run_started(config)
        self._begin = time.monotonic()
        # The run's id in the history and in its document.
        self.id = new_run_id(self._started)

    def add(self, case: KeptCase) -> None:
        """Keep a case's result. Only reports and failure output reuse its JSON."""
        is_read = self.is_reported or case.row.outcome != "passed"
        self.cases[case.row.nodeid] = case if is_read else KeptCase(case.row)

    @cached_property
    def collected(self) -> list[Suite]:
        """The suites that the command line names; variants borrow their tools."""
        from .suites import collected

        return collected(self.config)

    @cached_property
    def is_reported(self) -> bool:
        """True if report files or GitHub get the results."""
        return bool(self.settings.reports) or on_github(self.settings.github)

    @property
    def summary(self) -> object:
        """What the xdist controller needs from this worker."""
        summary = WorkerSummary(
            self.unclaimed,
            self.misnamed,
            self.unapplied,
            self.problems,
            self.answers_recorded,
            self.case_counts,
            self.queue.spent_apart,
            self.shard,
        )
        return msgspec.to_builtins(summary)

    def take_over(self, summary: Mapping[str, Any]) -> None:
        """Keep an xdist worker's summary."""
        worker = msgspec.convert(summary, WorkerSummary)
        self.workers.append(worker)
        self.unclaimed, self.misnamed = worker.unclaimed, worker.misnamed
        self.unapplied, self.case_counts = worker.unapplied, worker.case_counts
        self.shard = worker.shard or self.shard

    @property
    def problems(self) -> list[str]:
        """A line for each problem in any process that did not end the run."""
        elsewhere = (line for worker in self.workers for line in worker.problems)
        return list(dict.fromkeys([*elsewhere, *self.queue.asker.problems]))

    @property
    def answers_recorded(self) -> int:
        """The number of answers that the run has added to its cassettes."""
        return self.queue.cassettes.recorded + sum(worker.recorded for worker in self.workers)

    @property
    def spent(self) -> dict[str, Spent]:
        """What all processes spent, by model."""
        return add_up(self.queue.spent, *(worker.spent for worker in self.workers))

    def row_of(self, report: pytest.TestReport | pytest.CollectReport) -> CaseRow | None:
        """The row that a report carried, if any. An xdist worker passes it on instead."""
        kept = self.cases.get(report.nodeid) if hasattr(report, "tooleval") else None
        return kept.row if kept else None

    @property
    def rows(self) -> list[CaseRow]:
        """The rows in file order, whatever the order in which xdist workers reported them."""
        return [kept.row for kept in self._in_order(self.cases.values())]

    def _in_order(self, cases: Iterable[KeptCase]) -> list[KeptCase]:
        order = file_order(spec.label for spec in self.settings.models)
        return sorted(cases, key=lambda kept: order(kept.row))

    @property
    def tolerated(self) -> list[KeptCase]:
        """Cases that did not pass and do not fail the run, without xfails and variants."""
        chosen = (kept for kept in self.cases.values() if kept.row.tolerated and not kept.row.variant)
        return self._in_order(kept for kept in chosen if not kept.row.was_expected)

    @property
    def is_unjudged(self) -> bool:
        """True if there is something to judge, but the run ended before that."""
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
        """The run itself, for the result document and the history."""
        # A copy: the history's thread also calls this.
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
            collected=self.case_counts,
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
        """Where answers that this run did not request came from; shown beside their number."""
        if self.settings.cassette is not None:
            return "replayed"
        return "resumed" if self.settings.resume else "shared"


def evaluates(config: pytest.Config) -> bool:
    """False with --collect-only and --setup-only, which evaluate and save nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def will_run(session: pytest.Session) -> bool:
    """True if pytest will run the session's tests: with collection errors, it usually does not."""
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return evaluates(session.config) and not failed
