"""Keeping the garbage collector from looking through thousands of live objects again and again."""

from __future__ import annotations

import atexit
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Python collects after every 700 (since 3.14: 2,000) new objects; one question in flight is about 100.
_SELDOM = 10_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect less often, for the whole process.

    With 500 questions in flight this saves a third of the CPU. A collector that is off, or that
    somebody has set to be slower still, is left alone.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _SELDOM:
        yield
        return
    ours = (_SELDOM, *before[1:])
    gc.set_threshold(*ours)
    try:
        yield
    finally:
        if gc.get_threshold()[0] == _SELDOM:
            gc.set_threshold(*before)


class Kept:
    """What is there at one moment and lives as long as the run, such as imports and thousands of items.

    Collections leave it out, also pytest's own at the end of the run.
    """

    def __init__(self) -> None:
        self._keeps = False

    def keep(self) -> None:
        self._keeps = True
        gc.freeze()

    def let_go(self) -> None:
        """A collector that somebody else has frozen is left alone."""
        if self._keeps:
            self._keeps = False
            gc.unfreeze()


@functools.cache
def left_at_exit() -> None:
    """Leave to the system what is alive when the interpreter ends, in place of taking it apart.

    With litellm loaded, taking it apart costs more than a second. Modules are still cleared, and
    what only they hold is closed; what is part of a cycle is not.
    """
    atexit.register(gc.freeze)


@contextmanager
def not_collected() -> Iterator[None]:
    """Without any collection, for imports that make thousands of classes and no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
