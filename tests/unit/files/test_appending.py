"""As on Windows, where adding to a file takes two steps, and a lock is known by its place in it."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_tooleval.files import appending, locks


class TwoSteps(FileIO):
    """It writes where it stands, as if the system did not know of adding."""

    def __init__(self, path: Path, mode: str) -> None:
        path.touch()
        super().__init__(path, "r+")

    def write(self, data: object) -> int:
        time.sleep(0.001)
        return super().write(data)  # type: ignore[arg-type]


def test_on_windows_no_line_is_written_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Lock()
    places = set()

    def locking(descriptor: int, mode: int, count: int) -> None:
        places.add(os.lseek(descriptor, 0, os.SEEK_CUR))
        if not mode:
            held.release()
        elif not held.acquire(blocking=False):
            raise OSError(errno.EACCES, "Permission denied")

    msvcrt = SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=locking)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("locks_on_windows", locks.__file__)
    assert spec is not None
    assert spec.loader is not None
    on_windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(on_windows)
    monkeypatch.undo()
    monkeypatch.setattr(appending, "wait_for_lock", on_windows.wait_for_lock)
    monkeypatch.setattr(appending, "unlock", on_windows.unlock)
    monkeypatch.setattr(appending, "_alone", appending._locked)
    monkeypatch.setattr(appending, "FileIO", TwoSteps)
    path = tmp_path / "answers.jsonl"

    def add(name: str) -> None:
        appender = appending.Appender()
        for number in range(50):
            appender.append(path, f"{name} {number}\n".encode())
        appender.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(add, "ab"))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(f"{name} {number}" for name in "ab" for number in range(50))
    assert len(places) == 1
    assert min(places) > 10**12  # where nobody reads: what is locked there cannot be read
