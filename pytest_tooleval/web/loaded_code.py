"""The project's own code that this process has imported, and whether its files are still the same.

Modules are imported once: new scores for old code would be wrong ones.
"""

from __future__ import annotations

import os
import sys

from ..engine.own_code import is_own

_Stamp = tuple[int, int]


class LoadedCode:
    """Stamps of the files of all modules that are no library's."""

    def __init__(self) -> None:
        self._stamps: dict[str, _Stamp | None] = {}
        self.note()

    def note(self, since: float | None = None) -> None:
        """Take in the modules that have been imported since the last time.

        With `since`, a moment in seconds of the epoch, a file that was written after it counts as
        changed: it may have been imported before.
        """
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            # Conftest files are imported anew for every run, see `scorers`.
            if (
                not isinstance(file, str)
                or file in self._stamps
                or os.path.basename(file) == "conftest.py"
            ):
                continue
            if is_own(module) and (stamp := _stamp(file)) is not None:
                is_late = since is not None and stamp[0] > since * 1e9
                self._stamps[file] = None if is_late else stamp

    def changed(self) -> str | None:
        """A file that is not what it was when it was imported; None without one."""
        stamps = list(self._stamps.items())
        return next((file for file, stamp in stamps if stamp is None or _stamp(file) != stamp), None)


def _stamp(file: str) -> _Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
