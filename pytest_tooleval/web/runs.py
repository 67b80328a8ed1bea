"""The runs of a server: pytest processes, followed by their events."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import ToolevalError
from ..project.child import GRACE_S, Child, EventLine
from ..record.encoding import to_json
from ..record.events import Collected, CollectionProblem, RowDone, RunEnded, RunStarted
from ..record.run import Run
from ..reports.estimate import estimate_lines
from ..settings.options import IN_FORM
from .bodies import NewRun
from .events import EventLog
from .responses import ApiError, in_page_words

ChildStatus = Literal["running", "finished", "cancelled", "failed"]

MAX_RUNNING = 4
START_S = 120.0
ESTIMATE_S = 120.0
_KEPT = 5

_logger = logging.getLogger("pytest_tooleval.web")


class _WholeCase(Struct):
    case: msgspec.Raw


def pytest_arguments(run: NewRun, allowed_tools: Sequence[str]) -> list[str]:
    """pytest's command line. No value of a request can act as another option."""
    files = [f"./{file}" for file in run.files]
    chosen = files if run.cases is None else list(_chosen(files[0], run))
    return [
        *chosen,
        *(f"--tooleval-model={model}" for model in run.models),
        *(argument for name, text in run.options.items() for argument in IN_FORM[name].arguments(text)),
        *(f"--tooleval-allow-tools={names}" for names in allowed_tools),
        *([f"-k{run.keyword}"] if run.keyword else []),
        "--color=no",
    ]


def _chosen(file: str, run: NewRun) -> Iterator[str]:
    """The node ids of chosen cases. For one made by a row, pytest needs the model too."""
    for case in run.cases or ():
        conditions = [f"[{model}]" for model in run.models] if case.endswith("]") else [""]
        yield from (f"{file}::{case}{condition}" for condition in conditions)


class PytestRun:
    """A pytest process in the root folder, and its events. Can be used from any thread."""

    def __init__(self, root: Path, new_run: NewRun, allowed_tools: Sequence[str]) -> None:
        """Starts the process; OSError if that fails."""
        self._root = root
        self._asked = new_run
        self._child = Child(pytest_arguments(new_run, allowed_tools), root)
        self.events = EventLog()
        self.about: Run | None = None
        self.status: ChildStatus = "running"
        self._total = 0
        self._problems: list[str] = []
        # The start and length of each finished case's line in the file.
        self._places: dict[str, tuple[int, int]] = {}
        # Set once the first event has arrived, or none will.
        self.is_known = threading.Event()
        # A daemon, as a run that hangs must not keep the server from ending.
        self._thread = threading.Thread(target=self._follow, name="tooleval-run", daemon=True)
        self._thread.start()

    @property
    def id(self) -> str:
        return self.about.id if self.about else ""

    @property
    def problem(self) -> str:
        return in_page_words("; ".join(self._problems))

    def state(self) -> dict[str, Any]:
        """The run as JSON. `output` is the end of pytest's output, once the run has ended."""
        about, asked = self.about, self._asked
        return {
            "id": self.id,
            "status": self.status,
            "started": about.started if about else "",
            "models": [model.model for model in about.models] if about else [],
            "files": asked.files,
            "cases": asked.cases,
            "options": about.options if about else {},
            "done": len(self._places),
            "total": self._total,
            "problem": self.problem,
            "output": "" if self.status == "running" else self.output(),
        }

    def output(self) -> str:
        return self._child.output()

    def case(self, nodeid: str) -> bytes | None:
        """A case with transcripts as JSON; None if it has not finished."""
        if nodeid not in self._places:
            return None
        line = self._child.read(*self._places[nodeid])
        return None if line is None else bytes(msgspec.json.decode(line, type=_WholeCase).case)

    def cancel(self) -> None:
        """End the run like Ctrl-C, keeping its results; kill it if that takes too long."""
        self._child.cancel()

    def kill(self) -> None:
        self._child.kill()

    def wait(self, timeout_s: float) -> None:
        """Wait until the process has ended and its events are read."""
        self._thread.join(timeout_s)

    def forget(self) -> None:
        """Delete its files."""
        self._child.close()

    def _follow(self) -> None:
        try:
            for line in self._child.events():
                self._take(line)
            self.status = self._ended()
        except Exception as error:
            _logger.exception("cannot follow a run")
            self._problems.append(f"internal error of pytest-tooleval: {type(error).__name__}")
            self.status = "failed"
            self.kill()
        self._child.release()
        self.events.add("done", to_json({"status": self.status}))
        self.events.is_over = True
        self.is_known.set()

    def _take(self, line: EventLine) -> None:
        event, data = line.event, line.text.rstrip()
        if isinstance(event, RunStarted):
            self.about = event.run
            if Path(event.root).resolve() != self._root:
                self._problems.append(
                    f"pytest's root folder is {event.root}, which has the history of this run; "
                    "start `tooleval ui` there"
                )
            self.is_known.set()
        elif isinstance(event, Collected):
            self._total = sum(event.cases.values())
        elif isinstance(event, CollectionProblem):
            self._problems.append(f"{event.nodeid} could not be collected")
        elif isinstance(event, RowDone):
            self._places[event.case.nodeid] = line.start, len(line.text)
            data = to_json(event)  # without explanations and transcripts
        elif isinstance(event, RunEnded):
            reason = "" if self._child.is_cancelled else event.reason
            self._problems += filter(None, [reason, *event.unwritten])
        self.events.add(str(event.__struct_config__.tag), data)

    def _ended(self) -> ChildStatus:
        code = self._child.exitstatus
        if code in (0, 1):
            return "finished"
        if self._child.is_cancelled:
            return "cancelled"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        self._problems.append(f"pytest {how}")
        return "failed"


class PageRuns:
    """Can be used from any thread. `allowed_tools` are the live tools that runs may call."""

    def __init__(self, root: Path, allowed_tools: Sequence[str]) -> None:
        self._root = root
        self._allowed_tools = allowed_tools
        self._lock = threading.Lock()
        self._runs: list[PytestRun] = []
        self._is_closing = False
        self.is_closed = False

    def begin(self, new_run: NewRun) -> PytestRun:
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
                run = PytestRun(self._root, new_run, self._allowed_tools)
            except (OSError, ValueError) as error:  # ValueError for a name with a NUL character
                raise ApiError(500, f"could not start pytest: {error}") from None
            self._runs.append(run)
        if not run.is_known.wait(START_S):
            run.kill()
            run.wait(GRACE_S)
        if not run.id:
            raise ApiError(422, run.problem or "pytest did not start", output=run.output())
        return run

    def estimate(self, new_run: NewRun) -> str:
        """The estimate of a run. ApiError 422 with pytest's output if there is none."""
        arguments = [*pytest_arguments(new_run, self._allowed_tools), "--tooleval-estimate", "-q"]
        try:
            with Child(arguments, self._root) as child:
                if (estimated := child.read_estimate(ESTIMATE_S)) is None:
                    raise ApiError(422, "pytest could not estimate the run", output=child.output())
        except (OSError, ValueError, ToolevalError) as error:
            raise ApiError(500, f"could not start pytest: {error}") from None
        return "\n".join(estimate_lines(estimated))

    def started_runs(self) -> list[PytestRun]:
        """The runs that have started, oldest first."""
        return [run for run in list(self._runs) if run.id]

    def get(self, id: str) -> PytestRun | None:
        return next((run for run in self.started_runs() if run.id == id), None)

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
