"""Captures what the code of a world prints, in its thread only."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from typing import TextIO

_here = threading.local()


class _Shared:
    """A stream of the process. A thread can capture what it writes itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        captured: io.StringIO | None = getattr(_here, "captured", None)
        return self._stream.write(text) if captured is None else captured.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def captured_in(output: io.StringIO) -> Iterator[None]:
    """Capture what this thread prints to standard output and standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # pytest keeps replacing the streams.
        if not isinstance(stream, _Shared):
            setattr(sys, name, _Shared(stream))
    _here.captured = output
    try:
        yield
    finally:
        _here.captured = None
