"""What the code of a world prints, kept apart from what all others print at the same time."""

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
    """A stream of the process, from which a thread may take what it writes itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        taken: io.StringIO | None = getattr(_here, "taken", None)
        return self._stream.write(text) if taken is None else taken.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def taken_by(output: io.StringIO) -> Iterator[None]:
    """Take what this thread prints to standard output and standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # pytest puts streams of its own there time and again.
        if not isinstance(stream, _Shared):
            setattr(sys, name, _Shared(stream))
    _here.taken = output
    try:
        yield
    finally:
        _here.taken = None
