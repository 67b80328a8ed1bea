"""The runs of a server: running ones, and the last finished ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ..errors import ToolevalError
from ..project.child import GRACE_S
from .bodies import NewRun
from .pytest_run import PytestRun, estimate
from .responses import ApiError, Limit

MAX_RUNNING = 4
MAX_ESTIMATES = 4
START_S = 120.0
_KEPT = 5


class Runs:
    """Can be used from any thread. `allowed_tools` are the live tools that runs may call."""

    def __init__(self, root: Path, allowed_tools: Sequence[str]) -> None:
        self._root = root
        self._allowed_tools = allowed_tools
        self._lock = threading.Lock()
        self._runs: list[PytestRun] = []
        self._estimates = Limit(MAX_ESTIMATES, "estimates")
        self._is_closing = False
        self.is_closed = False

    def begin(self, asked: NewRun) -> PytestRun:
        """Start a run, and wait for its id.

        ApiError 409 if too many are running, 422 with pytest's output if it did not start.
        """
        with self._lock:
            if self._is_closing:
                raise ApiError(409, "the server is shutting down")
            if sum(run.status == "running" for run in self._runs) >= MAX_RUNNING:
                raise ApiError(409, f"{MAX_RUNNING} runs are already running; wait for one or cancel it")
            self._forget_old()
            try:
                run = PytestRun(self._root, asked, self._allowed_tools)
            except (OSError, ValueError) as error:  # ValueError for a name with a NUL character
                raise ApiError(500, f"could not start pytest: {error}") from None
            self._runs.append(run)
        if not run.is_known.wait(START_S):
            run.kill()
            run.wait(GRACE_S)
        if not run.id:
            raise ApiError(422, run.state().problem or "pytest did not start", output=run.output())
        return run

    def estimate(self, asked: NewRun) -> str:
        """The estimate of a run.

        ApiError 409 if too many are being made, 422 with pytest's output if there is none.
        """
        try:
            with self._estimates.one():
                return estimate(self._root, asked, self._allowed_tools)
        except (OSError, ValueError, ToolevalError) as error:
            raise ApiError(500, f"could not start pytest: {error}") from None

    def known(self) -> list[PytestRun]:
        """The runs that have started, oldest first."""
        return [run for run in list(self._runs) if run.id]

    def get(self, id: str) -> PytestRun | None:
        return next((run for run in self.known() if run.id == id), None)

    def _forget_old(self) -> None:
        over = [run for run in self._runs if run.status != "running"]
        for run in over[:-_KEPT]:
            self._runs.remove(run)
            run.forget()

    def close(self) -> None:
        """End all runs like Ctrl-C, and wait; kill those that take too long."""
        with self._lock:
            self._is_closing = True
        for run in self._runs:
            run.cancel()
        deadline = time.monotonic() + GRACE_S + 2.0
        for run in self._runs:
            run.wait(max(0.0, deadline - time.monotonic()))
            run.kill()
        self.is_closed = True  # listeners have seen the end
        for run in self._runs:
            run.forget()
