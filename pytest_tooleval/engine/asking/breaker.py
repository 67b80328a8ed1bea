"""Ends a model's requests as soon as all of them are certain to fail."""

from __future__ import annotations

import asyncio

from ...errors import ModelError

# An endpoint that never answered counts as down after this many failed requests. Each is sent this often
# if there is no connection, and once if it times out.
_SILENT_AFTER = 3
_UNREACHABLE_ATTEMPTS = 3


class Breaker:
    """One model's state in a run: whether it ever answered, and why it was given up."""

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
        """Sleep, but wake up when the model is given up."""
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except asyncio.TimeoutError:
            return
        self.check()

    def note_answer(self) -> None:
        self._answered = True

    def ends_retries(self, error: ModelError, attempt: int) -> bool:
        """Whether this attempt was the last one for its request."""
        if error.kind == "timeout":
            self._count_silence(error)
        silent = error.kind == "unreachable" and not self._answered
        return self._because is not None or (silent and attempt >= _UNREACHABLE_ATTEMPTS)

    def gave_up(self, error: ModelError) -> None:
        """Decide from a failed request whether all others will also fail."""
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
