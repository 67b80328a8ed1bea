"""A run's events: kept as they go over the wire, for any number of listeners, now and later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from collections.abc import Callable

_TICK_S = 0.1
_HEARTBEAT_S = 15.0
_AT_ONCE = 100  # events that are sent before others get their turn


class EventLog:
    """Server-sent events with ids from 1. One thread adds, any number read.

    Each is kept as the bytes that are sent: thousands of rows as objects would take many times that.
    """

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self.is_over = False

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, name: str, data: bytes) -> None:
        """Add an event. Its data is JSON on one line."""
        self._frames.append(b"id: %d\nevent: %b\ndata: %b\n\n" % (len(self) + 1, name.encode(), data))

    def frames(self, after: int) -> list[bytes]:
        return self._frames[after : after + _AT_ONCE]

    def place(self, id: str) -> int:
        """How many events somebody has seen who saw this one last; 0 for an id that is not ours."""
        is_number = id.isascii() and id.isdigit() and len(id) < 12
        return min(int(id), len(self)) if is_number else 0


async def stream(log: EventLog, after: int, is_closed: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The events behind the first `after`, and those to come, until the run or the server is over."""
    # Looking again is simpler than being told by another thread, and many rows go in one piece.
    yield b"retry: 1000\n\n"
    last = time.monotonic()
    while True:
        is_over = log.is_over
        frames = log.frames(after)
        if frames:
            yield b"".join(frames)
            after += len(frames)
            last = time.monotonic()
            await asyncio.sleep(0)
        elif is_over or is_closed():
            return
        else:
            if time.monotonic() - last > _HEARTBEAT_S:
                yield b": nothing new\n\n"
                last = time.monotonic()
            await asyncio.sleep(_TICK_S)
