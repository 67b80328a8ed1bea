"""A Python function as a model: people's own agents, asked the same questions."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ...errors import ModelError
from ...text import shorten
from ..endings import ending_of
from ..models.prices import reasoning_tokens
from ..models.prices import token_count
from ..models.spec import ModelSpec
from ..secrets import scrub
from ..secrets import secret_values
from ..threads import DaemonThreads
from .base import ChatAnswer
from .base import ChatRequest


class CallableClient:
    """Calls `function(messages, tools)`: sync in a thread, async on a loop of its own.

    Its own loop, so that an agent which blocks holds up nobody else and can be timed out.

    The function returns the assistant's message: a dict in the chat API's shape, a text, or an
    object with `model_dump()` (litellm's and openai's messages and whole responses). If it has
    parameters named `tool_choice`, `trial` or as a sampling parameter (`temperature`, ...), it is
    given those too.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._function: Callable[..., Any] | None = None
        self._loading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        async with self._loading:
            if self._function is None:
                self._function = await asyncio.to_thread(load_callable, self._spec)
        offered = {"tool_choice": request.tool_choice, "trial": request.trial, **request.sampling}
        keywords = _accepted(self._function, offered)
        messages = copy.deepcopy([dict(message) for message in request.messages])
        tools = copy.deepcopy([dict(tool) for tool in request.tools])
        begin = time.perf_counter()
        outcome = _outcome(self._function, messages, tools, keywords)
        call = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(outcome, self._own_loop()))
        try:
            # `wait` and not `wait_for`: that would wait for a function which swallows cancellation.
            finished, _ = await asyncio.wait([call], timeout=timeout_s)
        finally:
            call.cancel()
        if not finished:
            raise ModelError(
                f"{self._spec.callable} gave no answer within {timeout_s:g} s (--tooleval-timeout)",
                kind="timeout",
            )
        result, error = (None, asyncio.CancelledError()) if call.cancelled() else call.result()
        if isinstance(error, ModelError):
            raise error
        if error is not None:
            raise ModelError(self._describe(error), kind="callable")
        answer = _read(self._spec, result, time.perf_counter() - begin)
        deaf = "reasoning_effort" in offered and "reasoning_effort" not in keywords
        return structs.replace(answer, fallbacks={"reasoning_effort": None}) if deaf else answer

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_default_executor(DaemonThreads())
            # A daemon: an agent that hangs must not keep the process from ending.
            name = f"tooleval-{self._spec.callable}"
            threading.Thread(target=_run, args=(self._loop,), name=name, daemon=True).start()
        return self._loop

    async def close(self) -> None:
        """Cancel what the agent is doing, give it a moment to notice, and end its loop."""
        if self._loop is not None:
            ended = asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
            await asyncio.wait([asyncio.wrap_future(ended)], timeout=0.5)
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _describe(self, error: BaseException) -> str:
        """One line that names the exception and the line of the user's code that raised it."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not any(part in frame.filename for part in _NOT_THEIRS)]
        place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
        return _one_line(f"{self._spec.callable} raised {_named(error)}{place}", self._spec)


_NOT_THEIRS = (
    os.path.dirname(__file__) + os.sep,
    os.path.dirname(asyncio.__file__) + os.sep,
    os.sep + "site-packages" + os.sep,
)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _outcome(
    function: Callable[..., Any], messages: Any, tools: Any, keywords: Mapping[str, Any]
) -> tuple[Any, BaseException | None]:
    """What the function returned or raised.

    Nothing is raised here: SystemExit in a task would end the event loop, and StopIteration cannot
    pass through a future.
    """

    def run() -> tuple[Any, BaseException | None]:
        try:
            return function(messages, tools, **keywords), None
        except BaseException as error:
            return None, error

    result, error = run() if _is_async(function) else await asyncio.to_thread(run)
    if error is not None or not inspect.isawaitable(result):
        return result, error
    try:
        return await result, None
    except (Exception, SystemExit, KeyboardInterrupt) as raised:
        return None, raised


def load_callable(spec: ModelSpec) -> Callable[..., Any]:
    """Import what `callable = "module:function"` names; modules beside the config file are found.

    A class is instantiated, and the instance called. Raises a fatal ModelError saying what is
    missing.
    """
    target = spec.callable or ""
    module_name, _, path = target.partition(":")
    if spec.folder is not None and str(spec.folder) not in sys.path:
        sys.path.insert(0, str(spec.folder))

    def fail(reason: str) -> ModelError:
        text = _one_line(f"callable {target!r} of {spec.place}: {reason}", spec)
        return ModelError(text, kind="callable", fatal=True)

    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise fail(f"cannot import {module_name!r}: {_named(error)}") from None
    for name in path.split("."):
        found = getattr(found, name, None)
    if found is None:
        raise fail(f"{module_name!r} has no {path!r}")
    if inspect.isclass(found):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise fail(f"{path}() raised {_named(error)}") from None
    if not callable(found):
        raise fail(f"{path!r} cannot be called; name a function, a method or a class with __call__")
    return found  # type: ignore[no-any-return]


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _one_line(text: str, spec: ModelSpec) -> str:
    return shorten(" ".join(scrub(text, secret_values([spec.api_key_env])).split()), 1000)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def _accepted(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """What the function has named parameters for; `**kwargs` takes everything."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(offered)
    named = list(parameters)[2:]
    return {name: value for name, value in offered.items() if name in named}


def _read(spec: ModelSpec, result: object, latency_s: float) -> ChatAnswer:
    """The function's result as an answer; a ModelError that shows the expected shapes otherwise."""
    shown = result
    usage: Mapping[str, Any] = {}
    try:
        if not isinstance(result, (str, Mapping)) and hasattr(result, "model_dump"):
            result = result.model_dump(exclude_none=True)
        # Recorded and reported as JSON, so it must be JSON.
        result = json.loads(json.dumps(result, allow_nan=False))
    except (Exception, RecursionError) as error:
        raise ModelError(
            _one_line(f"{spec.callable} returned {_shown(shown)}; {_EXPECTED} ({_named(error)})", spec),
            kind="callable",
        ) from None
    ending = ending_of(result, {"choices": [{"message": result}]})
    if isinstance(result, dict) and isinstance(result.get("choices"), list) and result["choices"]:
        found = result.get("usage")
        usage = found if isinstance(found, dict) else {}
        first = result["choices"][0]
        result = first.get("message") if isinstance(first, dict) else None
    if isinstance(result, str):
        result = {"content": result}
    if not isinstance(result, dict) or not (ending or {"content", "tool_calls"} & set(result)):
        raise ModelError(
            _one_line(f"{spec.callable} returned {_shown(shown)}; {_EXPECTED}", spec), kind="callable"
        )
    message = {"content": None, **result, "role": "assistant"}
    if message.get("tool_calls"):
        message["tool_calls"] = _calls(spec, message["tool_calls"])
    return ChatAnswer(
        message=message,
        finish_reason=ending.reason if ending else None,
        finish_message=ending.message if ending else None,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        reasoning_tokens=reasoning_tokens(usage),
        latency_s=latency_s,
    )


_EXPECTED = (
    "expected the assistant's message: a text, or "
    '{"role": "assistant", "content": ..., "tool_calls": [{"id": ..., "type": "function", '
    '"function": {"name": ..., "arguments": {...}}}]}'
)


def _calls(spec: ModelSpec, calls: object) -> list[dict[str, Any]]:
    """The calls in the chat API's shape; the short `{"name", "arguments"}` is taken, too.

    Another framework's shape must not be scored as a call of nothing.
    """
    read: list[dict[str, Any]] = []
    for index, call in enumerate(calls if isinstance(calls, list) else [None]):
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ModelError(
                _one_line(
                    f"{spec.callable} returned tool_calls[{index}] as {_shown(call)}; {_EXPECTED}", spec
                ),
                kind="callable",
            )
        if function is not call:
            read.append(call)
        else:
            short = {"name": call["name"], "arguments": call.get("arguments")}
            read.append({"id": call.get("id"), "type": "function", "function": short})
    return read


def _shown(value: object) -> str:
    return f"{type(value).__name__} {shorten(repr(value), 120)}"
