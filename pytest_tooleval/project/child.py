"""pytest as a child process, followed by its events.

It has its own group, so that its starter decides when it gets Ctrl-C of its terminal. Signals go to the
whole group, including workers of xdist.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import ToolevalError
from ..record.events import Estimated, RowEvent
from ..secrets import scrub, secret_values
from ..settings.settings import WITHOUT_SECRETS
from ..text import printable

# On a busy machine, or with the history in a bucket, keeping the results takes more than some seconds.
GRACE_S = 30.0
_TICK_S = 0.1
_OUTPUT_SHOWN = 20_000
_ERROR_LINES = 20
_event = msgspec.json.Decoder(RowEvent)


class RunExit(NamedTuple):
    """How a run ended; `errors` is the end of its standard error, without secrets and safe to show."""

    exitstatus: int
    errors: str


class EventLine(NamedTuple):
    """An event, and its line in the events file with the place where that begins."""

    event: RowEvent
    text: bytes
    start: int


def run_pytest(arguments: Sequence[str], *, has_secrets: bool) -> RunExit:
    """Run pytest in this terminal. Without secrets, cases that cannot be asked are skipped."""
    kept: deque[bytes] = deque(maxlen=_ERROR_LINES)
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        env={**os.environ, **({} if has_secrets else {WITHOUT_SECRETS: "1"})},
        stderr=subprocess.PIPE,
    )

    def pass_on() -> None:
        assert child.stderr is not None
        for line in child.stderr:
            kept.append(line)
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()

    passing = threading.Thread(target=pass_on, daemon=True)
    passing.start()
    while child.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):  # pytest also gets it, and ends in order
            child.wait()
    passing.join(_TICK_S)  # a program that it left behind may hold the pipe open
    text = b"".join(kept).decode("utf-8", "replace")
    return RunExit(child.returncode, printable(scrub(text, secret_values()), keep_newlines=True).strip())


class Child:
    """A pytest process. Can be used from any thread. Leaving the context ends it.

    It writes to files in a temporary folder, which work on every system and block neither side.
    """

    def __init__(self, arguments: Sequence[str], folder: Path | None = None) -> None:
        """Starts it in a folder, by default the current one. Raises OSError, and ValueError for NUL."""
        self._folder = Path(tempfile.mkdtemp(prefix="tooleval-run-"))
        self._events_file = self._folder / "events.jsonl"
        self._events_file.touch()
        command = [sys.executable, "-m", "pytest", *arguments, f"--tooleval-events={self._events_file}"]
        self._process = _start(command, folder, self._output_file)
        self._cancelled: float | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.close()

    @property
    def _output_file(self) -> Path:
        return self._folder / "output.txt"

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled is not None

    @property
    def exitstatus(self) -> int:
        """pytest's exit status, or minus the signal that killed it, once it has ended."""
        return self._process.returncode

    def output(self) -> str:
        """The end of pytest's output, without secrets and safe to show."""
        try:
            text = self._output_file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return printable(scrub(text, secret_values())[-_OUTPUT_SHOWN:], keep_newlines=True).strip()

    def events(self, timeout_s: float | None = None) -> Iterator[EventLine]:
        """The events, until the process has ended. ToolevalError after a time-out."""
        begin = time.monotonic()
        start, line, is_over = 0, b"", False
        with self._events_file.open("rb") as file:
            while not is_over:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_TICK_S)
                    is_over = True  # after reading what it wrote last
                if self._cancelled is not None and time.monotonic() - self._cancelled > GRACE_S:
                    self.kill()
                if timeout_s is not None and time.monotonic() - begin > timeout_s:
                    raise ToolevalError(f"pytest did not end within {timeout_s:g} s")
                for part in iter(file.readline, b""):
                    line += part
                    if line.endswith(b"\n"):
                        yield EventLine(_event.decode(line), line, start)
                        start, line = start + len(line), b""

    def read_estimate(self, timeout_s: float | None = None) -> Estimated | None:
        """What a run with --tooleval-estimate would send, once it has ended; None if it failed."""
        estimates = [line.event for line in self.events(timeout_s) if isinstance(line.event, Estimated)]
        return estimates[0] if estimates else None

    def read(self, start: int, length: int) -> bytes | None:
        """A part of the events file; None if it has been deleted."""
        try:
            with self._events_file.open("rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError:
            return None

    def cancel(self) -> None:
        """End the run like Ctrl-C, keeping its results; `events` kills it if that takes too long."""
        if self._cancelled is None:
            self._cancelled = time.monotonic()
            _send(self._process, "CTRL_BREAK_EVENT" if sys.platform == "win32" else "SIGINT")

    def kill(self) -> None:
        _send(self._process, "SIGTERM" if sys.platform == "win32" else "SIGKILL")

    def release(self) -> None:
        """Close the pipe to a process that has ended."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def close(self) -> None:
        """Kill the process if it still runs, and delete its files."""
        self.kill()
        self.release()
        shutil.rmtree(self._folder, ignore_errors=True)


def _start(command: Sequence[str], folder: Path | None, output: Path) -> subprocess.Popen[bytes]:
    """Start pytest in a folder, with all output to a file.

    Its input is a pipe that the system closes when this process ends, and the run with it.
    """
    with output.open("wb") as file:
        group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "TOOLEVAL_STOP_ON_EOF": "1"},
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            **group,
        )


def _send(process: subprocess.Popen[bytes], name: str) -> None:
    if process.poll() is not None:
        return
    number = getattr(signal, name)
    with contextlib.suppress(OSError):  # it has just ended
        if sys.platform == "win32":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
