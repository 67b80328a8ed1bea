"""Sparing the garbage collector work, a tenth of a whole run (docs/reference/benchmarks.md)."""

from __future__ import annotations

import atexit
import functools
import gc
import sys

# Python collects after every 700 (since 3.14: 2,000) new objects; one question in flight is about 100.
_SELDOM = 10_000

_before: tuple[int, int, int] | None = None
_frozen = False


def collect_seldom(on: bool) -> None:
    """Let the whole process collect less often, or as it did before.

    A collector that is off, or that somebody has set to be slower still, is left alone.
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
    """Let the system take what the interpreter would take apart when it ends.

    That is a sixth of the CPU of a short run, and with litellm a second.
    """
    atexit.register(_leave_memory)


def _leave_memory() -> None:
    # They live on, so that the interpreter clears each by itself: files are closed, `__del__` is called.
    modules: list[object] = [*sys.modules.values()]
    modules.append(modules)
    gc.freeze()
