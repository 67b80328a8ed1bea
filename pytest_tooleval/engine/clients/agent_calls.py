"""`call_tool` and `before_tool`, for agents with their own loop. Both use the toolbox.

`call_tool` answers a call; `before_tool` says whether the agent may run one of its own tools.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from ...errors import ModelError
from ...record.calls import JSON_DEPTH, ToolCall, shown_tool, with_arguments
from ...record.images import without_images
from ...record.status import APPROVED, NOT_RUN, CallStatus
from ...record.transcript import Message
from ...replies.endings import GAVE_UP
from ...secrets import redact
from ...suite.resolved import find_tool
from ...text import first_few, shorten
from ..exchange.chat import ChatAnswer
from ..exchange.tool_answers import CallAnswerer
from .callable_results import answers_in_order
from .transport import BODY_BYTES

# The answer of `call_tool`; for `before_tool`, the refusal or None.
_Waiting = concurrent.futures.Future["str | None"]
# How long to wait for a call that another thread made at the same time.
_AT_ONCE_S = 0.05


class _PendingCall(NamedTuple):
    """A call that an agent wants to make. `is_own` means that it runs the tool itself.

    `begins` is the number of calls whose answers the caller could know. `loop` is the caller's
    event loop, or None in a thread without one.
    """

    name: str
    arguments: str
    is_own: bool
    begins: int
    agent: str | None
    loop: asyncio.AbstractEventLoop | None
    future: _Waiting


class _Call(NamedTuple):
    """A call that the toolbox allowed or refused, with the toolbox's answer, if any.

    `place` is its place among all calls, in the order in which they ran.
    """

    order: int
    key: tuple[object, object]
    function: Mapping[str, Any]
    answer: Message | None
    status: CallStatus | None
    reply: ChatAnswer

    @property
    def begins(self) -> int:
        """The place of the first call that was not answered before this one began."""
        return self.order - self.reply.unanswered_before


class RunIsOver(asyncio.CancelledError):
    """Raised in an agent that calls a tool after its run; not caught by `except Exception`."""


class AgentCalls:
    """The calls of one run of an agent, from any thread or event loop, answered one by one.

    The task that awaits `serve` answers them, because a tool server's session belongs to one task.
    """

    def __init__(self, toolbox: CallAnswerer) -> None:
        self.replies: list[ChatAnswer] = []
        self.error: ModelError | None = None
        self.stopped = False
        self._toolbox = toolbox
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_PendingCall] = deque()
        self._woken = asyncio.Event()
        self._over = False
        self._size = 0
        self._begin = 0
        self._unawaited: dict[_Later, str] = {}
        self._since = time.perf_counter()

    @property
    def last(self) -> str:
        """The last call and its answer, for the message of an agent that failed; empty without one."""
        if not self.replies or not self.replies[-1].tool_answers:
            return ""
        (call,) = self.replies[-1].message["tool_calls"]
        answer = str(self.replies[-1].tool_answers[-1].get("content"))
        return f", after {call['function']['name']} answered {shorten(answer, 120)}"

    def call_tool(
        self,
        name: str | None = None,
        arguments: object = None,
        *,
        agent: str | None = None,
        **others: object,
    ) -> Any:
        """Call a tool. Returns the text of its answer; in async code, an awaitable.

        `arguments` are a dict, or the JSON text that a model wrote. `agent` is who calls, of several.
        """
        return self._ask("call_tool", name, arguments, agent, others)

    def before_tool(
        self,
        name: str | None = None,
        arguments: object = None,
        *,
        agent: str | None = None,
        **others: object,
    ) -> Any:
        """Ask whether the agent may run its own tool. In async code, returns an awaitable.

        Returns None if so, or else the text to give the model in place of the tool's answer.
        """
        return self._ask("before_tool", name, arguments, agent, others)

    def _ask(
        self,
        door: str,
        name: str | None,
        arguments: object,
        agent: str | None,
        others: Mapping[str, object],
    ) -> Any:
        if others or name is None:
            shown = ", ".join([repr(name)] * (name is not None) + [f"{each}=..." for each in others])
            raise self._misused(
                f"{door}({shown}): expected a tool's name and its arguments as one object, such as "
                f'{door}("get_weather", {{"city": "Paris"}})'
            )
        text = self._text(door, name, {} if arguments is None else arguments)
        future: _Waiting = concurrent.futures.Future()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        try:
            call = _PendingCall(str(name), text, door == "before_tool", self._begin, agent, loop, future)
            self._loop.call_soon_threadsafe(self._add, call)
        except RuntimeError:  # the run ended with the process
            raise RunIsOver from None
        if loop is None:
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
            return f"(an object nested more than {JSON_DEPTH} levels deep)"
        except (TypeError, ValueError) as error:
            message = f"{door}({name!r}) got arguments that are not valid JSON: {error}"
            raise self._misused(message) from None

    def _misused(self, message: str) -> TypeError:
        # Frameworks would show the exception to the model, which is not to blame.
        self.error = ModelError(message, kind="callable")
        return TypeError(message)

    def _add(self, call: _PendingCall) -> None:
        if self._over:
            _stop(call)
        else:
            self._waiting.append(call)
            self._woken.set()

    async def serve(self, agent: asyncio.Future[Any], left: Callable[[], float]) -> None:
        """Answer calls until the agent ends, is stopped, or has no time left."""
        agent.add_done_callback(lambda _: self._woken.set())
        while self._waiting or not agent.done():
            if self._waiting:
                pending = self._waiting.popleft()
                # Calls that the agent has cancelled meanwhile do not run.
                if pending.future.set_running_or_notify_cancel():
                    await self._answer(pending)
                if self.stopped:
                    return
                if left() > 0:
                    continue
            self._woken.clear()
            timer = self._loop.call_later(left(), self._woken.set)
            await self._woken.wait()
            timer.cancel()
            if left() <= 0 and not self._waiting and not agent.done():
                return
        if self._unawaited and self.error is None:
            call = next(iter(self._unawaited.values()))
            message = f"{call} was not awaited; in async code, write await {call.split('(')[0]}(...)"
            self.error = ModelError(message, kind="callable")

    async def _answer(self, pending: _PendingCall) -> None:
        name, text, is_own, begins, agent, loop, future = pending
        self._size += len(text) + len(name)
        latency_s = time.perf_counter() - self._since
        id = f"call_{len(self.replies)}"
        function = {"name": name, "arguments": text}
        wire = {"id": id, "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [wire]}
        # The replies keep any keys until they are compared with the agent's replies.
        call = self._read(pending, id)
        is_over = len(self.replies) >= self._toolbox.most_calls
        if (is_over or self._size > BODY_BYTES) and not await self._toolbox.forbids([call]):
            future.set_exception(RunIsOver())
            self.stopped = is_over
            if is_over:
                return
            raise ModelError(
                f"the calls are larger than {BODY_BYTES // 2**20} MiB in total",
                kind="bad_response",
            )
        try:
            if is_own:
                result = await self._toolbox.check_own(call)
            else:
                (result,) = await self._toolbox.answer_calls([call]) or (None,)
        except BaseException:
            future.set_exception(RunIsOver())
            await self._stop_at_forbidden()
            if self.stopped:
                return
            raise
        if result is None:
            self.stopped = True
            future.set_exception(RunIsOver())
            refused = ChatAnswer(message, latency_s=latency_s, statuses=("refused",), agent=agent)
            self.replies.append(refused)
            return
        unanswered = len(self.replies) - begins
        reply = ChatAnswer(message, latency_s=latency_s, unanswered_before=unanswered, agent=agent)
        runs_itself = is_own and result.by_suite
        text = without_images(result.content)  # agents get texts
        if not runs_itself:  # otherwise only the agent knows the outcome
            answer = {"role": "tool", "tool_call_id": id, "content": text}
            reply = structs.replace(
                reply, tool_answers=(answer,), statuses=(result.status,), ran_by_suite=(result.by_suite,)
            )
        self.replies.append(reply)
        self._since = time.perf_counter()
        if loop is None:
            self._know(len(self.replies))
        else:
            # In the caller's loop, behind the tasks that were ready before the answer was.
            with contextlib.suppress(RuntimeError):  # the agent closed its loop
                loop.call_soon_threadsafe(self._know, len(self.replies))
        future.set_result(None if runs_itself else text)

    def _know(self, answered: int) -> None:
        self._begin = max(self._begin, answered)

    def _read(self, pending: _PendingCall, id: str) -> ToolCall:
        """The call as tools get it, without keys."""
        texts = self._toolbox.case.public_texts
        call = ToolCall.parse(redact(pending.name, texts), redact(pending.arguments, texts), id)
        return structs.replace(call, agent=pending.agent)

    async def _stop_at_forbidden(self) -> None:
        """Let a forbidden call take precedence over the error of a call made at the same time."""
        await asyncio.sleep(_AT_ONCE_S)  # it may come from another thread
        for pending in list(self._waiting):
            if await self._toolbox.forbids([self._read(pending, "")]):
                self._waiting.remove(pending)
                if pending.future.set_running_or_notify_cancel():
                    await self._answer(pending)
                return

    def end(self) -> None:
        """Raise RunIsOver in all waiting and later calls."""
        self._over = True
        while self._waiting:
            _stop(self._waiting.popleft())

    async def run_of(self, answer: ChatAnswer, *, may_run: bool) -> ChatAnswer:
        """The whole run of an agent that returned this answer, including calls that it left out.

        Only the agent knows the texts and tokens of its replies, and the calls that its library refused.
        Calls that it made but did not return become replies before the returned ones. Unless it
        `may_run` tools itself, it cannot claim calls that nobody made: raises ModelError.
        """
        calls = [_call_of(place, reply) for place, reply in enumerate(self.replies)]
        matched = _matched(answer.replies, calls)
        if not may_run and self._toolbox.case.has_tool_rounds:
            # The last calls of a chain are scored, but not run.
            is_chain = self._toolbox.case.kind == "chain"
            await self._require_made(_claims(answer, matched, may_end=is_chain))
        *earlier, last = (
            structs.replace(
                _with_answers(reply, {k: m for (at, k), m in matched.items() if at == number}),
                unanswered_before=_unanswered(number, matched),
            )
            for number, reply in enumerate(answer.replies)
        )
        if calls:
            earlier = [*(_alone(each, calls, last.zeros) for each in calls), *earlier]
            last = structs.replace(last, latency_s=time.perf_counter() - self._since)
        return structs.replace(last, earlier=tuple(earlier))

    async def _require_made(self, claims: Sequence[Mapping[str, Any]]) -> None:
        """Raise ModelError for claimed calls of the case's tools, unless one is forbidden."""
        case = self._toolbox.case
        parsed = [ToolCall.parse(str(each.get("name")), each.get("arguments")) for each in claims]
        calls = [call for call in parsed if find_tool(case, call.name) is not None]
        if calls and not await self._toolbox.forbids(calls):
            shown = [with_arguments(shown_tool(call), call.arguments) for call in calls]
            raise ModelError(
                f"the returned messages hold calls that call_tool did not make: {first_few(shown, 5)}; "
                "make each call with call_tool, which runs it",
                kind="callable",
            )

    def unfinished_run(self) -> ChatAnswer:
        """The run of an agent that was stopped after too many calls, or by a call that ends the run."""
        *earlier, last = self.replies
        return structs.replace(last, earlier=tuple(earlier))


def _call_of(index: int, reply: ChatAnswer) -> _Call:
    """The single call of a reply that `AgentCalls` recorded."""
    function = reply.message["tool_calls"][0]["function"]
    status = next(iter(reply.statuses), None)
    return _Call(index, _key(function), function, next(iter(reply.tool_answers), None), status, reply)


def _key(function: Mapping[str, Any]) -> tuple[object, object]:
    """The name and the parsed arguments of a call."""
    call = ToolCall.parse(str(function.get("name")), function.get("arguments"))
    return call.name, call.raw_arguments if call.arguments is None else call.arguments


def _matched(replies: Sequence[ChatAnswer], calls: list[_Call]) -> dict[tuple[int, int], _Call]:
    """Find the calls of returned replies, by place, in `calls`, and remove them from it.

    Calls match by name and arguments, or else by name, because a library may add default arguments.
    A returned call that did not run matches one that ran only if no other call does.
    """
    places = [
        (number, index, call["function"], reply.statuses[index] if reply.statuses else None)
        for number, reply in enumerate(replies)
        for index, call in enumerate(reply.message.get("tool_calls") or ())
    ]
    matched: dict[tuple[int, int], _Call] = {}
    for parts, also_held_back in ((2, False), (1, False), (2, True)):
        for number, index, function, status in places:
            # Tools that the library runs itself have no status here.
            any_fits = also_held_back or status not in NOT_RUN
            fitting = (each for each in calls if any_fits or each.status in (None, *NOT_RUN))
            key = _key(function)[:parts]
            call = next((each for each in fitting if each.key[:parts] == key), None)
            if call is not None and (number, index) not in matched:
                matched[number, index] = call
                calls.remove(call)
    return matched


def _claims(
    answer: ChatAnswer, matched: Mapping[tuple[int, int], _Call], *, may_end: bool
) -> list[Mapping[str, Any]]:
    """The functions of returned calls that the toolbox did not see, unless they failed.

    An agent that gave up may not have come to its last calls; one that `may_end` with calls made them.
    """
    *_, last = replies = answer.replies
    if (answer.finish_reason or "").startswith(GAVE_UP):
        return []
    return [
        call["function"]
        for number, reply in enumerate(replies)
        if not (may_end and reply is last and not reply.tool_answers)
        for index, call in enumerate(reply.message.get("tool_calls") or ())
        if (number, index) not in matched
        if (reply.statuses[index] if reply.statuses else None) in (None, "ok")
    ]


def _alone(call: _Call, others: Sequence[_Call], zeros: Mapping[str, Any]) -> ChatAnswer:
    """The reply of a call that the agent left out, among all of these."""
    unanswered = sum(call.begins <= each.order < call.order for each in others)
    return structs.replace(call.reply, **zeros, unanswered_before=unanswered)


def _unanswered(number: int, matched: Mapping[tuple[int, int], _Call]) -> int:
    """How many returned replies before this one were not answered when its first call began."""
    begins = [call.begins for (at, _), call in matched.items() if at == number]
    running = [
        at for (at, _), call in matched.items() if begins and at < number and call.order >= min(begins)
    ]
    return number - min(running, default=number)


def _with_answers(reply: ChatAnswer, by_index: Mapping[int, _Call]) -> ChatAnswer:
    """A returned reply with the toolbox's answers, in the order in which parallel calls ran.

    `by_index` are the toolbox's calls by index.
    """
    answers = {str(message.get("tool_call_id")): message for message in reply.tool_answers}
    calls = list(reply.message.get("tool_calls") or ())
    status = list(reply.statuses or (None,) * len(calls))
    by_suite = [False] * len(calls)
    for index, call in by_index.items():
        if call.answer is not None:
            id = calls[index].get("id")
            # Only the agent knows whether somebody approved the call.
            is_approved = answers.get(str(id), {}).get(APPROVED) is True
            approval = {APPROVED: True} if is_approved else {}
            answers[str(id)] = {**call.answer, **approval, "tool_call_id": id}
            calls[index] = {**calls[index], "function": call.function}
            status[index] = call.status
            by_suite[index] = any(call.reply.ran_by_suite)
    message = {**reply.message, "tool_calls": calls} if calls else reply.message
    agent = reply.agent or next((each.reply.agent for each in by_index.values()), None)
    ran = {str(calls[index].get("id")): each.order for index, each in by_index.items()}
    reply = answers_in_order(
        structs.replace(
            reply,
            message=message,
            tool_answers=tuple(answers.values()),
            statuses=tuple(status),
            ran_by_suite=tuple(by_suite),
            agent=agent,
        )
    )
    if len(ran) < len(reply.tool_answers):
        return reply
    ordered = sorted(reply.tool_answers, key=lambda answer: ran.get(str(answer.get("tool_call_id")), 0))
    return structs.replace(reply, tool_answers=tuple(ordered))


def _stop(call: _PendingCall) -> None:
    """Raise RunIsOver for the caller, unless the call was cancelled."""
    if call.future.set_running_or_notify_cancel():
        call.future.set_exception(RunIsOver())


class _Later:
    """An awaitable answer that records whether it was awaited."""

    def __init__(self, future: _Waiting, unawaited: dict[_Later, str]) -> None:
        self._future = future
        self._unawaited = unawaited

    def __await__(self) -> Generator[Any, None, str | None]:
        self._unawaited.pop(self, None)
        return asyncio.wrap_future(self._future).__await__()
