"""A run of the page: a pytest process, followed by its events."""

from __future__ import annotations

import contextlib
import logging
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import Struct

from ..record.encoding import to_json
from ..record.events import Collected, CollectionProblem, RowDone, RowEvent, RunEnded, RunStarted
from ..record.run import Run
from ..secrets import scrub, secret_values
from ..text import printable
from ..verdicts.options import FORM
from .bodies import NewRun
from .events import EventLog
from .processes import interrupt, kill, start
from .wording import in_page_words

Status = Literal["running", "finished", "cancelled", "failed"]

# On a busy machine, or with the history in a bucket, keeping the results takes more than some seconds.
GRACE_S = 30.0
ESTIMATE_S = 120.0
_TICK_S = 0.1
_OUTPUT_SHOWN = 20_000

_logger = logging.getLogger("pytest_tooleval.web")
_event = msgspec.json.Decoder(RowEvent)


class RunState(Struct, frozen=True, kw_only=True):
    """The state of a run. `output` is the end of pytest's output, once the run has ended."""

    id: str
    status: Status
    started: str
    models: tuple[str, ...]
    files: list[str]
    cases: list[str] | None
    options: dict[str, Any]
    done: int
    total: int
    problem: str
    output: str


class _WholeCase(Struct):
    case: msgspec.Raw


def pytest_arguments(run: NewRun, allowed_tools: Sequence[str]) -> list[str]:
    """pytest's command line. No value of a request can act as another option."""
    files = [f"./{file}" for file in run.files]
    chosen = files if run.cases is None else [f"{files[0]}::{case}" for case in run.cases]
    return [
        *chosen,
        *(f"--tooleval-model={model}" for model in run.models),
        *(argument for name, text in run.options.items() for argument in FORM[name].arguments(text)),
        *(f"--tooleval-allow-tools={names}" for names in allowed_tools),
        *([f"-k{run.keyword}"] if run.keyword else []),
        "--color=no",
    ]


def estimate(root: Path, asked: NewRun, allowed_tools: Sequence[str]) -> tuple[bool, str]:
    """Whether pytest could estimate the run, and its output."""
    arguments = [*pytest_arguments(asked, allowed_tools), "--tooleval-estimate", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=ESTIMATE_S,
        check=False,
    )
    text = printable(scrub(done.stdout, secret_values())[-_OUTPUT_SHOWN:], keep_newlines=True)
    _, found, table = text.partition("tool calling: estimate")
    return bool(found), "\n".join(table.splitlines()[1:-1]) if found else text.strip()


class PytestRun:
    """A pytest process in the root folder, and its events. Can be used from any thread.

    It writes to files in a temporary folder, which work on every system and block neither side.
    """

    def __init__(self, root: Path, asked: NewRun, allowed_tools: Sequence[str]) -> None:
        """Starts the process; OSError if that fails."""
        self._root = root
        self._asked = asked
        self._folder = Path(tempfile.mkdtemp(prefix="tooleval-run-"))
        self._events_file = self._folder / "events.jsonl"
        self._events_file.touch()
        followed = f"--tooleval-events={self._events_file}"
        command = [sys.executable, "-m", "pytest", *pytest_arguments(asked, allowed_tools), followed]
        self._process = start(command, root, self._output_file)
        self.events = EventLog()
        self.about: Run | None = None
        self.status: Status = "running"
        self._total = 0
        self._problems: list[str] = []
        # The start and length of each finished case's line in the file.
        self._places: dict[str, tuple[int, int]] = {}
        self._cancelled: float | None = None
        # Set once the first event has arrived, or none will.
        self.is_known = threading.Event()
        # A daemon, as a run that hangs must not keep the server from ending.
        self._thread = threading.Thread(target=self._follow, name="tooleval-run", daemon=True)
        self._thread.start()

    @property
    def _output_file(self) -> Path:
        return self._folder / "output.txt"

    @property
    def id(self) -> str:
        return self.about.id if self.about else ""

    def state(self) -> RunState:
        about = self.about
        return RunState(
            id=self.id,
            status=self.status,
            started=about.started if about else "",
            models=tuple(model.model for model in about.models) if about else (),
            files=self._asked.files,
            cases=self._asked.cases,
            options=about.options if about else {},
            done=len(self._places),
            total=self._total,
            problem=in_page_words("; ".join(self._problems)),
            output="" if self.status == "running" else self.output(),
        )

    def output(self) -> str:
        """The end of pytest's output, without secrets and safe to show."""
        try:
            text = self._output_file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return printable(scrub(text, secret_values())[-_OUTPUT_SHOWN:], keep_newlines=True).strip()

    def case(self, nodeid: str) -> bytes | None:
        """A case with transcripts as JSON; None if it has not finished."""
        if nodeid not in self._places:
            return None
        place, length = self._places[nodeid]
        try:
            with self._events_file.open("rb") as file:
                file.seek(place)
                return bytes(msgspec.json.decode(file.read(length), type=_WholeCase).case)
        except OSError:  # deleted in the meantime
            return None

    def cancel(self) -> None:
        """End the run like Ctrl-C, keeping its results; kill it if that takes too long."""
        if self._cancelled is None:
            self._cancelled = time.monotonic()
            interrupt(self._process)

    def kill(self) -> None:
        kill(self._process)

    def wait(self, timeout_s: float) -> None:
        """Wait until the process has ended and its events are read."""
        self._thread.join(timeout_s)

    def forget(self) -> None:
        """Delete its files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _follow(self) -> None:
        try:
            with self._events_file.open("rb") as file:
                self._read_events(file)
            self.status = self._ended()
        except Exception as error:
            _logger.exception("cannot follow a run")
            self._problems.append(f"internal error of pytest-tooleval: {type(error).__name__}")
            self.status = "failed"
            self.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self.events.add("done", to_json({"status": self.status}))
        self.events.is_over = True
        self.is_known.set()

    def _read_events(self, file: BinaryIO) -> None:
        place, line = 0, b""
        is_over = False
        while not is_over:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_TICK_S)
                is_over = True  # after reading what it wrote last
            if self._cancelled is not None and time.monotonic() - self._cancelled > GRACE_S:
                self.kill()
            for part in iter(file.readline, b""):
                line += part
                if line.endswith(b"\n"):
                    self._take(line, place)
                    place, line = place + len(line), b""

    def _take(self, line: bytes, place: int) -> None:
        event = _event.decode(line)
        data = line.rstrip()
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
            self._places[event.case.nodeid] = place, len(line)
            data = to_json(event)  # without explanations and transcripts
        elif isinstance(event, RunEnded):
            reason = event.reason if self._cancelled is None else ""
            self._problems += filter(None, [reason, *event.unwritten])
        self.events.add(str(event.__struct_config__.tag), data)

    def _ended(self) -> Status:
        code = self._process.returncode
        if code in (0, 1):
            return "finished"
        if self._cancelled is not None:
            return "cancelled"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        self._problems.append(f"pytest {how}")
        return "failed"
