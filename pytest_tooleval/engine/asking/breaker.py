"""Ends the requests of a model as soon as it is certain that all of them would fail."""

from __future__ import annotations

import asyncio

from ...errors import ModelError

# An endpoint that never answered is taken to be down once this many requests were tried in vain:
# as often as this where there is no connection, and once where there is one but no answer in time.
_SILENT_AFTER = 3
_UNREACHABLE_ATTEMPTS = 3


class Breaker:
    """What is known of one model in a run: whether it ever answered, and why it is given up."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._answered = False
        self._silent = 0
        self._over = asyncio.Event()
        self._because: ModelError | None = None

    def check(self) -> None:
        """Raise ModelError once the model is given up."""
        if self._because is not None:
            raise ModelError(self._because.message, kind=self._because.kind, fatal=True)

    async def pause(self, seconds: float) -> None:
        """Sleep, but not beyond the moment when the model is given up."""
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except asyncio.TimeoutError:
            return
        self.check()

    def answered(self) -> None:
        self._answered = True

    def ends_retries(self, error: ModelError, attempt: int) -> bool:
        """Whether a request is not tried again after this attempt."""
        if error.kind == "timeout":
            self._count_silence(error)
        silent = error.kind == "unreachable" and not self._answered
        return self._because is not None or (silent and attempt >= _UNREACHABLE_ATTEMPTS)

    def gave_up(self, error: ModelError) -> None:
        """Learn from a request that was given up whether all others will be, too."""
        if error.kind == "unreachable":
            self._count_silence(error)
        elif error.fatal and self._because is None:
            self._end(error)

    def _count_silence(self, error: ModelError) -> None:
        if self._answered or self._because is not None:
            return
        self._silent += 1
        if self._silent >= _SILENT_AFTER:
            given_up = f"gave up on {self._label!r} for this run; is the server running?"
            self._end(ModelError(f"{error.message} ({given_up})", kind=error.kind))

    def _end(self, because: ModelError) -> None:
        self._because = because
        self._over.set()
