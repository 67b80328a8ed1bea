"""Measures the time of calls on one event loop, where one call may block the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any

BLOCKS = "blocks the event loop; use a plain def, or max_concurrency = 1"
# A longer step blocks the loop. A few calls may do that, for instance to import something.
BLOCKS_S = 0.1
_TOLD_AFTER = 3
_LEAST_S = 0.01

_share: ContextVar[Share | None] = ContextVar("_share", default=None)


class LoopClock:
    """Measures how long the tasks of each call run on an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.taken_s = 0.0
        # The running step: its call and its start.
        self.step: tuple[Share | None, float] | None = None
        self._open = 0
        self._blocking: set[Share] = set()

        def task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
            return asyncio.Task(_Timed(coroutine, self), loop=loop, **options)

        loop.set_task_factory(task)

    @property
    def is_blocked(self) -> bool:
        """Whether several calls have blocked others."""
        return len(self._blocking) >= _TOLD_AFTER

    def run(self, step: Callable[..., Any], *given: object) -> Any:
        """Run one step of a task and measure it."""
        share, begin = _share.get(), time.perf_counter()
        self.step = share, begin
        if share is not None:
            share.begin(begin)
        try:
            return step(*given)
        finally:
            seconds = time.perf_counter() - begin
            self.step = None
            self.taken_s += seconds
            if share is not None:
                share.taken_s += seconds
                if seconds > BLOCKS_S and self._open > 1:
                    self._blocking.add(share)

    def opened(self, more: int) -> None:
        self._open += more


class _Timed(Coroutine[Any, Any, Any]):
    """Wraps a coroutine to measure its steps. It looks like the coroutine itself."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], clock: LoopClock) -> None:
        self._coroutine = coroutine
        self._clock = clock

    def send(self, value: Any) -> Any:
        return self._clock.run(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._clock.run(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)


class Share:
    """The time that one call takes. Entered by the code that waits for the call."""

    def __init__(self, clock: LoopClock) -> None:
        self.taken_s = 0.0
        self._clock = clock
        self._begin: float | None = None
        self._taken_before = 0.0

    def __enter__(self) -> Share:
        _share.set(self)  # the tasks of the call inherit it
        self._clock.opened(1)
        return self

    def __exit__(self, *error: object) -> None:
        _share.set(None)
        self._clock.opened(-1)

    def begin(self, now: float) -> None:
        if self._begin is None:
            self._begin, self._taken_before = now, self._clock.taken_s

    @property
    def seconds(self) -> float:
        """How long the call has taken, without the time that other calls used the loop."""
        if self._begin is None:
            return 0.0
        now, step = time.perf_counter(), self._clock.step
        others = self._clock.taken_s - self._taken_before - self.taken_s
        if step is not None and step[0] is not self:
            others += now - max(step[1], self._begin)
        return now - self._begin - others

    def left(self, timeout_s: float) -> float:
        """The seconds left. A tiny rest counts as 0, because time stands still while others block."""
        seconds = timeout_s - self.seconds
        return 0.0 if self.stuck(timeout_s) or seconds < _LEAST_S else seconds

    def stuck(self, seconds: float) -> bool:
        """Whether a step has blocked the loop for longer than this."""
        step = self._clock.step
        return step is not None and time.perf_counter() - step[1] > seconds
