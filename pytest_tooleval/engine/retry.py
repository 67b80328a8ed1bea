"""When and how long to wait before asking again: exponential back-off with full jitter."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..errors import ModelError

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """Bounds on retrying one request; times in seconds.

    The wait before attempt n+1 is drawn evenly from 0 to `min(longest, base * 2**(n-1))`: "full
    jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. A
    `Retry-After` is waited for in full, unless it would exceed `total`.
    """

    attempts: int = 6
    base: float = 0.5
    longest: float = 30.0
    total: float = 300.0

    def wait(self, attempt: int, error: ModelError, rng: random.Random) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 1)."""
        ceiling = min(self.longest, self.base * 2 ** (attempt - 1))
        jitter = rng.uniform(0.0, ceiling)
        return jitter if error.retry_after is None else error.retry_after + min(jitter, 1.0)


async def with_retries(
    ask: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    rng: random.Random,
    give_up: Callable[[ModelError, int], bool] = lambda error, attempt: False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Call `ask` until it answers; the last ModelError, naming the attempts, when it does not.

    `give_up(error, attempt)` may end it early, for instance when the whole endpoint is known to be
    unreachable.
    """
    waited, begin = 0.0, time.monotonic()
    attempt = 1
    while True:
        try:
            return await ask()
        except ModelError as error:
            pause = policy.wait(attempt, error, rng)
            if not error.retryable or give_up(error, attempt):
                raise
            if attempt >= policy.attempts or waited + pause > policy.total:
                raise _exhausted(error, attempt, time.monotonic() - begin, pause) from None
        await sleep(pause)
        waited += pause
        attempt += 1


def _exhausted(error: ModelError, attempts: int, seconds: float, pause: float) -> ModelError:
    tried = f"after {attempts} attempts in {seconds:.0f} s" if attempts > 1 else "after one attempt"
    asked = f"; it asks to wait {error.retry_after:.0f} s" if error.retry_after and pause > 60 else ""
    return ModelError(
        f"{error.message} ({tried}{asked})",
        kind=error.kind,
        retry_after=error.retry_after,
        # A wait of many minutes is a quota: every other case of the model would meet it too.
        fatal=error.fatal or bool(error.retry_after and error.retry_after > 300),
    )
