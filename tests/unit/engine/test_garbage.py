"""The garbage collector is slowed down only while it should be, and never against the user."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


def test_at_the_end_the_projects_own_modules_are_cleared_as_always(tmp_path: Path) -> None:
    """Files are written to their end, and `__del__` is called, although nothing is collected."""
    own = """
log = open("own.log", "w")
log.write("whole")

class Loud:
    def __del__(self):
        print("cleared")

loud = Loud()

def uses(): return log, loud
"""
    (tmp_path / "own.py").write_text(own)
    code = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from pytest_tooleval.engine.garbage import libraries_left_at_exit
before = atexit._ncallbacks()
libraries_left_at_exit(), libraries_left_at_exit()
print(atexit._ncallbacks() - before)
import own
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "1\nTrue\ncleared\n"
    assert (tmp_path / "own.log").read_text() == "whole"
