"""Slots that shrink on a 429 and grow again with answers."""

from __future__ import annotations

import pytest

from pytest_tooleval.engine.limits.slots import AdaptiveSlots
from pytest_tooleval.errors import ErrorKind, ModelError

LIMITED = ModelError("slow down", kind="rate_limit", retry_after=10)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def answer(slots: AdaptiveSlots, count: int) -> None:
    for _ in range(count):
        slots.count_answer()


def test_a_429_shrinks_it_once_per_episode() -> None:
    clock = Clock()
    slots = AdaptiveSlots(100, clock)
    for _ in range(5):
        slots.count_failure(LIMITED)
    assert slots.limit == 80
    clock.now = 10.0  # the episode lasted as long as Retry-After said
    slots.count_failure(LIMITED)
    assert slots.limit == 64


def test_it_grows_again_slowly_once_the_episode_is_over() -> None:
    clock = Clock()
    slots = AdaptiveSlots(100, clock)
    slots.count_failure(LIMITED)
    answer(slots, 200)
    assert slots.limit == 80
    clock.now = 11.0
    answer(slots, 1)
    assert slots.limit == 88
    answer(slots, 5000)
    assert slots.limit == 100


def test_it_never_falls_below_one() -> None:
    clock = Clock()
    slots = AdaptiveSlots(2, clock)
    for _ in range(10):
        slots.count_failure(LIMITED)
        clock.now += 100
    assert slots.limit == 1


@pytest.mark.parametrize("kind", ["bad_request", "server"])
def test_other_errors_change_nothing(kind: ErrorKind) -> None:
    slots = AdaptiveSlots(100, Clock())
    slots.count_failure(ModelError("no", kind=kind))
    assert slots.limit == 100
