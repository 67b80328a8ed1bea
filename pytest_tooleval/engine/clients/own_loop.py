"""`call_tool` and `before_tool`, for agents with their own loop: both ask the toolbox.

`call_tool` answers a call; `before_tool` says whether the agent may run a tool of its own.
"""

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
from typing import NamedTuple

from msgspec import structs

from ...errors import ModelError
from ...record.calls import MAX_DEPTH
from ...record.calls import ToolCall
from ...record.transcript import CallStatus
from ...record.transcript import Message
from ...record.transcript import sum_if_known
from ...secrets import redacted
from ..toolbox import Toolbox
from .base import MOST_BYTES
from .base import ChatAnswer
from .returned import in_order

# The answer of `call_tool`; of `before_tool` the refusal, or None.
_Waiting = concurrent.futures.Future["str | None"]


class _Call(NamedTuple):
    """A call that an agent wants to make; `own`: of a tool of its own, which it runs itself."""

    name: str
    arguments: str
    own: bool
    future: _Waiting


class _Made(NamedTuple):
    """A call that the toolbox has let through or refused, with its answer if the toolbox gave one."""

    key: tuple[object, object]
    answer: Message | None
    status: CallStatus | None


class RunIsOver(asyncio.CancelledError):
    """Raised in an agent that calls a tool after its run; not caught by `except Exception`."""


class OwnLoop:
    """The calls of one run of an agent, from any thread or event loop, answered one by one.

    The task that awaits `serve` answers them, as a session of a tool server belongs to one task.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self.rounds: list[ChatAnswer] = []
        self.error: ModelError | None = None
        self.stopped = False
        self._toolbox = toolbox
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Call] = deque()
        self._woken = asyncio.Event()
        self._over = False
        self._size = 0
        self._unawaited: dict[_Later, str] = {}
        self._since = time.perf_counter()

    def call_tool(self, name: str = "", arguments: object = None, **others: object) -> Any:
        """Call a tool. Returns the text of its answer; in async code, an awaitable.

        `arguments` are a dict, or the JSON text that a model wrote.
        """
        return self._ask("call_tool", name, arguments, others)

    def before_tool(self, name: str = "", arguments: object = None, **others: object) -> Any:
        """Ask whether the agent may run a tool of its own. In async code, an awaitable.

        Returns None if so, else what to answer the model in place of the tool.
        """
        return self._ask("before_tool", name, arguments, others)

    def _ask(self, door: str, name: str, arguments: object, others: Mapping[str, object]) -> Any:
        if others or not name:
            given = ", ".join([repr(name)] * bool(name) + [f"{each}=..." for each in others])
            raise self._misused(
                f"{door}({given}): expected a tool's name and its arguments as one object, such as "
                f'{door}("get_weather", {{"city": "Paris"}})'
            )
        text = self._text(door, name, {} if arguments is None else arguments)
        future: _Waiting = concurrent.futures.Future()
        try:
            call = _Call(str(name), text, door == "before_tool", future)
            self._loop.call_soon_threadsafe(self._add, call)
        except RuntimeError:  # the run ended with the process
            raise RunIsOver from None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return future.result()
        later = _Later(future, self._unawaited)
        self._unawaited[later] = f"{door}({str(name)!r})"
        return later

    def _text(self, door: str, name: str, arguments: object) -> str:
        if isinstance(arguments, str):
            return arguments
        try:
            return json.dumps(arguments)
        except RecursionError:
            return f"(an object nested more than {MAX_DEPTH} levels deep)"
        except (TypeError, ValueError) as error:
            message = f"{door}({name!r}) got arguments that are not valid JSON: {error}"
            raise self._misused(message) from None

    def _misused(self, message: str) -> TypeError:
        # Frameworks would show the exception to the model, which is not to blame.
        self.error = ModelError(message, kind="callable")
        return TypeError(message)

    def _add(self, call: _Call) -> None:
        # A library that cancels the call, as when another one ends the run, must not take its answer.
        if not call.future.set_running_or_notify_cancel():
            return
        if self._over:
            call.future.set_exception(RunIsOver())
        else:
            self._waiting.append(call)
            self._woken.set()

    async def serve(self, agent: asyncio.Future[Any], left: Callable[[], float]) -> None:
        """Answer calls until the agent ends, is stopped, or has no time left."""
        agent.add_done_callback(lambda _: self._woken.set())
        while self._waiting or not agent.done():
            if self._waiting:
                self.stopped = len(self.rounds) >= self._toolbox.most_calls
                if not self.stopped:
                    await self._answer(self._waiting.popleft())
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
            asked = next(iter(self._unawaited.values()))
            message = f"{asked} was not awaited; in async code, write await {asked.split('(')[0]}(...)"
            self.error = ModelError(message, kind="callable")

    async def _answer(self, asked: _Call) -> None:
        name, text, own, future = asked
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
        # No tool gets a key. The rounds keep it until they are compared with those of the agent.
        public = self._toolbox.public
        call = ToolCall.parse(redacted(name, public), redacted(text, public), id)
        try:
            if own:
                found = await self._toolbox.check_own(call)
            else:
                (found,) = await self._toolbox.answers([call]) or (None,)
        except BaseException:
            future.set_exception(RunIsOver())
            raise
        if found is None:
            self.stopped = True
            future.set_exception(RunIsOver())
            self.rounds.append(ChatAnswer(message, latency_s=latency_s, status=("refused",)))
            return
        made = ChatAnswer(message, latency_s=latency_s)
        runs_itself = own and found.status == "executed"
        if not runs_itself:  # else only the agent knows what becomes of it
            answer = {"role": "tool", "tool_call_id": id, "content": found.content}
            made = structs.replace(made, answers=(answer,), status=(found.status,))
        self.rounds.append(made)
        self._since = time.perf_counter()
        future.set_result(None if runs_itself else found.content)

    def end(self) -> None:
        """Raise RunIsOver in all waiting and later calls."""
        self._over = True
        while self._waiting:
            self._waiting.popleft().future.set_exception(RunIsOver())

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
        made = deque(map(_made, self.rounds))
        rounds = []
        for each in answer.rounds:
            answers = {str(message.get("tool_call_id")): message for message in each.answers}
            calls = each.message.get("tool_calls") or ()
            status = list(each.status or (None,) * len(calls))
            for index, call in enumerate(calls):
                if made and made[0].key == _call_key(call):
                    known = made.popleft()
                    if known.answer is not None:
                        answers[str(call.get("id"))] = {**known.answer, "tool_call_id": call.get("id")}
                        status[index] = known.status
            complete = structs.replace(each, answers=tuple(answers.values()), status=tuple(status))
            rounds.append(in_order(complete))
        if made:
            return None
        *earlier, last = rounds
        return structs.replace(last, earlier=tuple(earlier))

    def unfinished(self) -> ChatAnswer:
        """The run of an agent that was stopped, by too many calls or by one that ends the run."""
        *earlier, last = self.rounds
        return structs.replace(last, earlier=tuple(earlier))


def _made(round_: ChatAnswer) -> _Made:
    """The only call of a round that the toolbox saw."""
    key = _call_key(round_.message["tool_calls"][0])
    return _Made(key, next(iter(round_.answers), None), next(iter(round_.status), None))


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

    def __await__(self) -> Generator[Any, None, str | None]:
        self._unawaited.pop(self, None)
        return asyncio.wrap_future(self._future).__await__()
