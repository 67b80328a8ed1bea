"""What is kept out of garbage collections, and put back."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from pytest_tooleval.plugin.gc_tuning import leave_out_what_is_there, undo_tuning


def test_what_is_left_out_is_put_back_at_the_end_by_who_left_it_out() -> None:
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    try:
        leave_out_what_is_there()
        assert gc.get_freeze_count()
        undo_tuning()
        assert not gc.get_freeze_count()
        gc.freeze()
        leave_out_what_is_there()
        undo_tuning()
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
from pytest_tooleval.plugin.gc_tuning import leave_memory_at_exit
leave_memory_at_exit()
import own
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "True\ncleared\n"
    assert (tmp_path / "own.log").read_text() == "whole"
