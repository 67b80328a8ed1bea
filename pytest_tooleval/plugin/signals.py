"""Ends a run like Ctrl-C, keeping its results, on SIGTERM, SIGHUP, or the end of standard input.

CI jobs and containers send SIGTERM; a closed terminal sends SIGHUP. TOOLEVAL_STOP_ON_EOF is for
programs that start pytest: however they end, the system closes their pipe.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest

from .processes import STANDARD_INPUT, process_of

# On Windows, SIGTERM ends a process immediately.
_SIGNALS = () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP)


class OrderlyEnd:
    """Registered with the session, in every process. Replaces no other handler, not even `nohup`'s.

    While the results are written, the first Ctrl-C is ignored, like the other signals.

    The xdist controller passes the signal on to its workers, which would otherwise run on for seconds.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ending = False
        self._reason = ""
        self._in_main = threading.current_thread() is threading.main_thread()
        self._set = [n for n in _SIGNALS if self._in_main and signal.getsignal(n) is signal.SIG_DFL]
        for number in self._set:
            signal.signal(number, self._end)
        if STANDARD_INPUT in config.stash and not process_of(config).is_worker:
            threading.Thread(target=self._watch, name="tooleval-eof", daemon=True).start()

    def _end(self, number: int, frame: FrameType | None) -> None:
        # Processes in a group may get the signal twice.
        if not self._ending and not self._workers_have_run_all:
            self._ending = True
            raise KeyboardInterrupt(self._reason or signal.Signals(number).name)

    def _watch(self) -> None:
        descriptor = self._config.stash[STANDARD_INPUT]
        with contextlib.suppress(OSError):  # the terminal may be gone
            while os.read(descriptor, 4096):
                pass
        if self._ending:
            return
        self._reason = "standard input has ended"
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self._ending = True  # results are all that is left to write

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        self._ending = True  # an xdist controller may have registered this during its loop
        if self._in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._pass_over)
        return (yield)

    def _pass_over(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def pytest_keyboard_interrupt(self) -> None:
        self._ending = True
        for worker in self._workers if self._set else ():
            with contextlib.suppress(OSError):  # it may have just ended
                os.kill(worker, signal.SIGTERM)

    @property
    def _workers_have_run_all(self) -> bool:
        """Whether an xdist controller has all results, and only waits for its workers to end."""
        xdist = self._xdist
        return xdist is not None and xdist.shuttingdown and not xdist.sched.has_pending

    @property
    def _xdist(self) -> Any:
        return self._config.pluginmanager.getplugin("dsession")

    @property
    def _workers(self) -> list[int]:
        """The process ids of the workers on this machine, which xdist does not expose."""
        manager = getattr(self._xdist, "nodemanager", None)
        gateways = () if manager is None else manager.group
        return [each._rinfo().pid for each in gateways if each.spec.popen and not each.spec.via]

    def pytest_unconfigure(self) -> None:
        self._ending = True
        for number in self._set:
            if signal.getsignal(number) == self._end:
                signal.signal(number, signal.SIG_DFL)
        if self._in_main and signal.getsignal(signal.SIGINT) == self._pass_over:
            signal.signal(signal.SIGINT, signal.default_int_handler)
