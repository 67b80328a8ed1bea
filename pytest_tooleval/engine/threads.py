"""Threads that never keep the process from ending."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any
from typing import TypeVar

T = TypeVar("T")


class DaemonThreads(concurrent.futures.ThreadPoolExecutor):
    """Runs every task in a daemon thread of its own.

    The interpreter waits for the threads of an ordinary pool when it exits, so one user's function
    that hangs, or litellm's import under Ctrl-C, would hold pytest for as long as it takes. How
    many run at a time is the caller's to limit. (asyncio takes only this class as its default.)
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
