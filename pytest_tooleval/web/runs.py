"""Runs that go on whether anybody looks or not: answers in, scored rows out to listeners and history."""

from __future__ import annotations

import concurrent.futures
import importlib.metadata
import json
import logging
import os
import platform
import queue
import threading
import time
from collections.abc import Iterator
from collections.abc import Mapping
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any
from typing import Literal

import msgspec

from .. import __version__
from ..engine.cassettes.folders import work_folder
from ..engine.models.spec import LEXICAL
from ..engine.models.spec import ModelSpec
from ..engine.runner import Runner
from ..engine.runner import Trial
from ..engine.runner import settled
from ..errors import ToolevalError
from ..history import RunWriter
from ..history import git_state
from ..history import new_run_id
from ..history import open_history
from ..record import run as record
from ..record.encoding import to_json
from ..record.results import CaseResult
from ..record.results import CaseRow
from ..record.results import KeptCase
from ..record.transcript import Transcript
from ..verdicts.summary import grouped
from ..verdicts.summary import summarise
from .events import EventLog
from .loaded_code import LoadedCode
from .plan import Plan
from .plan import PlannedCase

Status = Literal["running", "finished", "cancelled", "failed"]

FLUSH_S = 2.0
_PROGRESS_S = 0.25
_BATCH = 500
_WAKE = -1
_COUNTED = {"error": "errors"}

_logger = logging.getLogger("pytest_tooleval.web")


class Run:
    """One run, driven by a thread of its own. Everything public may be called from any thread.

    Rows are kept without transcripts, as the events that listeners get; transcripts wait for the
    next write to the history, at most `FLUSH_S` seconds, and are gone from memory after it.
    """

    def __init__(self, root: Path, plan: Plan, concurrency: int, code: LoadedCode) -> None:
        self._root = root
        self._code = code
        self._plan: Plan | None = plan
        self._window = 2 * concurrency
        self._started = datetime.now(timezone.utc)
        self._begin = time.monotonic()
        self.id = new_run_id(self._started)
        self.files, self.models, self.options = plan.files, plan.models, plan.options
        self.total = plan.total
        whole = {case.place.file: case.place.suite_cases for case in plan.cases}
        is_selection = len(plan.cases) < sum(whole.values())
        self._cases = list(dict.fromkeys(case.case.id for case in plan.cases)) if is_selection else None
        self.done = 0
        self.counts = dict.fromkeys(("passed", "failed", "missed", "errors", "skipped"), 0)
        self.events = EventLog()
        self.status: Status = "running"
        self.problem = plan.note
        self.summary: list[dict[str, Any]] | None = None
        self.ended: float | None = None  # on the monotonic clock
        self._duration_s = 0.0
        self._cancelled = threading.Event()
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._rows: list[KeptCase] = []
        self._writer: RunWriter | None = None
        self._writing = threading.Lock()
        self._git: dict[str, Any] | None = None
        self._told = 0.0

    def state(self) -> dict[str, Any]:
        """What the API says of a run: JSON values only."""
        return {
            "id": self.id,
            "status": self.status,
            "started": self._started.isoformat(timespec="seconds"),
            "duration_s": round(self._duration, 3),
            "files": list(self.files),
            "models": [spec.label for spec in self.models],
            "cases": self._cases,
            "options": dict(self.options),
            "done": self.done,
            "total": self.total,
            "counts": dict(self.counts),
            "summary": self.summary,
            "problem": self.problem,
        }

    def cancel(self) -> None:
        """Ask no more, and end with what has come so far."""
        self._cancelled.set()
        self._arrived.put(_WAKE)

    def flush(self) -> None:
        """Write what has come to the history, so that its transcripts can be read there."""
        with self._writing:
            rows, self._rows = self._rows, []
            if not rows or self._writer is None:
                return
            try:
                self._writer.add(rows)
            except (ToolevalError, OSError) as error:
                self._not_kept(error)

    def drive(self, runner: Runner) -> None:
        """Ask, score, tell and keep, until everything is done or cancelled. Never raises."""
        status: Status = "failed"
        try:
            self.events.add("progress", {"done": 0, "total": self.total})
            self._open()
            self._work(runner)
            status = "finished" if self.done == self.total else "cancelled"
        except Exception as error:
            self._failed(error)
        try:
            self._end(status)
        except Exception as error:
            self._failed(error)
            self.status, self.ended = "failed", time.monotonic()
        self.events.add("done", {"status": self.status, "problem": self.problem})
        self.events.is_over = True

    def _failed(self, error: Exception) -> None:
        _logger.exception("the run %s failed", self.id)
        self.problem = f"an error inside pytest-tooleval: {type(error).__name__}"

    def _open(self) -> None:
        self._git = msgspec.to_builtins(git_state(self._root))
        try:
            self._writer = open_history(work_folder(self._root)).begin(
                msgspec.convert(self._about(None), record.Run)
            )
        except (ToolevalError, OSError) as error:
            self._not_kept(error)

    def _not_kept(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = reason.replace(f"{self._root}{os.sep}", "")
        self.problem = f"the run could not be kept in the history: {reason}"
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None

    def _work(self, runner: Runner) -> None:
        assert self._plan is not None
        asking = _Asking(self._plan, runner, self._window, self._arrived)
        next_flush = time.monotonic() + FLUSH_S
        while not self._cancelled.is_set():
            for skipped in asking.fill():
                self._keep(skipped)
            if not asking.is_waiting:
                return
            try:
                number = self._arrived.get(timeout=max(0.0, next_flush - time.monotonic()))
            except queue.Empty:
                number = _WAKE
            result = asking.take(number)
            if result is not None:
                self._keep(result)
            if time.monotonic() >= next_flush or len(self._rows) >= _BATCH:
                self.flush()
                next_flush = time.monotonic() + FLUSH_S
        for result in asking.cancel():
            self._keep(result)

    def _keep(self, result: CaseResult) -> None:
        kept = KeptCase(result.row(), to_json(result))
        with self._writing:
            self._rows.append(kept)
        self.events.add("result", kept.row)
        self.done += 1
        self.counts[_COUNTED.get(result.outcome, result.outcome)] += 1
        if time.monotonic() - self._told >= _PROGRESS_S:
            self._tell()

    def _tell(self) -> None:
        self.events.add("progress", {"done": self.done, "total": self.total})
        self._told = time.monotonic()

    def _end(self, status: Status) -> None:
        self._code.note(since=self._started.timestamp())  # before anybody is told of the end
        self._plan = None  # thousands of cases, and nobody asks for them any more
        self.flush()
        self._duration_s = time.monotonic() - self._begin
        if self._writer is not None:
            try:
                self._writer.finish(msgspec.convert(self._about(self._exitstatus(status)), record.Run))
            except (ToolevalError, OSError) as error:
                self._not_kept(error)
        self.summary = self._summarised()
        self._tell()
        for row in self.summary:
            self.events.add("summary", row)
        self.status, self.ended = status, time.monotonic()

    def _summarised(self) -> list[dict[str, Any]]:
        rows = [msgspec.json.decode(data, type=CaseRow) for data in self.events.data("result")]
        order = {spec.label: number for number, spec in enumerate(self.models)}
        found = grouped(sorted(rows, key=lambda row: order[row.model]), lambda row: row.model)
        return [
            {"model": key, **json.loads(to_json(summarise(each, intervals=True)))}
            for key, each in found.items()
        ]

    def _exitstatus(self, status: Status) -> int:
        """That of pytest: 2 for a run that was interrupted, 1 when something failed, else 0."""
        if status != "finished":
            return 2 if status == "cancelled" else 3
        return int(bool(self.counts["failed"] or self.counts["errors"]))

    @property
    def _duration(self) -> float:
        return self._duration_s or time.monotonic() - self._begin

    def _about(self, exitstatus: int | None) -> dict[str, Any]:
        """The result document's `run`, as pytest writes it."""
        return {
            "id": self.id,
            "started": self._started.isoformat(timespec="seconds"),
            "duration_s": round(self._duration, 3),
            "pytest_tooleval": __version__,
            "pytest": importlib.metadata.version("pytest"),
            "python": platform.python_version(),
            "exitstatus": exitstatus,
            "collection_errors": 0,
            "max_cost_usd": None,
            "answers": "shared",
            "models": [{"model": spec.label, "calls": spec.identity} for spec in self.models],
            "options": dict(self.options),
            "git": self._git,
            "partial": self._cases is not None or self.done < self.total,
        }


_Pending = tuple[PlannedCase, ModelSpec, "list[concurrent.futures.Future[Transcript]]"]


class _Asking:
    """The cases of a run on their way through the engine: only so many of each model at a time.

    All at once would take memory for every one of them, and a slow model must not keep others back.
    """

    def __init__(
        self,
        plan: Plan,
        runner: Runner,
        window: int,
        arrived: queue.SimpleQueue[int],
    ) -> None:
        self._runner = runner
        self._answers = plan.answers
        self._window = window
        self._arrived = arrived
        self._cases = self._asked = 0
        self._left: dict[str, Iterator[PlannedCase]] = {s.label: iter(plan.cases) for s in plan.models}
        self._specs: Mapping[str, ModelSpec] = {spec.label: spec for spec in plan.models}
        self._under_way = dict.fromkeys(self._specs, 0)  # trials
        self._pending: dict[int, _Pending] = {}
        self._missing: dict[int, int] = {}

    @property
    def is_waiting(self) -> bool:
        return bool(self._pending)

    def fill(self) -> Iterator[CaseResult]:
        """Ask as much as there is room for; gives the results of skipped cases on the way."""
        while self._left:
            moved = False
            for label in list(self._left):
                if self._under_way[label] >= self._window:
                    continue
                planned = next(self._left[label], None)
                if planned is None:
                    del self._left[label]
                    continue
                moved = True
                skipped = planned.skipped_on(label)
                if skipped is not None:
                    yield skipped
                else:
                    self._ask(planned, self._specs[label])
            if not moved:
                return

    def _ask(self, planned: PlannedCase, spec: ModelSpec) -> None:
        number, self._cases = self._cases, self._cases + 1
        trials = planned.case.trials
        # The baseline is not kept: asking it costs nothing.
        cassette = None if spec.model == LEXICAL else self._answers.of(planned.place.file)
        self._missing[number] = trials
        self._under_way[spec.label] += trials
        futures = [
            self._runner.submit(
                Trial(planned.case, spec, trial, self._asked + trial, cassette, live=planned.live)
            )
            for trial in range(trials)
        ]
        self._asked += trials
        self._pending[number] = planned, spec, futures
        for future in futures:
            future.add_done_callback(lambda _: self._arrived.put(number))

    def take(self, number: int) -> CaseResult | None:
        """Count one more answer of a case; its result when it was the last one."""
        if number not in self._pending:
            return None
        self._missing[number] -= 1
        if self._missing[number]:
            return None
        del self._missing[number]
        planned, spec, futures = self._pending.pop(number)
        self._under_way[spec.label] -= len(futures)
        return planned.judged(spec.label, list(map(settled, futures)))

    def cancel(self) -> Iterator[CaseResult]:
        """Cancel what is under way; gives the results of cases whose answers had all come."""
        for planned, spec, futures in self._pending.values():
            whole = all(future.done() for future in futures)
            for future in futures:
                future.cancel()
            if whole:
                yield planned.judged(spec.label, list(map(settled, futures)))
        self._pending.clear()
