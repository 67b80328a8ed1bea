"""SIGTERM ends a run like Ctrl-C, so that CI jobs and containers write their results."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

from .workers import ledger_of

_ENDING = ".pid"


class OrderlyEnd:
    """Registered with the session, in every process. Replaces no other handler.

    The controller of xdist passes the signal on to its workers, which would otherwise go on for seconds.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ending = False
        self._is_set = (
            sys.platform != "win32"  # where it ends a process immediately
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        )
        if self._is_set:
            signal.signal(signal.SIGTERM, self._end)
        if self._is_set and self._is_worker and self._folder is not None:
            self._sign.touch()

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    @property
    def _folder(self) -> Path | None:
        """The folder that the processes of a run share, if they are on one machine."""
        ledger = ledger_of(self._config)
        return ledger.parent if ledger is not None and ledger.parent.is_dir() else None

    @property
    def _sign(self) -> Path:
        assert self._folder is not None
        return self._folder / f"{os.getpid()}{_ENDING}"

    def _end(self, number: int, frame: FrameType | None) -> None:
        # Processes in a group may get the signal twice.
        if not self._ending:
            self._ending = True
            raise KeyboardInterrupt("SIGTERM")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self._ending = True  # only writing is left

    def pytest_keyboard_interrupt(self) -> None:
        self._ending = True
        if self._folder is not None and not self._is_worker:
            for sign in self._folder.glob(f"*{_ENDING}"):
                with contextlib.suppress(OSError):  # it has just ended
                    os.kill(int(sign.stem), signal.SIGTERM)

    def pytest_sessionfinish(self) -> None:
        if self._is_worker and self._folder is not None:
            self._sign.unlink(missing_ok=True)

    def pytest_unconfigure(self) -> None:
        if self._is_set and signal.getsignal(signal.SIGTERM) == self._end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
