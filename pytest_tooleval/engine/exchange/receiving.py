"""Responses that have begun: when a run is ended, they may still come in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_Task = asyncio.Task[Any]

# The task that waits for all trials of a case, which is not cancelled before them.
_waiting: ContextVar[_Task | None] = ContextVar("_waiting", default=None)
_open: list[tuple[_Task | None, _Task | None]] = []


def waits_for_others() -> None:
    """Say that the current task waits for the tasks that it starts."""
    _waiting.set(asyncio.current_task())


@contextmanager
def receiving() -> Iterator[None]:
    """Say that the current task reads a response."""
    both = asyncio.current_task(), _waiting.get()
    _open.append(both)
    try:
        yield
    finally:
        _open.remove(both)


def receiving_tasks() -> set[_Task]:
    """The tasks that read a response, and those that wait for them."""
    return {task for both in _open for task in both if task is not None}
