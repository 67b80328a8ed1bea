"""The log of a run that has not ended: an event a line, in a file that its process keeps locked.

The system releases the lock when the process ends, however it ends; a process id could belong to another
process by then. Each run has its own file, which no other process appends to.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from ..errors import ToolevalError, os_reason
from ..files.folders import hidden_folder
from ..files.locks import lock_file
from ..record.comparison import Comparison
from ..record.encoding import to_json
from ..record.gates import Gate
from ..record.results import CaseRow, KeptCase
from ..record.run import Run
from ..text import printable
from .heads import Trust, trust_of

ENDING = ".jsonl"
# A run on another machine, whose lock may be invisible here, counts as dead after this silence.
SILENCE_S = 3600.0
_LAST = b'{"trust":'


class _Event(Struct, omit_defaults=True):
    """The first line has the run and its host, the last one the ended run, its verdict and its trust."""

    trust: Trust | None = None
    run: Run | None = None
    host: str = ""
    case: msgspec.Raw = msgspec.Raw()
    gates: tuple[Gate, ...] = ()
    baseline: Comparison | None = None


class Log(NamedTuple):
    """A run as far as its file knows it; `cases` by node id, of one that ran again the last result."""

    run: Run
    cases: dict[str, KeptCase]
    gates: tuple[Gate, ...]
    baseline: Comparison | None
    trust: Trust | None  # None until the run has finished
    bytes: int
    updated: float


class RunWriter:
    """Appends to the file of one run. The run counts as running until `close`, or the process's end."""

    def __init__(self, path: Path, run: Run, publish: Callable[[Path], str] = lambda _: "") -> None:
        """`publish` puts a finished run where the runs are, or returns why it cannot.

        Raises ToolevalError when the file cannot be made, or is there already.
        """
        self.id = run.id
        self._path, self._publish = path, publish
        try:
            hidden_folder(path.parent.parent)
            path.parent.mkdir(exist_ok=True)
            self._file = FileIO(path, "xb")
        except OSError as error:
            if path.exists():
                raise ToolevalError(f"{path}: there is a run {run.id} already") from None
            raise _unwritable(path.parent.parent, error) from error
        try:
            with suppress(OSError):  # a file system without locks
                lock_file(self._file)
            self._append(to_json(_Event(run=run, host=this_host())))
        except BaseException:  # also Ctrl-C: then the run begins again
            self.close()
            path.unlink()
            raise

    def add(self, cases: Iterable[KeptCase]) -> None:
        """Append cases. One replaces an earlier one with the same node id. Raises ToolevalError."""
        for case in cases:
            self._append(b'{"case":' + case.json + b"}")

    def finish(self, run: Run, gates: Sequence[Gate] = (), baseline: Comparison | None = None) -> str:
        """Keep how the run ended, with its verdict, and publish it.

        Returns why it stays on this machine; empty if it does not. Raises ToolevalError.
        """
        trust = trust_of(run)
        self._append(to_json(_Event(run=run, gates=tuple(gates), baseline=baseline, trust=trust)))
        try:
            return self._publish(self._path)
        finally:
            self.close()

    def _append(self, line: bytes) -> None:
        """In one write, so that Ctrl-C cannot cut the line."""
        try:
            self._file.seek(0, os.SEEK_END)
            if self._file.write(line + b"\n") <= len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        self._file.close()


def _unwritable(path: Path, error: OSError) -> ToolevalError:
    return ToolevalError(f"{path}: cannot be written: {os_reason(error)}")


def read_log(path: Path) -> Log:
    """A last line that a kill cut is ignored.

    Raises FileNotFoundError, and ToolevalError if it cannot be read.
    """
    first: _Event | None = None
    last, cases = _Event(), {}
    try:
        # Before its events: a run without its lock writes no more.
        locked, updated = is_locked(path), path.stat().st_mtime
        data = path.read_bytes()
        for line in data.split(b"\n")[:-1]:
            event = _READ.decode(line)
            if event.case:
                row = _READ_ROW.decode(event.case)
                cases[row.nodeid] = KeptCase(row, bytes(event.case))
            elif first is None:
                first = event
            else:
                last = event
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ToolevalError(f"{path}: cannot be read: {os_reason(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ToolevalError(f"{path}: damaged: {printable(str(error))}; delete it") from None
    run = last.run or (first.run if first else None)
    if first is None or run is None or run.id != path.name.removesuffix(ENDING):
        raise ToolevalError(f"{path}: damaged: it does not begin with its run; delete it")
    if last.trust is None:
        run = _unfinished(run, locked, first.host, updated)
    return Log(run, cases, last.gates, last.baseline, last.trust, len(data), updated)


def _unfinished(run: Run, locked: bool | None, host: str, updated: float) -> Run:
    """The run with its duration until its last event, and whether it was killed.

    A run of this host without a lock is dead. The lock of a run elsewhere (in a container, on a network
    drive) may be invisible here, so that run counts as running until it is silent for an hour.
    """
    is_silent = not locked and time.time() - updated >= SILENCE_S
    is_dead = is_silent or (locked is False and host == this_host())
    lasted = max(0.0, updated - datetime.fromisoformat(run.started).timestamp())
    return structs.replace(run, status="killed" if is_dead else "running", duration_s=lasted)


_READ = msgspec.json.Decoder(_Event)
_READ_ROW = msgspec.json.Decoder(CaseRow)


def is_waiting(path: Path) -> bool:
    """Whether the run in this file has finished, and its process has ended."""
    if is_locked(path):
        return False
    try:
        with path.open("rb") as file:
            return any(line.startswith(_LAST) and line.endswith(b"\n") for line in file)
    except OSError:
        return False


def is_locked(path: Path) -> bool | None:
    """Whether a process holds the lock of this file; None when unknown."""
    try:
        with FileIO(path, "r+b") as file:
            # Shared, so that two processes that look at once do not mistake each other for the run.
            lock_file(file, shared=True)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError) as error:
        # Windows reports the lock of another process as a missing permission.
        return True if isinstance(error, BlockingIOError) or sys.platform == "win32" else None
    except OSError:
        return None
    return False


def this_host() -> str:
    return platform.node()
