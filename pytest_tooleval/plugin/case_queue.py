"""The cases of one process: which of them are sent, and when."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..engine.cassettes.folders import answers_folder, make_room
from ..engine.limits.handles import most_in_flight
from ..engine.limits.spending import Spending
from ..engine.runner import Runner, TrialAnswer
from ..record.results import CaseRow
from ..record.run import Spent
from ..run.asker import Asker, Pending
from ..run.cassettes import Cassettes, Tapes
from ..run.given import answers_of
from ..run.steps import Stepped, in_steps
from ..settings.parts import Settings
from ..text import counted
from .items import CaseItem
from .started import run_started
from .state import Wait
from .workers import ledger_of, lookahead, queued, worker_count

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import RecordMode

# A worker looks through its queue again once one in this many of its requests has been used.
_ONE_IN = 8


class CaseQueue:
    """One process's cases, sent ahead and taken in order. Each xdist worker has its own queue."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        waited: Callable[[Wait], None],
        undecided: Callable[[Sequence[CaseRow]], Collection[str]],
    ) -> None:
        """Call `waited` again and again while waiting for one answer.

        After each step of --tooleval-trials=auto, call `undecided` for the node ids of the cases to
        run again.
        """
        self._config = config
        self._waited = waited
        self._undecided = undecided
        self._is_worker = hasattr(config, "workerinput")
        self.settings = settings
        self._asking = settings.asking
        self._in_steps: list[CaseItem] = []
        self._known: list[pytest.Item] = []
        self._pending: dict[str, Pending] = {}
        tapes = Tapes(self._folder, self._record, self._asking.cassette is not None)
        started = run_started(config).isoformat(timespec="milliseconds")
        self.cassettes = Cassettes(config.rootpath, tapes, self._project, started)
        self.asker = Asker(self._start, self._tick)

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

    def _cannot_ask(self, item: CaseItem) -> str | None:
        if item.job is None or is_skipped(item):
            return None
        return self.asker.cannot_ask(item.job, is_given=item.transcripts is not None)

    def unusable_cassettes(self, items: Iterable[pytest.Item]) -> str:
        """Return a line for each cassette of these cases that cannot be used."""
        asked = (item for item in items if isinstance(item, CaseItem) and item.job is not None)
        return self.cassettes.unusable(item.path for item in asked)

    def ahead(self, item: pytest.Item) -> None:
        """Send a case unless it was sent already or will be skipped."""
        if not isinstance(item, CaseItem) or item.nodeid in self._pending or item.runs:
            return
        if item.transcripts is not None and not item.case.rubrics:
            return  # nothing to send: transcripts that need no judge
        if not is_skipped(item):
            self._pending[item.nodeid] = self._begin(item)
            if self._asking.most_trials is not None:
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
        most = lookahead(self._asking.concurrency)
        if len(self._pending) <= most - most // _ONE_IN:
            items = [*items, *queued(self._config, items[0].session.items, most)]
        for item in items:
            self.ahead(item)

    def _begin(self, item: CaseItem) -> Pending:
        assert item.job is not None
        if item.transcripts is not None:
            return self.asker.given(item.job, answers_of(item.case, item.transcripts))
        # A rerun by pytest-rerunfailures needs a new answer, not the recorded one.
        fresh, item.runs = item.runs > 0, item.runs + 1
        return self.asker.send(item.job, fresh=fresh)

    def _ask_in_steps(self, most_trials: int) -> None:
        items, self._in_steps = self._in_steps, []
        jobs = [
            Stepped(item.job, self._pending[item.nodeid], item.row)
            for item in items
            if item.job is not None and item.nodeid in self._pending
        ]
        in_steps(jobs, self.asker, self._undecided, most_trials)

    def take(self, item: CaseItem) -> list[TrialAnswer]:
        """Wait for the answer to each trial of a case. Sends the case now if it was not sent ahead."""
        if self._in_steps:
            self._ask_in_steps(self.settings.judging.looks)
        sent = self._pending.pop(item.nodeid, None)
        return self.asker.take(self._begin(item) if sent is None else sent)

    def _tick(self, seconds: float) -> None:
        if self._known:
            self._ask_queued()
        self._waited(Wait(seconds, len(self._pending), self._answered))

    def _answered(self) -> int:
        return sum(run.is_done for run in self._pending.values())

    @property
    def waiting(self) -> int:
        """Cases sent ahead whose answers nobody has taken yet."""
        return len(self._pending)

    def _start(self) -> Runner:
        settings = self._asking
        most = most_in_flight(settings.concurrency)
        if most < settings.concurrency:
            self._warn(
                f"{counted(most, 'request')} at a time instead of {settings.concurrency}, "
                "because this process may not open more files; raise the limit with ulimit -n"
            )
        return Runner(most, settings.timeout_s, spending=self._spending)

    @cached_property
    def _spending(self) -> Spending:
        most, ledger = self._asking.max_cost, ledger_of(self._config)
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
    def spent_apart(self) -> Mapping[str, Spent]:
        """What this process spent, by model, without what is in a ledger."""
        return self._spending.apart

    @property
    def _project(self) -> Path | None:
        """The config file's folder, where agents and their modules are found; None without agents."""
        named = (*self._asking.models, self._asking.judge, self._asking.user)
        return next((spec.folder for spec in named if spec is not None and spec.callable), None)

    @property
    def _record(self) -> RecordMode:
        return self._asking.record if self._asking.cassette is not None else "new"

    def _folder(self) -> Path | None:
        """The folder for answers, either the cassettes' or the run's own below `.tooleval`."""
        if self._asking.cassette is not None:
            return self._asking.cassette
        # Test discovery in an editor must leave no files behind.
        if self._asking.transcripts is not None or self._config.option.collectonly:
            return None
        if self._is_worker:
            folder = Path(self._config.workerinput["tooleval_answers"])  # type: ignore[attr-defined]
        else:
            folder = answers_folder(self._config.rootpath, resume=self._asking.resume)
        try:
            make_room(self._config.rootpath)
        except OSError as error:
            self._warn(f"answers cannot be saved, so this run cannot be resumed: {error}")
        return folder

    def _warn(self, text: str) -> None:
        self._config.issue_config_time_warning(pytest.PytestWarning(text), 2)

    def close(self) -> None:
        """Cancel all pending requests."""
        self.asker.close()
        self.cassettes.close()
        self._pending.clear()


def is_skipped(item: pytest.Item) -> bool:
    """True if a case will be skipped. A `skipif` is evaluated only when its case runs."""
    return any(
        mark.name in ("skip", "skipif") or (mark.name == "xfail" and mark.kwargs.get("run") is False)
        for mark in item.iter_markers()
    )
