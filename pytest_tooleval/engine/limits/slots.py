"""Limits on concurrent requests, and on requests and tokens per minute."""

from __future__ import annotations

import asyncio
import collections
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ...errors import ModelError

_SHRINK, _GROW = 0.8, 1.1
_EPISODE_S = 15.0


class Slots:
    """A semaphore that serves the lowest priority number first. Belongs to one event loop.

    Later requests of an early case come before the first request of a later case, so that items can
    report in order.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def hold(self, priority: int) -> AsyncIterator[None]:
        await self._acquire(priority)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, priority: int) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            # Cancelled after it got the slot: pass the slot on.
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        self._free += 1
        self._hand_over()

    def resize(self, change: int) -> None:
        """Add slots, or remove some. Slots in use are removed when they are released."""
        self._free += change
        self._hand_over()

    def _hand_over(self) -> None:
        while self._free > 0 and self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                self._free -= 1


class AdaptiveSlots(Slots):
    """The slots of one model: from 1 to `most`, as many as the model allows.

    A 429, or a lack of file handles, cuts the limit by a fifth, once per episode; after it, each full
    set of answers adds a tenth. An episode lasts as long as `Retry-After` says, else 15 seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = most
        super().__init__(most)
        self._most = most
        self._clock = clock
        self._answers = 0
        self._episode_until = 0.0

    def count_answer(self) -> None:
        """Count an answer. After a full set of answers, allow more requests."""
        self._answers += 1
        if self._answers >= self.limit < self._most and self._clock() >= self._episode_until:
            self._set(min(self._most, max(self.limit + 1, int(self.limit * _GROW))))

    def count_failure(self, error: ModelError) -> None:
        """Allow fewer requests if the failure was throttling, or a lack of file handles."""
        now = self._clock()
        if error.kind in ("rate_limit", "handles") and now >= self._episode_until:
            self._episode_until = now + (error.retry_after or _EPISODE_S)
            self._set(max(1, int(self.limit * _SHRINK)))

    def _set(self, limit: int) -> None:
        self.resize(limit - self.limit)
        self.limit = limit
        self._answers = 0


class Pace:
    """Limits requests and tokens in any 60 seconds; None means no limit.

    Tokens are known only after an answer, so requests wait while the answers of the last minute use up
    the limit, and concurrent requests may exceed it.
    """

    WINDOW_S = 60.0

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        self._starts: collections.deque[float] = collections.deque()
        self._tokens: collections.deque[tuple[float, int]] = collections.deque()
        self._turn = asyncio.Lock()

    async def wait(self, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Wait until one more request may begin, and count it. Sleeps with `pause`, which may raise."""
        if self._requests_per_minute is None and self._tokens_per_minute is None:
            return
        async with self._turn:
            while (delay := self._delay(self._clock())) > 0:
                await pause(delay)
            self._starts.append(self._clock())

    def count_used(self, tokens: int | None) -> None:
        """Count the tokens of an answer."""
        if tokens and self._tokens_per_minute is not None:
            self._tokens.append((self._clock(), tokens))

    def _delay(self, now: float) -> float:
        horizon = now - self.WINDOW_S
        while self._starts and self._starts[0] <= horizon:
            self._starts.popleft()
        while self._tokens and self._tokens[0][0] <= horizon:
            self._tokens.popleft()
        ready = [now]
        if self._requests_per_minute is not None and self._starts:
            # Also spread requests evenly, because of limits per second.
            ready.append(self._starts[-1] + self.WINDOW_S / self._requests_per_minute)
            if len(self._starts) >= self._requests_per_minute:
                ready.append(self._starts[0] + self.WINDOW_S)
        tokens = sum(count for _, count in self._tokens)
        if self._tokens_per_minute is not None and tokens >= self._tokens_per_minute:
            ready.append(self._tokens[0][0] + self.WINDOW_S)
        return max(ready) - now
