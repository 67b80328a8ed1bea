"""Runs between us and a server on stdio, as a process of its own, and bounds what comes through.

    python relay.py TOKEN MAX_LINE MAX_TOTAL COMMAND [ARGUMENT...]

The SDK reads lines of any length into memory. Here the server inherits stdin and stderr, and its
stdout is passed on until a line has more than MAX_LINE bytes, or all have more than MAX_TOTAL (0:
any number). How it ended is the last line on stderr: TOKEN and JSON. When the process that started
this one is gone, however it died, the server is ended too. Uses only the standard library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

CHUNK = 65536
_GRACE_S = 2.0


def main(arguments: list[str]) -> int:
    """Run the command; the code that the server exited with, or 1."""
    token, max_line, max_total, *command = arguments
    # Whoever ends us asks the whole group: we stay to reap the server. A handler and not SIG_IGN, which
    # the server would inherit.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    if os.name != "nt":
        # Before the first message, whoever started us may give up half-way and kill us alone; a
        # server that ran already would have nobody left to end it.
        select.select([0], [], [])
    try:
        server = subprocess.Popen(command, stdout=subprocess.PIPE)
    except OSError as error:
        _report(token, {"not_started": error.strerror or str(error)})
        return 1
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    assert server.stdout is not None
    problem = _pass_on(server.stdout.fileno(), int(max_line), int(max_total))
    if problem is not None:
        _report(token, problem)
        os.close(1)
        server.stdout.close()
        server.wait()  # whoever started us ends the whole group now
        return 1
    code = server.wait()
    _report(token, {"exit": code})
    return code if code >= 0 else 1


def _pass_on(source: int, max_line: int, max_total: int) -> dict[str, int] | None:
    """Copy the server's output to ours, line by line; the limit that it broke, if it did.

    Whole lines, because the SDK's work for a line grows with the square of its pieces.
    """
    waiting: list[bytes] = []
    length = total = 0
    while chunk := os.read(source, CHUNK):
        total += len(chunk)
        if max_total and total > max_total:
            return {"max_total": max_total}
        complete, newline, rest = chunk.rpartition(b"\n")
        lengths = [len(line) for line in chunk.split(b"\n")]
        lengths[0] += length
        if max(lengths) > max_line:
            return {"max_line": max_line}
        if newline:
            _write(b"".join([*waiting, complete, newline]))
            waiting = []
        waiting.append(rest)
        length = lengths[-1]
    _write(b"".join(waiting))
    return None


def _write(data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        pass  # nobody listens any more; the server's output is read on, so that it can finish


def _end_with_parent(server: subprocess.Popen[bytes]) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    time.sleep(_GRACE_S)  # its stdin is closed now, on which a good server ends
    server.terminate()
    time.sleep(_GRACE_S)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _report(token: str, how: Mapping[str, object]) -> None:
    os.write(2, f"\n{token} {json.dumps(how)}\n".encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
