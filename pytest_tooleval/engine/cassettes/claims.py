"""Claims on questions, so that two runs with one cassette do not pay twice."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import sys
from io import FileIO
from pathlib import Path

from .folders import work_folder

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    def _lock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(file: FileIO, place: int) -> None:
        file.seek(place)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: FileIO, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

    def _unlock(file: FileIO, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


class Claims:
    """Locks on single bytes of an empty file, which the system releases when a process ends.

    The file is in the work folder of `root`. If it cannot be created or locked, every claim
    succeeds. Belongs to one event loop.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: FileIO | None = None
        self._works = True
        self._held: set[int] = set()

    def take(self, name: str) -> bool:
        """Take the claim, and return whether no other process had it."""
        place = _place(name)
        if self._works and place not in self._held:
            try:
                if self._file is None:
                    self._file = FileIO(work_folder(self._root) / "asking.lock", "a+")
            except OSError:
                self._works = False
                return True
            try:
                _lock(self._file, place)
            except OSError as error:
                return error.errno not in _TAKEN
            self._held.add(place)
        return True

    def drop(self, name: str) -> None:
        place = _place(name)
        if self._file is not None and place in self._held:
            self._held.remove(place)
            with contextlib.suppress(OSError):
                _unlock(self._file, place)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._held.clear()


def _place(name: str) -> int:
    """A 60-bit number, so that two questions almost never share one."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "big") >> 4
