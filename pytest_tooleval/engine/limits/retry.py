"""Retries with exponential back-off and full jitter."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from ...errors import ModelError

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """Limits on retrying one request. Times are in seconds.

    The wait before attempt n+1 is random, from 0 to `min(longest, base * 2**(n-1))`: the "full jitter"
    of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. A `Retry-After` is
    obeyed, unless all waits would exceed `total`. Throttled requests are retried more often than
    failing ones, and time-outs less often. An unreadable answer may be billed, so it is asked for once
    more at most.
    """

    attempts: int = 6
    rate_limit_attempts: int = 20
    timeout_attempts: int = 3
    unreadable_answers: int = 2
    base: float = 0.5
    longest: float = 30.0
    total: float = 300.0

    def most(self, error: ModelError) -> int:
        """The most attempts after this error."""
        if error.kind == "rate_limit":
            return self.rate_limit_attempts
        return self.timeout_attempts if error.kind == "timeout" else self.attempts

    def wait(self, attempt: int, error: ModelError, rng: random.Random) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 1)."""
        jitter = rng.uniform(0.0, min(self.longest, self.base * 2.0 ** min(attempt - 1, 60)))
        # The jitter spreads requests that were given the same time.
        return jitter if error.retry_after is None else error.retry_after + min(jitter, 1.0)


async def with_retries(
    ask: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    rng: random.Random,
    give_up: Callable[[ModelError, int], bool] = lambda error, attempt: False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Call `ask` until it answers. Raises the last ModelError, with the number of attempts.

    `give_up(error, attempt)`, called after each failed attempt, may end the retries early, for instance
    when the endpoint is known to be unreachable.
    """
    waited, begin, attempt, unreadable = 0.0, time.monotonic(), 0, 0
    while True:
        attempt += 1
        try:
            return await ask()
        except ModelError as error:
            if not error.retryable:
                raise
            unreadable += error.answered
            pause = policy.wait(attempt, error, rng)
            ends = attempt >= policy.most(error) or waited + pause > policy.total
            if give_up(error, attempt) or ends or unreadable >= policy.unreadable_answers:
                raise _exhausted(error, attempt, time.monotonic() - begin) from None
        await sleep(pause)
        waited += pause


def _exhausted(error: ModelError, attempts: int, seconds: float) -> ModelError:
    tried = f"after {attempts} attempts in {seconds:.0f} s" if attempts > 1 else "after one attempt"
    long_wait = error.retry_after is not None and error.retry_after > 60
    wait_text = f"; the provider asks to wait {error.retry_after:.0f} s" if long_wait else ""
    return ModelError(
        f"{error.message} ({tried}{wait_text})",
        kind=error.kind,
        retry_after=error.retry_after,
        # A wait of minutes means a quota, which would also stop all other cases of the model.
        fatal=error.fatal or (error.retry_after or 0.0) > 300,
    )
