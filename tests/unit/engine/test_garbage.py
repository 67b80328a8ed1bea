"""The garbage collector is slowed down only while it should be, and never against the user."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_tooleval.engine.garbage import Kept
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


def test_what_is_kept_is_let_go_once_and_only_by_who_kept_it() -> None:
    kept, other = Kept(), Kept()
    kept.keep()
    assert gc.get_freeze_count() > 0
    other.let_go()
    assert gc.get_freeze_count() > 0
    kept.let_go()
    assert gc.get_freeze_count() == 0


def test_at_the_end_nothing_is_taken_apart_and_it_is_said_once() -> None:
    code = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from pytest_tooleval.engine.garbage import left_at_exit
before = atexit._ncallbacks()
left_at_exit(), left_at_exit()
print(gc.get_freeze_count(), atexit._ncallbacks() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1\nTrue\n"
