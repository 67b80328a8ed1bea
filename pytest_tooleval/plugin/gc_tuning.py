"""Reduces garbage collection. The figures come from tests/benchmarks/bench_tricks.py."""

from __future__ import annotations

import atexit
import functools
import gc
import sys

_frozen = False


def leave_out_what_is_there() -> None:
    """Exclude long-lived objects from garbage collection: modules, suites, thousands of items.

    pytest collects garbage twice at the end of a run, while the user waits. Without this, a short
    run takes 1.10 times as long.
    """
    global _frozen  # noqa: PLW0603
    if not gc.get_freeze_count():  # otherwise other code froze the objects, and will unfreeze them
        _frozen = True
        gc.freeze()


def undo_tuning() -> None:
    """Undo `leave_out_what_is_there` at the end of the run."""
    global _frozen  # noqa: PLW0603
    if _frozen:
        _frozen = False
        gc.unfreeze()


@functools.cache
def leave_memory_at_exit() -> None:
    """At exit, let the system free the memory instead of the interpreter.

    Without this, a short run takes 1.18 times as long, and 1.40 times with litellm.
    """
    atexit.register(_leave_memory)


def _leave_memory() -> None:
    # The interpreter still clears modules, which closes files and calls `__del__`.
    modules: list[object] = [*sys.modules.values()]
    modules.append(modules)
    gc.freeze()
