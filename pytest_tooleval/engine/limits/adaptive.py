"""Finds out how many concurrent requests a model allows.

A 429 cuts the limit by a fifth, once per episode; after it, each full set of answers adds a tenth. An
episode lasts as long as `Retry-After` says, else 15 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import ModelError
from .slots import Slots

_SHRINK, _GROW = 0.8, 1.1
_EPISODE_S = 15.0


class AdaptiveSlots(Slots):
    """The slots of one model, from 1 to `most`."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = most
        super().__init__(most)
        self._most = most
        self._clock = clock
        self._answers = 0
        self._episode_until = 0.0

    def answered(self) -> None:
        """Count an answer. After a full set of answers, allow more requests."""
        self._answers += 1
        if self._answers >= self.limit < self._most and self._clock() >= self._episode_until:
            self._set(min(self._most, max(self.limit + 1, int(self.limit * _GROW))))

    def failed(self, error: ModelError) -> None:
        """Allow fewer requests if the failure was throttling."""
        now = self._clock()
        if error.kind in ("rate_limit", "handles") and now >= self._episode_until:
            self._episode_until = now + (error.retry_after or _EPISODE_S)
            self._set(max(1, int(self.limit * _SHRINK)))

    def _set(self, limit: int) -> None:
        self.resize(limit - self.limit)
        self.limit = limit
        self._answers = 0
