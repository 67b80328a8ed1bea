from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.clients.provider_errors import retry_after_s
from pytest_tooleval.engine.limits.retry import RetryPolicy, with_retries
from pytest_tooleval.errors import ErrorKind, ModelError


class Script:
    """Raises the errors one after the other, then answers; remembers how long it was slept."""

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.requests = 0
        self.slept: list[float] = []

    async def ask(self) -> str:
        self.requests += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def run(self, policy: RetryPolicy | None = None) -> str:
        return await with_retries(self.ask, policy or RetryPolicy(), random.Random(1), sleep=self.sleep)


def failing(kind: ErrorKind = "server", after: float | None = None) -> ModelError:
    return ModelError(f"it failed: {kind}", kind=kind, retryable=True, retry_after=after)


async def test_it_asks_until_there_is_an_answer() -> None:
    script = Script(failing(), failing(), failing())
    assert await script.run() == "answer"
    assert script.requests == 4
    assert len(script.slept) == 3


@pytest.mark.parametrize("between", [[], [failing(), failing("rate_limit")]])
async def test_an_unreadable_answer_is_asked_for_once_more(between: list[ModelError]) -> None:
    """It may be billed. Other failures between two of them change nothing."""
    unreadable = ModelError("no message", kind="bad_response", retryable=True, answered=True)
    script = Script(*between, unreadable, *between)
    assert await script.run() == "answer"
    script = Script(unreadable, *between, unreadable)
    with pytest.raises(ModelError, match=rf"^no message \(after {2 + len(between)} attempts"):
        await script.run()
    assert script.errors == []


async def test_what_cannot_be_retried_is_raised_as_it_is() -> None:
    error = ModelError("no such key", kind="credentials", fatal=True)
    script = Script(error)
    with pytest.raises(ModelError) as raised:
        await script.run()
    assert raised.value is error
    assert script.slept == []


@pytest.mark.parametrize(("kind", "most"), [("server", 6), ("timeout", 3), ("rate_limit", 20)])
async def test_attempts_are_capped_by_what_was_met(kind: ErrorKind, most: int) -> None:
    script = Script(*[failing(kind) for _ in range(50)])
    with pytest.raises(
        ModelError, match=f"it failed: {kind} \\(after {most} attempts in 0 s\\)"
    ) as raised:
        await script.run(RetryPolicy(total=1e9))
    assert script.requests == most
    assert raised.value.kind == kind


async def test_the_wait_in_all_is_capped() -> None:
    script = Script(*[failing("rate_limit", after=40.0) for _ in range(50)])
    with pytest.raises(ModelError):
        await script.run(RetryPolicy(total=100.0))
    assert script.requests == 3
    assert sum(script.slept) <= 100.0


async def test_retry_after_is_obeyed() -> None:
    script = Script(failing("rate_limit", after=7.0))
    await script.run()
    assert 7.0 <= script.slept[0] <= 8.0


async def test_a_wait_of_many_minutes_ends_the_model_at_once() -> None:
    script = Script(failing("rate_limit", after=3600.0))
    with pytest.raises(
        ModelError, match=("after one attempt; the provider asks to wait 3600 s")
    ) as raised:
        await script.run()
    assert raised.value.fatal
    assert script.slept == []


async def test_giving_up_early_names_the_attempts() -> None:
    script = Script(failing("unreachable"), failing("unreachable"))
    with pytest.raises(ModelError, match="after 2 attempts"):
        await with_retries(
            script.ask, RetryPolicy(), random.Random(1), lambda error, n: n == 2, script.sleep
        )


@given(
    attempt=st.integers(1, 100_000),
    seed=st.integers(),
    base=st.floats(0.001, 10),
    longest=st.floats(0.001, 100),
    after=st.none() | st.floats(0, 1000),
)
def test_jitter_stays_in_its_bounds(
    attempt: int, seed: int, base: float, longest: float, after: float | None
) -> None:
    policy = RetryPolicy(base=base, longest=longest)
    wait = policy.wait(attempt, failing(after=after), random.Random(seed))
    ceiling = min(longest, base * 2.0 ** min(attempt - 1, 60))
    if after is None:
        assert 0.0 <= wait <= ceiling
    else:
        assert after <= wait <= after + min(ceiling, 1.0)


NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("12", 12.0),
        ("0.5", 0.5),
        ("86400", 86400.0),
        ("Wed, 15 Nov 2023 22:13:20 GMT", 86400.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("Tue, 14 Nov 2023 23:13:30 +0100", 10.0),
        ("soon", None),
        ("", None),
        ("99 Xyz 99999999999999999999 99:99:99", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("86401", None),
        ("99999999999", None),
        ("1700000060", None),  # the time at which to ask again
        ("Fri, 01 Jan 2100 00:00:00 GMT", None),
    ],
)
def test_retry_after_comes_as_seconds_or_as_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": value}, now=NOW) == seconds


def test_no_header_is_no_wait() -> None:
    assert retry_after_s(None) is None
    assert retry_after_s({"x": "1"}) is None


@given(st.text())
def test_any_retry_after_is_survived(value: str) -> None:
    seconds = retry_after_s({"retry-after": value})
    assert seconds is None or 0.0 <= seconds <= 86400.0
