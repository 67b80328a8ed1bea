from __future__ import annotations

import asyncio
import random

import pytest

from pytest_tooleval.engine.limits.slots import Pace, Slots


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_lowest_priority_number_goes_first() -> None:
    slots = Slots(1)
    order: list[int] = []
    gate = asyncio.Event()

    async def work(priority: int) -> None:
        async with slots.hold(priority):
            order.append(priority)
            await gate.wait()

    tasks = [asyncio.create_task(work(priority)) for priority in (9, 5, 7, 1, 5)]
    await _settle()
    gate.set()
    await asyncio.gather(*tasks)
    assert order == [9, 1, 5, 5, 7]  # 9 came first and found the slot free


async def test_never_more_than_the_count_are_held() -> None:
    slots, held, most = Slots(3), 0, 0

    async def work() -> None:
        nonlocal held, most
        async with slots.hold(0):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0.001)
            held -= 1

    await asyncio.gather(*(work() for _ in range(30)))
    assert most == 3


@pytest.mark.parametrize("seed", range(20))
async def test_cancellation_leaks_no_slot(seed: int) -> None:
    rng, slots = random.Random(seed), Slots(2)

    async def work() -> None:
        async with slots.hold(rng.randrange(5)):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work()) for _ in range(20)]
    for _ in range(10):
        await asyncio.sleep(0)
        rng.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    held = [slots.hold(0) for _ in range(2)]
    for slot in held:
        await asyncio.wait_for(slot.__aenter__(), 30)  # both are free again
    third = asyncio.create_task(slots.hold(0).__aenter__())
    await _settle()
    assert not third.done()  # and there are not three
    third.cancel()


async def test_cancelled_in_the_moment_of_the_hand_over() -> None:
    slots = Slots(1)
    first = slots.hold(0)
    await first.__aenter__()

    async def work() -> None:
        async with slots.hold(0):
            raise AssertionError("was cancelled before")

    waiting = asyncio.create_task(work())
    await _settle()
    await first.__aexit__(None, None, None)  # hands over, but `waiting` has not run yet
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(slots.hold(0).__aenter__(), 30)


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


async def test_requests_per_minute_are_spread() -> None:
    clock = Clock()
    pace = Pace(6, None, clock)
    starts = []
    for _ in range(13):
        await pace.wait(clock.pause)
        starts.append(clock.now - 1000.0)
    assert starts == pytest.approx([10.0 * n for n in range(13)])


async def test_tokens_hold_back_until_the_minute_has_passed() -> None:
    clock = Clock()
    pace = Pace(None, 100, clock)
    await pace.wait(clock.pause)
    pace.count_used(60)
    await pace.wait(clock.pause)
    assert clock.now == 1000.0
    pace.count_used(60)
    pace.count_used(None)
    await pace.wait(clock.pause)
    assert clock.now == 1060.0


async def test_no_limit_never_waits() -> None:
    clock = Clock()
    pace = Pace(None, None, clock)
    for _ in range(100):
        await pace.wait(clock.pause)
        pace.count_used(10**9)
    assert clock.now == 1000.0


async def test_a_pause_that_raises_lets_the_others_through() -> None:
    pace = Pace(1, None, Clock())
    await pace.wait()

    async def over(seconds: float) -> None:
        raise KeyError("over")

    outcomes = await asyncio.gather(*(pace.wait(over) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(outcome, KeyError) for outcome in outcomes)
