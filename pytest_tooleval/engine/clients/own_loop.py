"""`call_tool`, for agents with their own loop: answers their calls, and records the trajectory."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import time
from collections import deque
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ...errors import ModelError
from ...record.calls import MAX_DEPTH
from ...record.calls import ToolCall
from ...record.transcript import sum_if_known
from .base import MOST_BYTES
from .base import ChatAnswer
from .base import Executor
from .returned import in_order

_Waiting = concurrent.futures.Future[str]


class RunIsOver(asyncio.CancelledError):
    """Raised in an agent that calls a tool after its run; not caught by `except Exception`."""


class OwnLoop:
    """The calls of one run of an agent, from any thread or event loop, answered one by one.

    The task that awaits `serve` answers them, as a session of a tool server belongs to one task.
    """

    def __init__(self, executor: Executor) -> None:
        self.rounds: list[ChatAnswer] = []
        self.error: ModelError | None = None
        self.stopped = False
        self._executor = executor
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[str, str, _Waiting]] = deque()
        self._woken = asyncio.Event()
        self._over = False
        self._size = 0
        self._unawaited: dict[_Later, str] = {}
        self._since = time.perf_counter()

    def call_tool(self, name: str = "", arguments: object = None, **others: object) -> Any:
        """Call a tool. Returns the text of its answer; in async code, an awaitable.

        `arguments` are a dict, or the JSON text that a model wrote.
        """
        if others or not name:
            given = ", ".join([repr(name)] * bool(name) + [f"{each}=..." for each in others])
            raise self._misused(
                f"call_tool({given}): expected a tool's name and its arguments as one object, such as "
                'call_tool("get_weather", {"city": "Paris"})'
            )
        text = self._text(name, {} if arguments is None else arguments)
        future: _Waiting = concurrent.futures.Future()
        try:
            self._loop.call_soon_threadsafe(self._add, str(name), text, future)
        except RuntimeError:  # the run ended with the process
            raise RunIsOver from None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return future.result()
        later = _Later(future, self._unawaited)
        self._unawaited[later] = str(name)
        return later

    def _text(self, name: str, arguments: object) -> str:
        if isinstance(arguments, str):
            return arguments
        try:
            return json.dumps(arguments)
        except RecursionError:
            return f"(an object nested more than {MAX_DEPTH} levels deep)"
        except (TypeError, ValueError) as error:
            message = f"call_tool({name!r}) got arguments that are not valid JSON: {error}"
            raise self._misused(message) from None

    def _misused(self, message: str) -> TypeError:
        # Frameworks would show the exception to the model, which is not to blame.
        self.error = ModelError(message, kind="callable")
        return TypeError(message)

    def _add(self, name: str, text: str, future: _Waiting) -> None:
        if self._over:
            future.set_exception(RunIsOver())
        else:
            self._waiting.append((name, text, future))
            self._woken.set()

    async def serve(self, agent: asyncio.Future[Any], left: Callable[[], float]) -> None:
        """Answer calls until the agent ends, is stopped, or has no time left."""
        agent.add_done_callback(lambda _: self._woken.set())
        while self._waiting or not agent.done():
            if self._waiting:
                self.stopped = len(self.rounds) >= self._executor.most_calls
                if not self.stopped:
                    await self._answer(*self._waiting.popleft())
                if self.stopped:
                    return
                if left() > 0:
                    continue
            self._woken.clear()
            try:
                await asyncio.wait_for(self._woken.wait(), left())
            except asyncio.TimeoutError:
                if left() <= 0:
                    return
        if self._unawaited and self.error is None:
            name = next(iter(self._unawaited.values()))
            message = f"call_tool({name!r}) was not awaited; in async code, write await call_tool(...)"
            self.error = ModelError(message, kind="callable")

    async def _answer(self, name: str, text: str, future: _Waiting) -> None:
        self._size += len(text) + len(name)
        if self._size > MOST_BYTES:
            future.set_exception(RunIsOver())
            raise ModelError(
                f"the calls are larger than {MOST_BYTES // 2**20} MiB in total", kind="bad_response"
            )
        latency_s = time.perf_counter() - self._since
        id = f"call_{len(self.rounds)}"
        function = {"name": name, "arguments": text}
        wire = {"id": id, "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [wire]}
        call = ToolCall.parse(name, text, id)
        try:
            self.stopped = await self._executor.ends(call)
            content = "" if self.stopped else await self._executor.answer(call)
        except BaseException:
            future.set_exception(RunIsOver())
            raise
        if self.stopped:
            future.set_exception(RunIsOver())
            self.rounds.append(ChatAnswer(message, latency_s=latency_s))
            return
        answer = {"role": "tool", "tool_call_id": id, "content": content}
        self.rounds.append(ChatAnswer(message, latency_s=latency_s, answers=(answer,)))
        self._since = time.perf_counter()
        future.set_result(content)

    def end(self) -> None:
        """Raise RunIsOver in all waiting and later calls."""
        self._over = True
        while self._waiting:
            self._waiting.popleft()[2].set_exception(RunIsOver())

    def run_of(self, answer: ChatAnswer) -> ChatAnswer:
        """The whole run of an agent that returned this answer.

        If the agent returned its rounds with all its calls, those count: only the agent knows the other
        texts, the tokens of each round, and calls that its library refused. Otherwise each call is a
        round, and the last round has the tokens and cost of the run.
        """
        returned = self._in_rounds_of(answer)
        if returned is not None:
            return returned
        names = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd")
        sums: dict[str, Any] = {
            name: sum_if_known(getattr(each, name) for each in answer.rounds) for name in names
        }
        nothing: dict[str, Any] = {name: 0 for name, value in sums.items() if value is not None}
        earlier = tuple(structs.replace(each, **nothing) for each in self.rounds)
        latency_s = time.perf_counter() - self._since
        return structs.replace(answer, earlier=earlier, latency_s=latency_s, **sums)

    def _in_rounds_of(self, answer: ChatAnswer) -> ChatAnswer | None:
        """The rounds that the agent returned, with the given answers; None if calls are missing."""
        made = [(_call_key(each.message["tool_calls"][0]), each.answers[0]) for each in self.rounds]
        found, rounds = 0, []
        for each in answer.rounds:
            answers = {str(message.get("tool_call_id")): message for message in each.answers}
            for call in each.message.get("tool_calls") or ():
                if found < len(made) and made[found][0] == _call_key(call):
                    answers[str(call.get("id"))] = {**made[found][1], "tool_call_id": call.get("id")}
                    found += 1
            rounds.append(in_order(structs.replace(each, answers=tuple(answers.values()))))
        if found < len(made):
            return None
        *earlier, last = rounds
        return structs.replace(last, earlier=tuple(earlier))

    def unfinished(self) -> ChatAnswer:
        """The run of an agent that was stopped, by too many calls or by one that ends the run."""
        *earlier, last = self.rounds
        return structs.replace(last, earlier=tuple(earlier))


def _call_key(call: Mapping[str, Any]) -> tuple[object, object]:
    """The name and the parsed arguments of a call."""
    function = call["function"]
    arguments = function.get("arguments")
    try:
        return function.get("name"), json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return function.get("name"), arguments


class _Later:
    """An awaitable answer, which notes when it is awaited."""

    def __init__(self, future: _Waiting, unawaited: dict[_Later, str]) -> None:
        self._future = future
        self._unawaited = unawaited

    def __await__(self) -> Generator[Any, None, str]:
        self._unawaited.pop(self, None)
        return asyncio.wrap_future(self._future).__await__()
