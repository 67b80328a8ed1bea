"""Daemon threads, which never keep the process from ending."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """A daemon thread that runs functions one after the other.

    Some objects, such as SQLite connections, work only in the thread that opened them.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="tooleval-worker", daemon=True).start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def submit(self, function: Callable[[], T]) -> concurrent.futures.Future[T]:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._jobs.put(job)
        return future

    def close(self) -> None:
        """End the thread, after its jobs."""
        self._jobs.put(None)


class DaemonThreads(concurrent.futures.ThreadPoolExecutor):
    """Runs every task in its own daemon thread, without a limit on their number.

    At exit, Python waits for the threads of an ordinary pool, so a function that hangs would block
    pytest. asyncio accepts only a subclass of ThreadPoolExecutor as the default executor. A worker that
    is done waits for the next task, as starting another takes longer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._free: list[Worker] = []
        self._is_over = False

    def take(self) -> Worker:
        """A worker that does nothing else. Give it back with `give_back`."""
        try:
            return self._free.pop()
        except IndexError:
            return Worker()

    def give_back(self, worker: Worker, last: concurrent.futures.Future[Any]) -> None:
        """Give a worker back once its last job is done, which may never be."""
        last.add_done_callback(lambda _: self._free_or_end(worker))

    def _free_or_end(self, worker: Worker) -> None:
        if self._is_over:
            worker.close()
        else:
            self._free.append(worker)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[T]:
        worker = self.take()
        future = worker.submit(partial(fn, *args, **kwargs))
        self.give_back(worker, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads that have nothing to do; the others end after their tasks."""
        self._is_over = True
        while self._free:
            self._free.pop().close()
