"""Money: what a run has spent, and the point where it stops asking."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import ModelError

_ROUNDING = 1e-9  # ten answers of 5 cents each add up to a little less than 50 cents


class Budget:
    """At most so many US dollars for a run; None is no limit. Belongs to one event loop.

    Processes that work on one run share a ledger, a file to which each appends what it spends.
    A price is known only when an answer has come, so requests under way when the limit is reached
    are still paid for.
    """

    def __init__(self, most_usd: float | None, ledger: Path | None = None) -> None:
        self.most_usd = most_usd
        self._ledger = ledger
        self._spent_usd = 0.0
        self._read = 0

    @property
    def spent_usd(self) -> float:
        """By this process or, with a ledger, by all that share it."""
        if self._ledger is not None and self._ledger.exists():
            with self._ledger.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            whole, _, _ = new.rpartition(b"\n")
            if whole:
                self._read += len(whole) + 1
                self._spent_usd += sum(map(float, whole.split()))
        return self._spent_usd

    def check(self) -> None:
        """Raise ModelError when nothing more may be asked."""
        if self.most_usd is None:
            return
        spent = self.spent_usd
        if spent >= self.most_usd - _ROUNDING:
            raise ModelError(
                f"not asked: the run has spent ${spent:.4f} of the "
                f"${self.most_usd:g} that --tooleval-max-cost allows",
                kind="budget",
            )

    def add(self, cost_usd: float | None) -> None:
        """Count an answer; an unknown price counts nothing."""
        if not cost_usd:
            return
        if self._ledger is None:
            self._spent_usd += cost_usd
            return
        descriptor = os.open(self._ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, f"{cost_usd!r}\n".encode())
        finally:
            os.close(descriptor)


def price(
    prompt_tokens: int | None,
    completion_tokens: int | None,
    input_price: float | None,
    output_price: float | None,
) -> float | None:
    """US dollars for these tokens at prices per million tokens; None when anything is unknown."""
    if prompt_tokens is None or completion_tokens is None or input_price is None or output_price is None:
        return None
    return (prompt_tokens * input_price + completion_tokens * output_price) / 1_000_000
