"""A request's turn among the processes that may send the same one."""

from __future__ import annotations

import time

from ..cassettes.cassette import Cassette
from ..clients.base import ChatAnswer


class Turn:
    """Claims a question of a cassette, which `Recording` releases.

    `patience_s` is how long an answer may take. Another process with the claim gets no longer, because
    it may have been stopped.
    """

    def __init__(self, cassette: Cassette, key: str, patience_s: float) -> None:
        self._cassette = cassette
        self._key = key
        self._patience_s = patience_s
        self._until: float | None = None

    def comes(self) -> bool:
        """Whether to go on: no other process is sending this request, or it took too long."""
        if self._cassette.claim(self._key):
            return True
        now = time.monotonic()
        self._until = self._until or now + self._patience_s
        return now >= self._until

    def answer(self) -> ChatAnswer | None:
        """The answer that another process has recorded meanwhile, or None."""
        return self._cassette.find(self._key)
