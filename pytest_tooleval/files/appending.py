"""Appends lines to files, with one handle for all of them, and reads single lines again."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import NamedTuple

from .locks import BEHIND, unlock, wait_for_lock


@contextlib.contextmanager
def _locked(file: FileIO) -> Iterator[None]:
    """Lock the file, because Windows looks up its end and writes in two steps."""
    wait_for_lock(file, BEHIND)
    try:
        yield
    finally:
        end = file.tell()
        unlock(file, BEHIND)
        file.seek(end)


# Elsewhere, the system appends in one step.
_alone = _locked if sys.platform == "win32" else contextlib.nullcontext


class LineSpan(NamedTuple):
    """The bytes of a line in a file, which may be larger than memory."""

    start: int
    length: int


def line_at(file: BufferedReader, span: LineSpan) -> bytes:
    file.seek(span.start)
    return file.read(span.length)


class Appender:
    """Keeps only the last file open. The next one can use its handle, even if no others are left."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: FileIO | None = None
        # Where this process last ended a line.
        self._end = 0

    def append(self, path: Path, line: bytes) -> tuple[int, int]:
        """Append a line in one write. Returns its start and end. Raises OSError."""
        if self._path != path or self._file is None:
            self.close()
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file, self._path, self._end = FileIO(path, "ab+"), path, 0
        with _alone(self._file):
            start = self._file.seek(0, os.SEEK_END)
            if start != self._end:
                self._file.seek(-1, os.SEEK_END)
                # Start a new line, in case a killed run left one unfinished.
                line = line if self._file.read(1) == b"\n" else b"\n" + line
            _write_all(self._file, line)
            self._end = self._file.tell()
            return start, self._end

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_all(file: FileIO, data: bytes) -> None:
    """Write everything: on a nearly full disk, one write may store only a part."""
    while data:
        taken = file.write(data)
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[taken:]


def try_appending(path: Path) -> None:
    """Raise OSError if nothing could be appended to the file. Leaves the folder, but no file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.open("ab").close()
        if not os.access(path.parent, os.W_OK):
            return
    with tempfile.TemporaryFile(dir=path.parent, buffering=0) as file:
        file.write(bytes(4096))
