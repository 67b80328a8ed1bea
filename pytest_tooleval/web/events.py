"""A run's events: kept as they go over the wire, for any number of listeners, now and later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from ..record.encoding import to_json

_TICK_S = 0.1
_HEARTBEAT_S = 15.0
_AT_ONCE = 100  # events that are sent before others get their turn


class EventLog:
    """Server-sent events with ids from 1. One thread adds, any number read.

    Each is kept as the bytes that are sent: thousands of rows as objects would take many times that.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._frames: list[bytes] = []
        self.is_over = False

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, name: str, data: Any) -> None:
        id = f"{self._prefix}{len(self._frames) + 1}"
        head = f"id: {id}\nevent: {name}\ndata: ".encode()
        self._frames.append(head + to_json(data) + b"\n\n")

    def frames(self, after: int, most: int = _AT_ONCE) -> list[bytes]:
        return self._frames[after : after + most]

    def data(self, name: str) -> Iterator[bytes]:
        """The JSON of all events of one kind."""
        mark = f"\nevent: {name}\ndata: ".encode()
        for frame in list(self._frames):
            _, found, data = frame.partition(mark)
            if found:
                yield data

    def place(self, id: str) -> int:
        """How many events somebody has seen who saw this one last; 0 for an id that is not ours."""
        number = id.removeprefix(self._prefix)
        known = (
            id.startswith(self._prefix) and number.isascii() and number.isdigit() and len(number) < 12
        )
        return min(int(number), len(self)) if known else 0


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
