"""Less garbage collection, which saves a tenth of a run (docs/reference/benchmarks.md)."""

from __future__ import annotations

import atexit
import functools
import gc
import sys

# Python collects after 700 (since 3.14: 2,000) new objects; a running question has about 100.
_SELDOM = 10_000

_before: tuple[int, int, int] | None = None
_frozen = False


def collect_seldom(on: bool) -> None:
    """Make the whole process collect less often, or as before.

    Changes nothing if the collector is off or already collects less often.
    """
    global _before  # noqa: PLW0603
    threshold = gc.get_threshold()
    if on and _before is None and 0 < threshold[0] < _SELDOM:
        _before = threshold
        gc.set_threshold(_SELDOM, *threshold[1:])
    elif not on and _before is not None:
        if threshold[0] == _SELDOM:
            gc.set_threshold(*_before)
        _before = None


def leave_out_what_is_there() -> None:
    """Keep out of all collections what lives as long as the run: modules, suites, thousands of items.

    pytest looks through everything twice when a run ends, while somebody waits for it.
    """
    global _frozen  # noqa: PLW0603
    if not gc.get_freeze_count():  # else somebody has done so, and will undo it
        _frozen = True
        gc.freeze()


def as_before() -> None:
    """Undo both at the end of a run."""
    global _frozen  # noqa: PLW0603
    collect_seldom(False)
    if _frozen:
        _frozen = False
        gc.unfreeze()


@functools.cache
def leave_memory_at_exit() -> None:
    """Leave freeing the memory to the system instead of the interpreter.

    This saves a sixth of the CPU time of a short run, and a second with litellm.
    """
    atexit.register(_leave_memory)


def _leave_memory() -> None:
    # The interpreter still clears modules, which closes files and calls `__del__`.
    modules: list[object] = [*sys.modules.values()]
    modules.append(modules)
    gc.freeze()
