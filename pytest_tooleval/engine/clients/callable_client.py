"""A Python function as a model, such as a user's own agent."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from ...errors import AgentGaveUp, ModelError, error_text, raised_at
from ...text import near
from ..exchange.chat import RESPONSE_FORMAT, ChatAnswer, ChatRequest
from ..exchange.tool_answers import CallAnswerer
from ..models.spec import CallableModel
from .agent_calls import AgentCalls
from .agents_loop import BLOCKS, AgentOnLoop, LoopClock, TimeShare, abandon_if_blocked, agents_clock
from .callable_results import callable_error, read_giving_up, read_result


class CallableClient:
    """Calls `function(messages, tools)` in a thread, or on the agents' event loop if it is async.

    With a separate loop, an agent that blocks does not affect other models, and can time out. While one
    call blocks the loop, the clocks of the other calls there stop.

    The function returns the assistant's message: a dict as in the chat API, a text, or an object with
    `model_dump()` (messages and whole responses of litellm and openai). If it has parameters named
    `tool_choice`, `trial` or like a sampling parameter (`temperature`, ...), it also gets those.

    A function with a parameter named `call_tool` or `before_tool` runs its own loop: its calls are the
    transcript, and its result is the answer. A result that is a list of messages is also a whole run.
    """

    def __init__(self, spec: CallableModel) -> None:
        self._spec = spec
        # Keep an import error, even if a world adds its folder to the path meanwhile.
        self._function: Callable[..., Any] | ModelError | None = None
        self._loading = asyncio.Lock()
        self._clock: LoopClock | None = None
        self._agent = AgentOnLoop(spec.callable)

    @property
    def problem(self) -> str:
        """A warning about the function, if any."""
        return f"{self._agent.name} {BLOCKS} ({self._spec.place})" if self._agent.is_blocking else ""

    async def _loaded(self) -> Callable[..., Any]:
        if self._spec.function is not None and not inspect.isclass(self._spec.function):
            return self._spec.function  # which was checked when it was named
        async with self._loading:
            if self._function is None:
                try:
                    self._function = await asyncio.to_thread(load_callable, self._spec)
                except ModelError as error:
                    self._function = error
        if isinstance(self._function, ModelError):
            raise self._function
        return self._function

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        function = await self._loaded()
        offered = {"tool_choice": request.tool_choice, "trial": request.trial, **request.sampling}
        keywords = _accepted(function, offered)
        if RESPONSE_FORMAT in offered and RESPONSE_FORMAT not in keywords:
            raise callable_error(
                f"{self._spec.callable} has no parameter {RESPONSE_FORMAT}, so it would not get that of "
                "the case; give it one (a library's agent has its own output type), or remove "
                f"{RESPONSE_FORMAT} from the case or suite"
            )
        calls, doors = _doors(function, request.toolbox)
        self._require_values(function, {*keywords, *doors})
        messages = copy.deepcopy([dict(message) for message in request.messages])
        tools = copy.deepcopy([dict(tool) for tool in request.tools])
        self._clock = self._clock or agents_clock()
        with TimeShare(self._clock, self._agent, timeout_s) as share:
            called = partial(function, messages, tools, **keywords, **doors)
            if _is_async(function):
                task = share.submit(_outcome(called))
            else:
                task = asyncio.ensure_future(_threaded(called, share))
            try:
                await _serve(task, calls, lambda: share.left_s)
                finished, blocked_by = task.done(), share.blocked_by
            finally:
                if calls is not None:
                    calls.end()
                task.cancel()
            latency_s = share.seconds
        if calls is not None and calls.stopped:
            return calls.unfinished_run()
        if calls is not None and calls.error is not None:
            raise calls.error
        if not finished:
            why = (
                f"; {'it' if blocked_by is self._agent else blocked_by.name} {BLOCKS}"
                if blocked_by
                else ""
            )
            raise ModelError(
                f"{self._spec.callable} did not answer within {timeout_s:g} s (--tooleval-timeout){why}",
                kind="timeout",
            )
        result, error = (None, asyncio.CancelledError()) if task.cancelled() else task.result()
        if isinstance(error, ModelError):
            # Earlier calls may have changed the tools' answers.
            error.retryable = error.retryable and not (calls and calls.replies)
        answer = self._read(result, error, request, latency_s, calls.last if calls else "")
        if calls is not None:
            answer = await calls.run_of(answer, may_run="before_tool" in doors)
        if "reasoning_effort" in offered and "reasoning_effort" not in keywords:
            return structs.replace(answer, fallbacks={"reasoning_effort": None})
        return answer

    def _require_values(self, function: Callable[..., Any], names: Collection[str]) -> None:
        """Raise ModelError for a parameter that gets no value."""
        fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        for name, param in [*_parameters(function).items()][2:]:
            if param.default is param.empty and param.kind not in fixed and name not in names:
                raise callable_error(
                    f"{self._spec.callable} takes {inspect.signature(function)}, and nothing is called "
                    f"{name} here; after messages and tools, parameters go by name, such as call_tool"
                )

    def _read(
        self,
        result: object,
        error: BaseException | None,
        request: ChatRequest,
        latency_s: float,
        last: str,
    ) -> ChatAnswer:
        """Read the function's result, or how it gave up, as an answer. Raises ModelError."""
        if isinstance(error, ModelError):
            raise error
        if isinstance(error, AgentGaveUp):
            return read_giving_up(self._spec, error, request.messages, latency_s)
        if error is not None:
            text = f"{self._spec.callable} raised {error_text(error)}{raised_at(error)}{last}"
            raise callable_error(text, raised=error)
        return read_result(self._spec, result, request.messages, latency_s)

    async def close(self) -> None:
        """Cancel the agent, and give it a moment to react."""
        if self._clock is not None and self._agent.is_on_loop:
            ended = asyncio.run_coroutine_threadsafe(self._agent.cancel(), self._clock.loop)
            await asyncio.wait([asyncio.wrap_future(ended)], timeout=2.0)
            abandon_if_blocked(self._clock)


def _doors(
    function: Callable[..., Any], toolbox: CallAnswerer | None
) -> tuple[AgentCalls | None, dict[str, Any]]:
    """The loop of a function that runs its own, and the arguments with which it can call tools."""
    if toolbox is None:
        return None, {}
    doors = [door for door in ("call_tool", "before_tool") if _takes(function, door)]
    calls = AgentCalls(toolbox) if doors else None
    fields = {
        "approvals": dict(toolbox.approvals),
        "most_calls": toolbox.most_calls,
        "max_rounds": toolbox.case.max_rounds,
    }
    wanted = {name: value for name, value in fields.items() if _takes(function, name)}
    return calls, {door: getattr(calls, door) for door in doors} | wanted


async def _serve(task: asyncio.Future[Any], calls: AgentCalls | None, left: Callable[[], float]) -> None:
    """Wait until a run ends or has no time left, and answer its tool calls."""
    if calls is not None:
        await calls.serve(task, left)
    # Not `wait_for`, which waits for a function that swallows cancellation.
    while calls is None and not task.done() and left() > 0:
        await asyncio.wait([task], timeout=left())


_Outcome = tuple[Any, BaseException | None]


async def _threaded(function: Callable[[], Any], share: TimeShare) -> _Outcome:
    """The outcome of a plain function, which runs in a thread; what it may return is awaited."""
    share.start()
    result, error = await asyncio.to_thread(_called_once, function)
    if error is None and inspect.isawaitable(result):
        return cast("_Outcome", await share.submit(_outcome(lambda: result)))
    return result, error


async def _outcome(function: Callable[[], Any]) -> _Outcome:
    """Return the function's result, or its exception.

    Does not raise the exception: SystemExit in a task would end the event loop, a future cannot contain
    StopIteration, and any exception may contain a key.
    """
    result, error = _called_once(function)
    if error is not None or not inspect.isawaitable(result):
        return result, error
    try:
        return await result, None
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as raised:
        return None, raised


def _called_once(function: Callable[[], Any]) -> _Outcome:
    try:
        return function(), None
    except BaseException as error:
        return None, error


def load_callable(spec: CallableModel) -> Callable[..., Any]:
    """Import a model's `callable = "module:function"`, from the config file's folder if it is there.

    A class is instantiated. Raises a fatal ModelError that says what is missing.
    """
    function: Any = find_callable(spec)
    if inspect.isclass(function):
        try:
            function = function()
        except (Exception, SystemExit) as error:
            raise _unusable(spec, f"{_path(spec)}() raised {error_text(error)}") from None
    return _called(spec, function)


def find_callable(spec: CallableModel) -> Callable[..., Any]:
    """Import a model's callable, without instantiating a class, which may be expensive.

    Raises a fatal ModelError if it cannot be called with messages and tools.
    """
    spec.key()  # its module may need it
    try:
        function = _called(spec, spec.function or import_object(spec.callable, spec.folder))
    except LookupError as error:
        raise _unusable(spec, str(error.args[0])) from None
    if not inspect.isclass(function):
        _check_parameters(spec, function)
    return function


def _check_parameters(spec: CallableModel, function: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # written in C
    try:
        signature.bind_partial([], [])
    except TypeError:
        expected = "expected (messages, tools)"
        raise _unusable(spec, f"{_path(spec)} takes {signature}, {expected}") from None


def _called(spec: CallableModel, target: Any) -> Callable[..., Any]:
    if not callable(target):
        how = "cannot be called; name a function, a method or a class with __call__"
        raise _unusable(spec, f"{_path(spec)!r} {how}")
    return target  # type: ignore[no-any-return]


def _path(spec: CallableModel) -> str:
    return spec.callable.partition(":")[2]


def _unusable(spec: CallableModel, reason: str) -> ModelError:
    return callable_error(f"callable {spec.callable!r} of {spec.place}: {reason}", fatal=True)


def import_object(target: str, folder: Path | None) -> Any:
    """Import `module:object`, from this folder if it is there. Raises LookupError with the reason."""
    module_name, _, path = target.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        value: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        more = _where(module_name, folder, error) if folder is not None else ""
        raise LookupError(f"cannot import {module_name!r}: {error_text(error)}{more}") from None
    for name in path.split("."):
        parent, value = value, getattr(value, name, None)
        if value is None:
            names = [each for each in dir(parent) if not each.startswith("_")]
            raise LookupError(f"{module_name!r} has no {path!r}{near(name, names)}")
    return value


def _where(module_name: str, folder: Path, error: BaseException) -> str:
    """A hint for a missing module: the places searched, and a module of its name elsewhere."""
    if not isinstance(error, ModuleNotFoundError) or error.name != module_name:
        return ""
    inside = [file for depth in ("*", "*/*") for file in folder.glob(f"{depth}/{module_name}.py")]
    text = f"; looked in {folder} and where Python does"
    if inside:
        path = inside[0].relative_to(folder)
        text += f"; there is {path.as_posix()}: name it {'.'.join(path.with_suffix('').parts)!r}"
    return text


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _accepted(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords for which the function has parameters; `**kwargs` takes all."""
    parameters = _parameters(function)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(offered)
    further = list(parameters)[2:]
    return {name: value for name, value in offered.items() if name in further}


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether the function itself has a parameter of this name."""
    param = _parameters(function).get(name)
    return param is not None and param.kind not in (param.VAR_KEYWORD, param.VAR_POSITIONAL)
