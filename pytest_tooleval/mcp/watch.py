"""What passes between us and a server, noted for the sake of clear errors, and kept within limits."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from ..errors import McpError
from ..text import ELLIPSIS

_CHUNK = 4096
_KEPT = 2 * _CHUNK  # bytes of what a server last wrote to stderr
_FIRST_WORD = re.compile(r"\S*")
_DRAINED_S = 1.0


@dataclass(frozen=True)
class Limits:
    """Bytes that one message may have, and over HTTP all of a connection; None is without end.

    JSON takes ten to twenty times its size in memory once it is read.
    """

    message: int = 8 * 1024 * 1024
    total: int | None = 64 * 1024 * 1024


class Watch:
    """One connection: what the server's process or its HTTP answers said outside of the protocol."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.received = 0
        self.status: int | None = None  # of the last HTTP answer
        self.content_type = ""
        self.give_up: Callable[[], None] = lambda: None  # ends the connection
        self.problem: McpError | None = None  # what is known to be wrong, whatever the SDK says
        self.junk: str | None = None  # the first thing that the server wrote and is no message
        self._stderr = b""
        self._has_dropped = False  # of what was written to stderr
        self._reader: threading.Thread | None = None

    def broken(self, problem: McpError) -> McpError:
        """Keep a problem and end the connection: the SDK passes over some errors that it meets."""
        if self.problem is None:
            self.problem = problem
        self.give_up()
        return problem

    def saw_junk(self, text: str) -> None:
        # Whole, and a message is bounded: half of a secret would not be found to be one.
        if self.junk is None:
            self.junk = text

    @contextlib.contextmanager
    def stderr(self) -> Iterator[TextIO]:
        """A file for a process to write its errors to, of which the last ones are kept."""
        reading, writing = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._reader.start()
        with open(writing, "w", encoding="utf-8") as file:
            yield file

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                written = self._stderr + chunk
                self._has_dropped = self._has_dropped or len(written) > _KEPT
                self._stderr = written[-_KEPT:]

    def last_words(self) -> str:
        """What a process that has ended wrote to stderr last."""
        if self._reader is not None:
            self._reader.join(_DRAINED_S)
        text = self._stderr.decode("utf-8", "replace")
        # What is left of the first word may be the end of a secret, which nobody could tell.
        return _FIRST_WORD.sub(ELLIPSIS, text, count=1) if self._has_dropped else text


def too_large(what: str, limit: int) -> McpError:
    return McpError(f"{what} has more than {limit / (1024 * 1024):.3g} MiB; that much is not read")
