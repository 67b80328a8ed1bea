"""Keeping the garbage collector from looking through thousands of live objects again and again."""

from __future__ import annotations

import atexit
import functools
import gc
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager

from .own_code import is_own

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


@contextmanager
def kept_to_the_end() -> Iterator[None]:
    """Leave out of collections what there is now: thousands of items that live as long as the run."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Relief:
    """Both of the above, switched on for what needs them and off for what would see them."""

    def __init__(self) -> None:
        self._held: ExitStack | None = None

    def switch(self, on: bool) -> None:
        """To the same as before does nothing."""
        if on and self._held is None:
            self._held = ExitStack()
            self._held.enter_context(seldom_collected())
            self._held.enter_context(kept_to_the_end())
        elif not on and self._held is not None:
            self._held.close()
            self._held = None


@functools.cache
def libraries_left_at_exit() -> None:
    """Let the system take the libraries' memory when the interpreter ends: it takes them apart for long.

    That is a tenth of a second, and a whole one with litellm. The project's own modules are cleared as
    always, so that their files are closed and their objects get their `__del__`.
    """
    atexit.register(_leave_libraries)


def _leave_libraries() -> None:
    own: list[object] = [module for module in list(sys.modules.values()) if is_own(module)]
    # Its memory is not taken back either, so these modules live on until they are cleared one by one. Of
    # a module that has gone already, only a collection would find what its functions hold.
    own.append(own)
    gc.freeze()


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
