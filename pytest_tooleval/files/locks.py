"""Locks on files and on single bytes of them, which the system releases when a process ends."""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

# How the system says that another process has the lock.
TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_PAUSE_S = 0.001
# Far past the end of a file, because locked bytes cannot be read.
BEHIND = 1 << 40

if sys.platform == "win32":
    import msvcrt

    def lock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def unlock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

    def lock_file(file: FileIO, *, shared: bool = False) -> None:
        lock(file, BEHIND)

else:
    import fcntl

    def lock(file: FileIO, offset: int) -> None:
        """Raises OSError, with an errno in TAKEN if another process has the lock."""
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)

    def unlock(file: FileIO, offset: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, offset)

    def lock_file(file: FileIO, *, shared: bool = False) -> None:
        """Lock the whole file. Raises OSError.

        Unlike the lock on a byte, it stays when this process opens the file once more and closes it.
        """
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def wait_for_lock(file: FileIO, offset: int) -> None:
    """Raises OSError if the file system has no locks."""
    while True:
        try:
            return lock(file, offset)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        time.sleep(_PAUSE_S)


class ByteLocks:
    """The locks of this process on the bytes of an empty file, which is made when needed."""

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._held: set[int] = set()

    def take(self, offset: int) -> bool | None:
        """Take a lock. False if another process has it; None if the file cannot be made or locked."""
        if offset in self._held:
            return True
        try:
            self._file = self._file or FileIO(self._path(), "a+")
        except OSError:
            return None
        try:
            lock(self._file, offset)
        except OSError as error:
            return False if error.errno in TAKEN else None
        self._held.add(offset)
        return True

    def drop(self, offset: int) -> None:
        if self._file is not None and offset in self._held:
            self._held.remove(offset)
            with contextlib.suppress(OSError):
                unlock(self._file, offset)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._held.clear()
