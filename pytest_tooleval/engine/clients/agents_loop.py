"""The event loop of all async agents of a process, and the time that each call takes on it.

There is one loop, because libraries share HTTP clients between agents, and these belong to a loop. One
call may block the others there.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any

from ...threads import DaemonThreads

BLOCKS = "blocks the event loop; use a plain def, or run it alone with max_concurrency = 1"
# A longer step blocks the loop. A few calls may do that, for instance to import something.
BLOCKS_S = 0.1
_TOLD_AFTER = 3
_LEAST_S = 0.01

_share: ContextVar[TimeShare | None] = ContextVar("_share", default=None)


class LoopClock:
    """Measures how long the tasks of each call run on an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.taken_s = 0.0
        # The running step: its call and its start.
        self.step: tuple[TimeShare | None, float] | None = None
        self._open = 0

        def task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
            return asyncio.Task(_TimedCoroutine(coroutine, self), loop=loop, **options)

        loop.set_task_factory(task)

    def run(self, step: Callable[..., Any], *arguments: object) -> Any:
        """Run one step of a task and measure it."""
        share, begin = _share.get(), time.perf_counter()
        self.step = share, begin
        if share is not None:
            share.begin(begin)
        try:
            return step(*arguments)
        finally:
            seconds = time.perf_counter() - begin
            self.step = None
            self.taken_s += seconds
            if share is not None:
                share.taken_s += seconds
                if seconds > BLOCKS_S and self._open > 1:
                    share.agent.blocking.add(share)

    def count_open(self, more: int) -> None:
        self._open += more

    def step_s(self) -> float:
        """How long the running step has taken."""
        step = self.step
        return 0.0 if step is None else time.perf_counter() - step[1]


class AgentOnLoop:
    """The async calls of one agent on the loop."""

    def __init__(self, name: str) -> None:
        self.name = name
        # Whether any call has begun a task there.
        self.is_on_loop = False
        # The calls that have blocked others.
        self.blocking: set[TimeShare] = set()

    @property
    def is_blocking(self) -> bool:
        """Whether several of its calls have blocked others."""
        return len(self.blocking) >= _TOLD_AFTER

    async def cancel(self) -> None:
        """Cancel its tasks. Runs on their loop."""
        current = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if _agent_of(task) is self and task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _TimedCoroutine(Coroutine[Any, Any, Any]):
    """Wraps a coroutine to measure its steps. It looks like the coroutine itself."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], clock: LoopClock) -> None:
        self._coroutine = coroutine
        self._clock = clock
        share = _share.get()
        self.agent = None if share is None else share.agent

    def send(self, value: Any) -> Any:
        return self._clock.run(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._clock.run(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)


def _agent_of(task: asyncio.Task[Any]) -> AgentOnLoop | None:
    coroutine = task.get_coro()
    return coroutine.agent if isinstance(coroutine, _TimedCoroutine) else None


class TimeShare:
    """The time that one call takes. Entered by the code that waits for the call."""

    def __init__(self, clock: LoopClock, agent: AgentOnLoop, timeout_s: float) -> None:
        self.agent = agent
        self.taken_s = 0.0
        self._clock = clock
        self._timeout_s = timeout_s
        self._since: float | None = None
        self._is_on_loop = False
        # When its first step on the loop began, and how long all steps had taken then.
        self._joined: tuple[float, float] | None = None

    def __enter__(self) -> TimeShare:
        _share.set(self)  # the tasks of the call inherit it
        return self

    def __exit__(self, *error: object) -> None:
        _share.set(None)
        if self._is_on_loop:
            self._clock.count_open(-1)

    def start(self) -> None:
        """Begin in a thread, where nobody blocks it."""
        self._since = time.perf_counter()

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        """Run a coroutine of the call on the loop."""
        self._is_on_loop = self.agent.is_on_loop = True
        self._clock.count_open(1)
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._clock.loop))

    def begin(self, now: float) -> None:
        if self._joined is None:
            self._joined = now, self._clock.taken_s
            self._since = now if self._since is None else self._since

    @property
    def seconds(self) -> float:
        """How long the call has taken, without the time that other calls used the loop."""
        if self._since is None:
            return 0.0
        now, step = time.perf_counter(), self._clock.step
        if self._joined is None:
            return now - self._since
        joined_at, taken_before = self._joined
        others = self._clock.taken_s - taken_before - self.taken_s
        if step is not None and step[0] is not self:
            others += now - max(step[1], joined_at)
        return now - self._since - others

    @property
    def left_s(self) -> float:
        """The seconds left. A tiny rest counts as 0, because time stands still while others block."""
        seconds = self._timeout_s - self.seconds
        return 0.0 if self._is_stuck or seconds < _LEAST_S else seconds

    @property
    def _is_stuck(self) -> bool:
        """Whether a step has blocked the loop for longer than both calls have time."""
        step = self._clock.step
        if step is None or not self._is_on_loop:
            return False
        limits = [self._timeout_s] if step[0] is None else [self._timeout_s, step[0]._timeout_s]
        return self._clock.step_s() > max(limits)

    @property
    def blocked_by(self) -> AgentOnLoop | None:
        """The agent that blocks the call now, perhaps its own."""
        step = self._clock.step
        is_blocked = self._is_on_loop and self._clock.step_s() > BLOCKS_S
        return step[0].agent if is_blocked and step is not None and step[0] is not None else None


_clocks: list[LoopClock] = []  # none or one


def agents_clock() -> LoopClock:
    """The clock of the process's loop for agents, which runs from the first call to the process's end.

    Its thread is a daemon, because an agent that hangs must not keep the process alive.
    """
    if not _clocks:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(DaemonThreads())
        _clocks.append(LoopClock(loop))
        threading.Thread(target=loop.run_forever, name="tooleval-agents", daemon=True).start()
    return _clocks[0]


def abandon_if_blocked(clock: LoopClock) -> None:
    """Leave a loop alone that an agent never gave back, so that later runs get another one."""
    if clock in _clocks and clock.step_s() > BLOCKS_S:
        _clocks.remove(clock)
