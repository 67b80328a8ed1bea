"""Capture the output of a world's code, in its own thread only."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_here = threading.local()
_lock = threading.Lock()
_captures = 0


class _SharedStream:
    """A stream of the process, from which each thread can capture its own output."""

    def __init__(self, stream: TextIO) -> None:
        self.original = stream

    def write(self, text: str) -> int:
        captured: io.StringIO | None = getattr(_here, "captured", None)
        return self.original.write(text) if captured is None else captured.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


@contextmanager
def captured_in(output: io.StringIO) -> Iterator[None]:
    """Capture what this thread prints to standard output and standard error."""
    _here.captured = output
    _count(1)
    try:
        yield
    finally:
        _here.captured = None
        _count(-1)


def _count(change: int) -> None:
    """Share the streams only while any thread captures, as pytest replaces them between tests."""
    global _captures  # noqa: PLW0603
    with _lock:
        _captures += change
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if _captures and not isinstance(stream, _SharedStream):
                setattr(sys, name, _SharedStream(stream))
            elif not _captures and isinstance(stream, _SharedStream):
                setattr(sys, name, stream.original)
