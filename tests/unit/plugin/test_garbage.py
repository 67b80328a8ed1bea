"""The garbage collector is slowed down only while it should be, and never against the user."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tooleval.plugin.garbage import as_before
from pytest_tooleval.plugin.garbage import collect_seldom
from pytest_tooleval.plugin.garbage import leave_out_what_is_there


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def test_collection_is_slowed_down_and_put_back() -> None:
    gc.set_threshold(700, 10, 10)
    for on, least in ((True, 10_000), (True, 10_000), (False, 700), (False, 700)):
        collect_seldom(on)
        assert gc.get_threshold() == (least, 10, 10)


@pytest.mark.parametrize("threshold", [(0, 10, 10), (50_000, 5, 5)])
def test_what_the_user_has_set_is_left_alone(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    for on in (True, False):
        collect_seldom(on)
        assert gc.get_threshold()[0] == threshold[0]


def test_what_the_user_sets_meanwhile_stays() -> None:
    gc.set_threshold(700, 10, 10)
    collect_seldom(True)
    gc.set_threshold(5, 5, 5)
    collect_seldom(False)
    assert gc.get_threshold()[0] == 5


def test_what_is_left_out_is_put_back_at_the_end_by_who_left_it_out() -> None:
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    try:
        leave_out_what_is_there()
        assert gc.get_freeze_count()
        as_before()
        assert not gc.get_freeze_count()
        gc.freeze()
        leave_out_what_is_there()
        as_before()
        assert gc.get_freeze_count()
    finally:
        (gc.freeze if frozen else gc.unfreeze)()


def test_at_the_end_modules_are_cleared_as_always(tmp_path: Path) -> None:
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
from pytest_tooleval.plugin.garbage import leave_memory_at_exit
leave_memory_at_exit()
import own
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "True\ncleared\n"
    assert (tmp_path / "own.log").read_text() == "whole"
