"""Whether a run is still running.

Each run holds a lock on its own file, RUNNING/ID. The system releases the lock when the process ends,
however it ends; a process id could belong to another process by then.
"""

from __future__ import annotations

import contextlib
import platform
import sys
import time
from pathlib import Path
from typing import BinaryIO

# A run on another machine, whose lock may be invisible here, counts as dead after this silence.
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
    """Marks a run as running, until `end` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Raises OSError when the file cannot be made."""
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("wb")
        with contextlib.suppress(OSError):  # a file system without locks
            _lock(self._file)

    def end(self) -> None:
        self._file.close()
        # Windows refuses while another process looks at the file, which means nothing without its lock.
        with contextlib.suppress(OSError):
            self._path.unlink()


def is_locked(path: Path) -> bool | None:
    """Whether a process holds the lock of this file; None when unknown."""
    try:
        with path.open("r+b") as file:
            # Shared, so that two processes that look at once do not mistake each other for the run.
            _lock(file, shared=True)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError) as error:
        # Windows reports the lock of another process as a missing permission.
        return True if isinstance(error, BlockingIOError) or sys.platform == "win32" else None
    except OSError:
        return None
    return False


def this_host() -> str:
    return platform.node()


def has_died(path: Path, host: str, updated: float) -> bool:
    """Whether an unfinished run was killed, by its lock, its host and the time of its last write.

    A run of this host without a lock is dead. The lock of a run elsewhere (in a container, on a network
    drive) may be invisible here, so that run counts as running until it is silent for an hour.
    """
    locked = is_locked(path)
    if locked is False and host == this_host():
        return True
    return not locked and time.time() - updated >= SILENCE_S
