"""A run in one of its processes, without pytest."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from .. import __version__
from ..checkout.ci import ci_run
from ..engine.limits.ledger import SharedSpending
from ..engine.models.known import table_date
from ..record.document import Document, RowsDocument
from ..record.encoding import to_json
from ..record.results import CaseRow, KeptCase
from ..record.run import SCORING_VERSION, AnswersFrom, AskedModel, Git, Run, Unreadable, new_run_id
from ..reports.outputs import WrittenReports, on_github
from ..settings.settings import Settings
from ..verdicts.run import RunVerdict, gates_that_cannot_pass
from ..verdicts.sides import suites_in
from ..verdicts.summary import ran_partly
from .facts import ProcessFacts, joined_facts
from .observers import Observers
from .process import Process
from .results import RunResults
from .worker_cases import SelectedCase, read_from_worker

if TYPE_CHECKING:
    from ..suite.model import Suite
    from .asker import Asker

_ROW = msgspec.json.Decoder(CaseRow)


class EvalRun:
    """A run: its settings, its results and verdict, what else is known of it, and who follows it.

    pytest's hooks keep what pytest knows: in the controller of xdist `selected_cases` by node id,
    `unreadable` files, `tests_failed` and `exitstatus`.
    """

    def __init__(self, process: Process, settings: Settings) -> None:
        # The run's id in the history and in its document.
        self.id = new_run_id(process.started)
        self.process = process
        self.settings = settings
        self.observers = Observers()
        # The suites that this process has loaded, by file as in the results.
        self.suites: dict[str, Suite] = {}
        outputs, models = settings.outputs, settings.asking.models
        self.results = RunResults(
            settings.gating,
            (spec.label for spec in models),
            suites_in(process.root, self.suites),
            is_whole=bool(outputs.reports) or on_github(outputs.github),
        )
        self.selected_cases: Mapping[str, SelectedCase] = {}
        self.unreadable: list[Unreadable] = []
        self.tests_failed: int | None = None
        self.exitstatus: int | None = None
        self.written = WrittenReports()
        # True once all tests have run. Until then, no end of the run is a verdict.
        self.is_complete = False
        # What this process has found while it collected.
        self.collected_facts = ProcessFacts()
        self._workers: list[ProcessFacts] = []
        self._asker: Asker | None = None
        self._begin = time.monotonic()

    @property
    def asker(self) -> Asker:
        """This process's requests. The controller of xdist has none."""
        if self._asker is None:
            from .asker import Asker

            self._asker = Asker(self.process, self.settings, self.observers)
        return self._asker

    def take_cases(self, cases: Mapping[str, SelectedCase]) -> None:
        """Keep the cases that a worker has collected. All workers collect the same."""
        if not self.selected_cases:
            self.selected_cases = cases
            rows = (each.if_crashed for each in cases.values())
            self.replace_facts(selected=sum(not (row.is_python or row.variant) for row in rows))
            self.report_hopeless_gates(cases.values())

    def replace_facts(self, **facts: object) -> None:
        """Note what this process has found out about the run: fields of `ProcessFacts`."""
        self.collected_facts = structs.replace(self.collected_facts, **facts)

    def note_files(self, tests: Mapping[str, int]) -> None:
        """Note files that gates need cases of, with the number of their selected Python tests."""
        self.replace_facts(tests_by_file={**self.collected_facts.tests_by_file, **tests})

    def report_hopeless_gates(self, cases: Iterable[SelectedCase]) -> None:
        """Report the gates that these cases cannot pass."""
        gates = self.settings.gating.gates
        if gates.confidence is None or self.settings.asking.transcripts is not None:
            return
        scores: dict[str, float | None] = dict.fromkeys((rule.metric for rule in gates.fail_under), 1.0)
        perfect = [
            structs.replace(each.if_crashed, outcome="passed", scores=scores, answered=n, passes=n)
            for each in cases
            if (n := each.trials)
        ]
        self.observers.gates_cannot_pass(gates_that_cannot_pass(perfect, gates))

    def keep_crash(self, nodeid: str) -> None:
        """Keep an error as the result of a case whose worker died."""
        case = read_from_worker(self.process, "asked").get(nodeid) or self.selected_cases.get(nodeid)
        if case is not None:
            self.add(to_json(case.if_crashed))

    def add(self, json: bytes) -> None:
        """Keep a case from the JSON of its result. Reruns overwrite it."""
        case = KeptCase(_ROW.decode(json), json)
        self.results.add(case)
        self.observers.case_done(case)

    def decide(self) -> RunVerdict:
        """Judge the gates and the baseline, once all cases are done."""
        facts = self.run_facts
        return self.results.decide(self.about(), facts.without_known_case, facts.tests_by_file)

    @property
    def is_unjudged(self) -> bool:
        """True if there is something to judge, but the run ended before that."""
        gating = self.settings.gating
        return bool((gating.gates or gating.baseline) and self.results.cases) and not self.is_complete

    def add_worker_facts(self, facts: Mapping[str, Any]) -> None:
        """Keep what an xdist worker knows of the run."""
        self._workers.append(msgspec.convert(facts, ProcessFacts))

    @property
    def selected_count(self) -> int:
        """The number of selected cases, with the Python tests that ask."""
        facts = self.run_facts
        return facts.selected + sum(facts.tests_by_file.values()) - facts.unasked

    @property
    def process_facts(self) -> ProcessFacts:
        """What this process knows of the run; in the xdist controller, what its workers spent."""
        if self._asker is None:
            spent = self._shared.by_model if self.process.ledger_path else {}
            return structs.replace(self.collected_facts, spent=spent)
        asker, cassettes = self._asker, self._asker.cassettes
        return structs.replace(
            self.collected_facts,
            problems=asker.problems,
            recorded=cassettes.writes,
            spent=asker.spend,
        )

    @property
    def run_facts(self) -> ProcessFacts:
        """What all processes know together."""
        return joined_facts((self.process_facts, *self._workers))

    @cached_property
    def _shared(self) -> SharedSpending:
        """What the processes of the run spent that share a ledger."""
        return SharedSpending(self.process.ledger_path)

    def about(self) -> Run:
        """The run itself, for its document and the history."""
        facts, asking = self.run_facts, self.settings.asking
        source: AnswersFrom = (
            "replayed" if asking.cassette_path else "resumed" if asking.resume else "shared"
        )
        models = [AskedModel(spec.label, spec.identity) for spec in asking.models]
        models += [AskedModel(*each, by_test=True) for each in facts.agents.items()]
        return Run(
            id=self.id,
            started=self.process.started.isoformat(timespec="seconds"),
            duration_s=round(time.monotonic() - self._begin, 3),
            pytest_tooleval=__version__,
            prices=table_date(),
            pytest=self.process.pytest_version,
            python=platform.python_version(),
            scoring_version=SCORING_VERSION,
            exitstatus=self.exitstatus,
            collection_errors=len(self.unreadable),
            unreadable=tuple(self.unreadable),
            tests_failed=self.tests_failed,
            max_cost_usd=asking.max_cost,
            spent=dict(facts.spent),
            cached_answers_from=source,
            models=tuple(models),
            options=dict(self.settings.options),
            git=self._git,
            ci=ci_run(),
            selected=self.selected_count,
            case_counts=dict(facts.case_counts),
            why_uncompared=self.results.verdict.why_uncompared,
            unapplied=facts.unapplied,
            partial=ran_partly(kept.row for kept in self.results.cases.values())
            or facts.shard is not None,
            shard=facts.shard and structs.replace(facts.shard, unasked=facts.unasked),
        )

    @cached_property
    def _git(self) -> Git | None:
        from ..checkout.git import git_state

        return git_state(self.process.root)

    def document(self) -> RowsDocument:
        """The results so far without transcripts and explanations."""
        return self.results.document(self.about())

    def whole_document(self) -> Document:
        """The results so far, with transcripts and explanations."""
        return self.results.whole_document(self.about())
