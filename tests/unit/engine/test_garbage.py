"""The garbage collector is slowed down only while it should be, and never against the user."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_tooleval.engine.garbage import not_collected
from pytest_tooleval.engine.garbage import seldom_collected
from pytest_tooleval.engine.runner import Runner


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def test_a_runner_slows_collection_down_and_puts_it_back() -> None:
    gc.set_threshold(700, 10, 10)
    runner = Runner()
    assert gc.get_threshold()[0] == 10_000
    second = Runner()
    second.close()
    runner.close()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("threshold", [(0, 10, 10), (50_000, 5, 5)])
def test_what_the_user_has_set_is_left_alone(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    with seldom_collected():
        assert gc.get_threshold()[0] == threshold[0]
    assert gc.get_threshold()[0] == threshold[0]


def test_what_the_user_sets_meanwhile_stays() -> None:
    gc.set_threshold(700, 10, 10)
    with seldom_collected():
        gc.set_threshold(5, 5, 5)
    assert gc.get_threshold()[0] == 5


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_off_only_within(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with not_collected():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled
