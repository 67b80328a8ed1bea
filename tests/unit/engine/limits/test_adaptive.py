"""Slots that grow with answers and shrink on a 429."""

from __future__ import annotations

from pytest_tooleval.engine.limits.adaptive import START
from pytest_tooleval.engine.limits.adaptive import AdaptiveSlots
from pytest_tooleval.errors import ModelError

LIMITED = ModelError("slow down", kind="rate_limit", retry_after=10)
FAILED = ModelError("oops", kind="server")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def answer(slots: AdaptiveSlots, count: int) -> None:
    for _ in range(count):
        slots.answered()


def test_it_doubles_after_each_full_round_up_to_the_most() -> None:
    slots = AdaptiveSlots(1000, Clock())
    assert slots.limit == START
    answer(slots, START - 1)
    assert slots.limit == START
    answer(slots, 1)
    assert slots.limit == 2 * START
    answer(slots, 5000)
    assert slots.limit == 1000


def test_it_never_begins_above_the_most() -> None:
    assert AdaptiveSlots(3, Clock()).limit == 3


def test_a_429_shrinks_it_once_per_episode() -> None:
    clock = Clock()
    slots = AdaptiveSlots(1000, clock)
    for _ in range(5):
        slots.failed(LIMITED)
    assert slots.limit == int(START * 0.8)
    clock.now = 10.0  # the episode lasted as long as Retry-After said
    slots.failed(LIMITED)
    assert slots.limit == int(int(START * 0.8) * 0.8)


def test_it_grows_again_slowly_once_the_episode_is_over() -> None:
    clock = Clock()
    slots = AdaptiveSlots(1000, clock)
    slots.failed(LIMITED)
    shrunk = slots.limit
    answer(slots, 200)
    assert slots.limit == shrunk
    clock.now = 11.0
    answer(slots, 1)
    assert slots.limit == int(shrunk * 1.1)


def test_a_failing_server_only_pauses_the_growth() -> None:
    clock = Clock()
    slots = AdaptiveSlots(1000, clock)
    slots.failed(FAILED)
    answer(slots, 200)
    assert slots.limit == START
    clock.now = 16.0
    answer(slots, 1)
    assert slots.limit == 2 * START


def test_a_429_after_a_server_failure_still_shrinks() -> None:
    slots = AdaptiveSlots(1000, Clock())
    slots.failed(FAILED)
    slots.failed(LIMITED)
    assert slots.limit == int(START * 0.8)


def test_it_never_falls_below_one() -> None:
    clock = Clock()
    slots = AdaptiveSlots(2, clock)
    for _ in range(10):
        slots.failed(LIMITED)
        clock.now += 100
    assert slots.limit == 1


def test_other_errors_change_nothing() -> None:
    slots = AdaptiveSlots(1000, Clock())
    slots.failed(ModelError("no", kind="bad_request"))
    answer(slots, START)
    assert slots.limit == 2 * START
