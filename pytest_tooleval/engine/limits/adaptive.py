"""Finds out how many concurrent requests a model allows.

As in TCP's slow start and inspect_ai's adaptive concurrency, the limit starts low and doubles after each
full round of answers. A 429 cuts it by a fifth, once per episode, and from then on it grows by a tenth.
An episode lasts as long as `Retry-After` says, else 15 seconds. A failing server (5xx) only pauses the
growth.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import ModelError
from .slots import Slots

START = 64
_SHRINK, _GROW = 0.8, 1.1
_EPISODE_S = 15.0


class AdaptiveSlots(Slots):
    """The slots of one model, from 1 to `most`."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = min(START, most)
        super().__init__(self.limit)
        self._most = most
        self._clock = clock
        self._slow_start = True
        self._answers = 0
        self._episode_until = 0.0
        self._growth_from = 0.0

    def answered(self) -> None:
        """Count an answer. After a full round of answers, allow more requests."""
        self._answers += 1
        if self._answers < self.limit or self.limit >= self._most or self._clock() < self._growth_from:
            return
        wider = self.limit * 2 if self._slow_start else max(self.limit + 1, int(self.limit * _GROW))
        self._set(min(self._most, wider))

    def failed(self, error: ModelError) -> None:
        """Pause the growth, and allow fewer requests if the failure was throttling."""
        if error.kind not in ("rate_limit", "handles", "server"):
            return
        now = self._clock()
        pause = now + (error.retry_after or _EPISODE_S)
        self._growth_from = max(self._growth_from, pause)
        if error.kind != "server" and now >= self._episode_until:
            self._episode_until = pause
            self._slow_start = False
            self._set(max(1, int(self.limit * _SHRINK)))

    def _set(self, limit: int) -> None:
        self.resize(limit - self.limit)
        self.limit = limit
        self._answers = 0
