"""Child processes in their own group, and the signals to end them.

So the server decides when they get Ctrl-C of its terminal. Signals go to the whole group, including
workers of xdist.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Process = subprocess.Popen[bytes]


def start(command: Sequence[str], folder: Path | None, output: Path) -> Process:
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


def interrupt(process: Process) -> None:
    """Like Ctrl-C."""
    if sys.platform == "win32":
        _send(process, signal.CTRL_BREAK_EVENT)
    else:
        _send(process, signal.SIGINT)


def kill(process: Process) -> None:
    _send(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def _send(process: Process, number: int) -> None:
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):  # it has just ended
        if sys.platform == "win32":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
