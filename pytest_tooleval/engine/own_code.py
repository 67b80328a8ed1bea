"""Which of the imported modules are the project's own, and no library's."""

from __future__ import annotations

import os
import site
import sys
import sysconfig

_PLACES = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {
        *(sysconfig.get_path(place) for place in _PLACES),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
)


def is_own(module: object) -> bool:
    """Whether a module comes from no library. One without a file may be anybody's, and is own."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return not file.startswith(_LIBRARIES)
    return getattr(module, "__name__", "") not in sys.builtin_module_names
