"""Daemon threads, which never keep the process from ending."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_Tasks = queue.SimpleQueue[Callable[[], None] | None]


class DaemonThreads(concurrent.futures.ThreadPoolExecutor):
    """Runs every task in its own daemon thread, without a limit on their number.

    At exit, Python waits for the threads of an ordinary pool, so a function that hangs would block
    pytest. asyncio accepts only a subclass of ThreadPoolExecutor as the default executor. A thread that
    has finished its task waits for the next one, as starting another takes longer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._free: list[_Tasks] = []
        self._is_over = False

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

        try:
            tasks = self._free.pop()
        except IndexError:
            tasks = queue.SimpleQueue()
            name = "tooleval-worker"
            threading.Thread(target=self._work, args=(tasks,), name=name, daemon=True).start()
        tasks.put(run)
        return future

    def _work(self, tasks: _Tasks) -> None:
        while (task := tasks.get()) is not None:
            task()
            if self._is_over:
                return
            self._free.append(tasks)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads that have nothing to do; the others end after their tasks."""
        self._is_over = True
        while self._free:
            self._free.pop().put(None)
