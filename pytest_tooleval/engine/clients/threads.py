"""Daemon threads, which never keep the process from ending."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class DaemonThreads(concurrent.futures.ThreadPoolExecutor):
    """Runs every task in its own daemon thread, without a limit on their number.

    At exit, Python waits for the threads of an ordinary pool, so a function that hangs would block
    pytest. asyncio accepts only a subclass of ThreadPoolExecutor as the default executor.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[T]:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=run, name="tooleval-worker", daemon=True).start()
        return future
