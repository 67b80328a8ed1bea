"""Sends cases to their models and waits for the answers."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from typing import TypeVar

import pytest

from ..engine.cassettes.appending import Appender
from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.claims import Claims
from ..engine.cassettes.folders import answers_folder
from ..engine.cassettes.folders import make_room
from ..engine.cassettes.replay import recorded
from ..engine.clients.transport import missing_key
from ..engine.limits.handles import most_in_flight
from ..engine.limits.spending import Spending
from ..engine.models.spec import ModelSpec
from ..engine.runner import Runner
from ..engine.runner import TrialAnswer
from ..engine.runner import settled
from ..engine.trial import Trial
from ..errors import ModelError
from ..errors import ScoringError
from ..imports.transcripts.given import answers_of
from ..record.results import CaseRow
from ..record.run import Spent
from ..scoring import require_evidence
from ..suite.discovery import SUITE_ENDING
from ..suite.model import needed_of
from ..text import counted
from .items import CaseItem
from .settings import Settings
from .started import run_started
from .workers import ledger_of
from .workers import lookahead
from .workers import queued
from .workers import worker_count
from .workers import worker_settings

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import RecordMode

_TICK_S = 0.25
# A worker looks through its queue again only after this fraction of its requests has been used.
_PART = 8

_T = TypeVar("_T")


@dataclass(slots=True)
class CaseRun:
    """The trials' answers: those received, and those still to come.

    Recorded answers need no future: thousands of futures slow down garbage collection.
    """

    answers: list[TrialAnswer]
    coming: concurrent.futures.Future[list[TrialAnswer]] | None = None

    @property
    def is_done(self) -> bool:
        return self.coming is None or self.coming.done()

    def cancel(self) -> None:
        if self.coming is not None:
            self.coming.cancel()


class CaseQueue:
    """One process's cases, sent ahead and taken in order. Each xdist worker has its own queue."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        waited: Callable[[float], None],
        undecided: Callable[[Sequence[CaseRow]], Collection[str]],
    ) -> None:
        """Call `waited` with the seconds spent waiting for one answer so far.

        After each step of --tooleval-trials=auto, call `undecided` for the node ids of the cases to
        run again.
        """
        self._config = config
        self._waited = waited
        self._undecided = undecided
        self._is_worker = hasattr(config, "workerinput")
        # A worker gets its share of the run's limits.
        self.settings = worker_settings(config, settings) if self._is_worker else settings
        self._in_steps: list[CaseItem] = []
        self._asked = 0
        self._known: list[pytest.Item] = []
        self._runner: Runner | None = None
        self._pending: dict[str, CaseRun] = {}
        self._cassettes: dict[Path, Cassette] = {}
        self._appender = Appender()
        self._claims = Claims(config.rootpath)
        self._agents_problems: list[str] = []
        # Why a model cannot be queried, by its label; None if it can.
        self._problems: dict[str, str | None] = {}

    def require_keys(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError if every selected item lacks its model's key or its callable.

        If anything else can run, each case reports it instead. Recorded answers need neither.
        """
        found: dict[str, None] = {}
        for item in items:
            problem = self._cannot_ask(item) if isinstance(item, CaseItem) else None
            if problem is None:
                return
            found[problem] = None
        if found:
            raise pytest.UsageError("\n".join(found))

    def unusable_cassettes(self, items: Iterable[pytest.Item]) -> str:
        """Return a line for each cassette of these cases that cannot be used."""
        found = []
        asked = (item for item in items if isinstance(item, CaseItem) and item.spec is not None)
        for path in dict.fromkeys(item.path for item in asked):
            cassette = self.cassette_for(path)
            try:
                if cassette is not None:
                    cassette.require_reading()
            except ModelError as error:
                found.append(error.message)
        return "\n".join(found)

    def require_some_key(self) -> None:
        """Like `require_keys`, for the xdist controller, which has no items. Skipped with a cassette."""
        settings = self.settings
        if settings.cassette is None and settings.transcripts is None and not settings.resume:
            problems = list(map(missing_key, settings.models))
            if problems and all(problems):
                raise pytest.UsageError("\n".join(filter(None, problems)))

    def _cannot_ask(self, item: CaseItem) -> str | None:
        if item.spec is None or is_skipped(item):
            return None
        cassette = self.cassette_for(item.path)
        if cassette is not None and not (cassette.is_empty and cassette.may_ask):
            return None
        judge = self.settings.judge if item.case.rubrics else None
        asked = [item.spec, item.user] if item.transcripts is None else []
        problems = (self._problem_of(spec) for spec in (*asked, judge) if spec is not None)
        return next(filter(None, problems), None)

    def _problem_of(self, spec: ModelSpec) -> str | None:
        """Cached per model: otherwise a failing import would run again for every case."""
        if spec.label not in self._problems:
            self._problems[spec.label] = _why_not(spec)
        return self._problems[spec.label]

    def ahead(self, item: pytest.Item) -> None:
        """Send a case unless it was sent already or will be skipped."""
        if not isinstance(item, CaseItem) or item.nodeid in self._pending or item.runs:
            return
        if item.transcripts is not None and not item.case.rubrics:
            return  # nothing to send: transcripts that need no judge
        if not is_skipped(item):
            self._pending[item.nodeid] = self._begin(item)
            if self.settings.most_trials is not None:
                self._in_steps.append(item)

    def next(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """In an xdist worker: send these two items, which come next, and those queued after them."""
        self._known = [item] if nextitem is None else [item, nextitem]
        self._ask_queued()

    def drop(self, nodeid: str) -> None:
        """Cancel a case that something else skipped or failed."""
        if nodeid in self._pending:
            self._pending.pop(nodeid).cancel()

    def _ask_queued(self) -> None:
        """In an xdist worker: send the items queued so far."""
        items = self._known
        most = lookahead(self.settings.concurrency)
        if len(self._pending) <= most - most // _PART:
            items = [*items, *queued(self._config, items[0].session.items, most)]
        for item in items:
            self.ahead(item)

    def _begin(self, item: CaseItem) -> CaseRun:
        if item.transcripts is not None:
            return self._judge(item, answers_of(item.case, item.transcripts))
        try:
            require_evidence(item.case, item.origin.scorers)
        except ScoringError as error:  # told when it is scored; nothing is asked for it
            return CaseRun([ModelError(str(error), kind="world")] * item.case.trials)
        # A rerun by pytest-rerunfailures needs a new answer, not the recorded one.
        fresh, item.runs = item.runs > 0, item.runs + 1
        return self.begin([self._trial(item, n, fresh=fresh) for n in range(item.case.trials)])

    def _judge(self, item: CaseItem, answers: list[TrialAnswer]) -> CaseRun:
        """Given transcripts, sent to the judge if the case has rubrics."""
        judge, cassette = self.settings.judge, self.cassette_for(item.path)
        if judge is None or not item.case.rubrics:
            return CaseRun(answers)
        return CaseRun([], self.runner.submit_judging(item.case, answers, judge, cassette))

    def begin(self, trials: Sequence[Trial]) -> CaseRun:
        """Replay a case's trials if all are recorded, else send them."""
        found = recorded(trials)
        return CaseRun([], self.runner.submit(*trials)) if found is None else CaseRun(found)

    def answers(self, run: CaseRun) -> list[TrialAnswer]:
        """Wait for the answer to each trial."""
        if run.coming is not None:
            came = self.wait(run.coming)
            run.answers += [came] if isinstance(came, ModelError) else came
            run.coming = None
        return run.answers

    def _trial(self, item: CaseItem, number: int, *, fresh: bool = False) -> Trial:
        assert item.spec is not None
        self._asked += 1
        return Trial(
            item.case,
            item.spec,
            item.case.first_trial + number,
            self._asked,
            self.cassette_for(item.path),
            fresh,
            item.origin.live,
            self.settings.judge,
            item.user,
            self.settings.allowed_tools,
        )

    def _ask_in_steps(self) -> None:
        """Run all requested cases again, step by step, until each verdict is decided.

        Verdicts over many cases decide which cases continue. Stopping a case because of its own
        answers would bias its mean. All variants of a case get as many trials as the case itself,
        so that they stay comparable.
        """
        runs = {i: self._pending[i.nodeid] for i in self._in_steps if i.nodeid in self._pending}
        self._in_steps, again = [], list(runs)
        while again:
            answers = {item: self.answers(run) for item, run in runs.items()}
            spent = [_is_spent(item, answers[item]) for item in again]
            if any(spent):
                return
            rows = {item: item.row(answers[item]) for item in runs}
            found = self._undecided(list(rows.values()))
            answered = [item for item in again if rows[item].outcome != "error"]
            cases = {_case_of(rows[item]) for item in answered if item.nodeid in found}
            again = [i for i in answered if _case_of(rows[i]) in cases]
            again = [i for i in again if len(answers[i]) < self._most(i)]
            for item in again:
                more = self.begin([self._trial(item, len(answers[item]))])
                answers[item] += more.answers
                runs[item].coming = more.coming

    def _most(self, item: CaseItem) -> int:
        """The most trials a case may get. A K/N rule fixes the number."""
        return item.case.trials if needed_of(item.case.pass_rule) else self.settings.most_trials or 0

    def take(self, item: CaseItem) -> list[TrialAnswer]:
        """Wait for the answer to each trial of a case. Sends the case now if it was not sent ahead."""
        if self._in_steps:
            self._ask_in_steps()
        run = self._pending.pop(item.nodeid, None) or self._begin(item)
        try:
            return self.answers(run)
        except BaseException:
            # Ctrl-C or a timeout plugin: nobody will read these answers.
            run.cancel()
            raise

    def wait(self, future: concurrent.futures.Future[_T]) -> _T | ModelError:
        """Wait in short steps, so that Ctrl-C works on every platform and a heartbeat can be shown."""
        begin = time.monotonic()
        while not future.done() and not concurrent.futures.wait([future], timeout=_TICK_S).done:
            if self._known:
                self._ask_queued()
            self._waited(time.monotonic() - begin)
        return settled(future)

    @property
    def answered(self) -> int:
        """How many pending cases have all their answers."""
        return sum(run.is_done for run in self._pending.values())

    @property
    def waiting(self) -> int:
        """Cases sent ahead whose answers nobody has taken yet."""
        return len(self._pending)

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            settings = self.settings
            most = most_in_flight(settings.concurrency)
            if most < settings.concurrency:
                self._warn(
                    f"{counted(most, 'request')} at a time instead of {settings.concurrency}, "
                    "because this process may not open more files; raise the limit with ulimit -n"
                )
            self._runner = Runner(most, settings.timeout_s, spending=self._spending)
        return self._runner

    @cached_property
    def _spending(self) -> Spending:
        most, ledger = self.settings.max_cost, ledger_of(self._config)
        if most is not None and self.settings.shard is not None:
            most /= self.settings.shard.of
        if self._is_remote:
            # A worker on another machine cannot share the file, so it gets its share of the limit.
            return Spending(most and most / worker_count(self._config))
        return Spending(most, ledger)

    @property
    def _is_remote(self) -> bool:
        ledger = ledger_of(self._config)
        return ledger is not None and not ledger.parent.is_dir()

    @property
    def spent(self) -> dict[str, Spent]:
        """What this process, and all that share its ledger, spent on each model."""
        return dict(self._spending.by_model)

    @property
    def spent_apart(self) -> Mapping[str, Spent]:
        """What a worker could not record in the ledger, because it runs on another machine."""
        return self._spending.apart

    def cassette_for(self, suite_path: Path) -> Cassette | None:
        """A suite's cassette, which has the suite's path relative to the root folder."""
        if suite_path not in self._cassettes:
            root = self._config.rootpath
            below = suite_path.relative_to(root) if suite_path.is_relative_to(root) else suite_path.name
            name = str(below).removesuffix(SUITE_ENDING) + ".jsonl"
            folder, record = self._kept
            if folder is None:
                return None
            self._cassettes[suite_path] = Cassette(
                folder / name,
                record,
                must_record=self.settings.cassette is not None,
                appender=self._appender,
                claims=self._claims,
                project=self._project,
                started=run_started(self._config).isoformat(timespec="milliseconds"),
            )
        return self._cassettes[suite_path]

    @property
    def _project(self) -> Path | None:
        """The config file's folder, where agents and their modules are found; None without agents."""
        named = (*self.settings.models, self.settings.judge, self.settings.user)
        return next((spec.folder for spec in named if spec is not None and spec.callable), None)

    @cached_property
    def _kept(self) -> tuple[Path | None, RecordMode]:
        """The folder for answers, either the cassettes' or the run's own below `.tooleval`."""
        if self.settings.cassette is not None:
            return self.settings.cassette, self.settings.record
        # Test discovery in an editor must leave no files behind.
        if self.settings.transcripts is not None or self._config.option.collectonly:
            return None, "new"
        if self._is_worker:
            folder = Path(self._config.workerinput["tooleval_answers"])  # type: ignore[attr-defined]
        else:
            folder = answers_folder(self._config.rootpath, resume=self.settings.resume)
        try:
            make_room(self._config.rootpath)
        except OSError as error:
            self._warn(f"answers cannot be saved, so this run cannot be resumed: {error}")
        return folder, "new"

    def _warn(self, text: str) -> None:
        self._config.issue_config_time_warning(pytest.PytestWarning(text), 2)

    @property
    def problems(self) -> list[str]:
        """Lines about unusable cassettes, and about agents that block the event loop."""
        agents = self._runner.problems if self._runner is not None else self._agents_problems
        return [*agents, *(each for cassette in self._cassettes.values() for each in cassette.problems)]

    @property
    def recorded(self) -> int:
        """The number of answers that this process has written to the cassette."""
        is_kept = self.settings.cassette is not None
        return sum(cassette.written for cassette in self._cassettes.values()) if is_kept else 0

    def close(self) -> None:
        """Cancel all pending requests."""
        if self._runner is not None:
            self._runner.close()
            self._agents_problems += self._runner.problems
            self._runner = None
        self._appender.close()
        self._claims.close()
        self._pending.clear()


def _why_not(spec: ModelSpec) -> str | None:
    if spec.callable is None:
        return missing_key(spec)
    from ..engine.clients.callable_client import missing_callable

    return missing_callable(spec)


def _is_spent(item: CaseItem, answers: list[TrialAnswer]) -> bool:
    """True if --tooleval-max-cost stopped the last trial. More trials would get no answer either."""
    last = answers[-1]
    spent = isinstance(last, ModelError) and last.kind == "max_cost"
    if spent and len(answers) > item.case.trials:
        answers.pop()
    return spent


def _case_of(row: CaseRow) -> tuple[str, str, str]:
    """The key of a case on a model, shared by all its variants."""
    return row.file, row.case, row.model


def is_skipped(item: pytest.Item) -> bool:
    """True if a case will be skipped. A `skipif` is evaluated only when its case runs."""
    return any(
        mark.name in ("skip", "skipif") or (mark.name == "xfail" and mark.kwargs.get("run") is False)
        for mark in item.iter_markers()
    )
