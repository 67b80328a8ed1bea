"""Claims on questions, so that two runs with one cassette do not pay twice."""

from __future__ import annotations

import contextlib
import hashlib
from io import FileIO
from pathlib import Path

from .byte_locks import TAKEN, lock, unlock
from .folders import work_folder


class Claims:
    """Locks on the bytes of an empty file.

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
                lock(self._file, place)
            except OSError as error:
                return error.errno not in TAKEN
            self._held.add(place)
        return True

    def drop(self, name: str) -> None:
        place = _place(name)
        if self._file is not None and place in self._held:
            self._held.remove(place)
            with contextlib.suppress(OSError):
                unlock(self._file, place)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._held.clear()


def _place(name: str) -> int:
    """A 60-bit number, so that two questions almost never share one."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "big") >> 4
