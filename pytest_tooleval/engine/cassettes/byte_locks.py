"""Locks on single bytes of a file, which the system releases when a process ends."""

from __future__ import annotations

import errno
import sys
import time
from io import FileIO

# How the system says that another process has the lock.
TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_PAUSE_S = 0.001

if sys.platform == "win32":
    import msvcrt

    def lock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def unlock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(file: FileIO, place: int) -> None:
        """Raises OSError, with an errno in TAKEN if another process has the lock."""
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

    def unlock(file: FileIO, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def wait_for_lock(file: FileIO, place: int) -> None:
    """Raises OSError if the file system has no locks."""
    while True:
        try:
            return lock(file, place)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        time.sleep(_PAUSE_S)
