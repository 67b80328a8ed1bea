"""Whether a run that has not said that it is over still goes on.

A run holds the lock of a file of its own, RUNNING/ID. The system takes the lock away when the process
ends, however it ends; a process id could long belong to another one.
"""

from __future__ import annotations

import contextlib
import platform
import sys
import time
from pathlib import Path
from typing import BinaryIO

# For a run on another machine, whose locks may not be seen here: how long without any new result.
SILENCE_S = 3600.0

if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO, *, shared: bool = False) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: BinaryIO, *, shared: bool = False) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


class Running:
    """The sign that a run goes on, from making this object until `end` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Raises OSError when the file cannot be made."""
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("wb")
        with contextlib.suppress(OSError):  # on a file system without locks, age has to decide
            _lock(self._file)

    def end(self) -> None:
        self._file.close()
        with contextlib.suppress(
            OSError
        ):  # on Windows while somebody looks at it: without a lock it says nothing
            self._path.unlink()


def is_locked(path: Path) -> bool | None:
    """Whether a live process holds the lock of this file; None when that cannot be found out."""
    try:
        with path.open("r+b") as file:
            # Shared, so that two that look at once do not take each other for the run.
            _lock(file, shared=True)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError) as error:
        # Windows reports a lock of somebody else as a missing permission.
        return True if isinstance(error, BlockingIOError) or sys.platform == "win32" else None
    except OSError:
        return None
    return False


def this_host() -> str:
    return platform.node()


def has_died(path: Path, host: str, updated: float) -> bool:
    """Of a run that has not finished: whether it never will, by its lock, its host and its last write.

    A run of this host without a lock is dead. Of a run elsewhere (a container, a network drive) the
    lock may be invisible here, so it counts as running until nothing has come for an hour.
    """
    locked = is_locked(path)
    if locked is False and host == this_host():
        return True
    return not locked and time.time() - updated >= SILENCE_S
