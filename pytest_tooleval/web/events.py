"""A run's events, stored for any number of listeners, now and later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

_TICK_S = 0.1
_HEARTBEAT_S = 15.0
_AT_ONCE = 100  # events to send before other requests get their turn


class EventLog:
    """Server-sent events with ids from 1. One thread adds, any number read.

    Events are stored as the bytes to send, which take far less memory than objects.
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
        """How many events a listener has seen by the last id; 0 for an unknown id."""
        is_number = id.isascii() and id.isdigit() and len(id) < 12
        return min(int(id), len(self)) if is_number else 0


async def stream(log: EventLog, after: int, is_closed: Callable[[], bool]) -> AsyncIterator[bytes]:
    """All events but the first `after`, and new ones until the run or the server ends."""
    # Polling is simpler than signals from another thread, and sends many rows at once.
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
