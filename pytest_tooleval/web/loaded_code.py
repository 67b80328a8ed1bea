"""The project's own code that this process has imported, and whether its files are still the same.

Modules are imported once: new scores for old code would be wrong ones.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig

_Stamp = tuple[int, int]

_LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()}
)


class LoadedCode:
    """Stamps of the files of all modules that are no library's."""

    def __init__(self) -> None:
        self._stamps: dict[str, _Stamp] = {}
        self.note()

    def note(self) -> None:
        """Take in the modules that have been imported since the last time."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file not in self._stamps and _is_own(file):
                stamp = _stamp(file)
                if stamp is not None:
                    self._stamps[file] = stamp

    def changed(self) -> str | None:
        """A file that is not what it was when it was imported; None without one."""
        return next((file for file, stamp in list(self._stamps.items()) if _stamp(file) != stamp), None)


def _is_own(file: str) -> bool:
    # Conftest files are imported anew for every run, see `scorers`.
    return not file.startswith(_LIBRARIES) and os.path.basename(file) != "conftest.py"


def _stamp(file: str) -> _Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
