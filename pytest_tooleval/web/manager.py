"""All runs of a server: one engine for those under way, and a while of memory for those that ended."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from ..engine.runner import DEFAULT_CONCURRENCY
from ..engine.runner import Runner
from .loaded_code import LoadedCode
from .plan import Plan
from .project import shown_from
from .responses import ApiError
from .responses import field_error
from .runs import Run

MAX_UNDER_WAY = 16
_KEPT_S = 600.0
_KEPT_RUNS = 5
_CLOSING_S = 6.0


class RunManager:
    """All methods may be called from any thread."""

    def __init__(self, root: Path, concurrency: int = DEFAULT_CONCURRENCY) -> None:
        self._root = root
        self._concurrency = concurrency
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._threads: dict[str, threading.Thread] = {}
        # One engine while any run goes on, so that runs share their limits. The next run after a
        # pause gets a new one, which forgets that a server was down and what the config said.
        self._runner: Runner | None = None
        self._code = LoadedCode()
        self._is_closing = False
        self.is_closed = False

    def begin(self, plan: Plan) -> Run:
        """Start a run. ApiError 409 when it cannot go on beside those under way."""
        with self._lock:
            self._drop_old()
            if self._is_closing:
                raise ApiError(409, "the server is about to end")
            if len(self._threads) >= MAX_UNDER_WAY:
                raise ApiError(409, f"{MAX_UNDER_WAY} runs are under way; wait for one, or cancel one")
            self._check_models(plan)
            self._check_code(plan)
            self._runner = self._runner or Runner(self._concurrency)
            run = Run(self._root, plan, self._concurrency, self._code)
            self._runs[run.id] = run
            # A daemon: a run that hangs must not keep the server from ending.
            thread = threading.Thread(
                target=self._drive, args=(run, self._runner), name=f"tooleval-{run.id}", daemon=True
            )
            self._threads[run.id] = thread
            thread.start()
        return run

    def _drive(self, run: Run, runner: Runner) -> None:
        run.drive(runner)
        with self._lock:
            self._threads.pop(run.id, None)
            is_last = not self._threads
            if is_last and self._runner is runner:
                self._runner = None
        if is_last:
            runner.close()

    def _check_models(self, plan: Plan) -> None:
        under_way = [self._runs[id] for id in self._threads]
        used = {spec.label: spec for run in under_way for spec in run.models}
        for spec in plan.models:
            if used.get(spec.label, spec) != spec:
                message = f"the config of {spec.label} has changed while a run uses it; wait for its end"
                raise field_error(409, "models", message)

    def _check_code(self, plan: Plan) -> None:
        """The project's modules are imported once: new scores for old code would be wrong ones."""
        self._code.note()
        changed = self._code.changed() if plan.runs_code else None
        if changed is not None:
            file = shown_from(self._root, changed)
            message = f"{file} has changed since it was loaded; start `tooleval ui` again"
            raise field_error(409, "models", message)

    def get(self, id: str) -> Run | None:
        """A run that is under way or ended a short while ago."""
        with self._lock:
            self._drop_old()
            return self._runs.get(id)

    def runs(self) -> list[Run]:
        """The runs in memory, newest first."""
        with self._lock:
            self._drop_old()
            return list(self._runs.values())[::-1]

    def flush(self, id: str) -> None:
        """Write what a run has in memory to the history, if it is one of ours."""
        run = self.get(id)
        if run is not None:
            run.flush()

    def _drop_old(self) -> None:
        over = [run for run in self._runs.values() if run.id not in self._threads]
        for number, run in enumerate(reversed(over)):
            age = time.monotonic() - (run.ended or 0.0)
            if number >= _KEPT_RUNS or age > _KEPT_S:
                del self._runs[run.id]

    def close(self) -> None:
        """Cancel all runs and wait, some seconds at most, until they are in the history."""
        self._is_closing = True
        with self._lock:
            threads = list(self._threads.values())
            for id in self._threads:
                self._runs[id].cancel()
        deadline = time.monotonic() + _CLOSING_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            runner, self._runner = self._runner, None
        self.is_closed = True  # listeners have been told of the end, and may go
        if runner is not None:
            runner.close(timeout_s=2.0)
