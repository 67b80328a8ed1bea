"""A Python function as a model: people's own agents, asked the same questions."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from .client import ChatAnswer
from .client import ChatRequest
from .models import ModelSpec
from .secrets import scrub
from .secrets import secret_values


class CallableClient:
    """Calls `function(messages, tools)`, sync in a thread or async on the loop.

    The function returns the assistant's message: a dict in the chat API's shape, a text, or an
    object with `model_dump()` (litellm's and openai's messages and whole responses). If it has
    parameters named `tool_choice`, `trial` or as a sampling parameter (`temperature`, ...), it is
    given those too.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._function: Callable[..., Any] | None = None

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        if self._function is None:
            self._function = load_callable(self._spec)
        offered = {"tool_choice": request.tool_choice, "trial": request.trial, **request.sampling}
        keywords = _accepted(self._function, offered)
        messages = [dict(message) for message in request.messages]
        tools = [dict(tool) for tool in request.tools]
        begin = time.perf_counter()
        try:
            if _is_async(self._function):
                waiting = self._function(messages, tools, **keywords)
            else:
                waiting = asyncio.to_thread(self._function, messages, tools, **keywords)
            result = await asyncio.wait_for(waiting, timeout_s)
        except asyncio.TimeoutError:
            raise ModelError(
                f"{self._spec.callable} gave no answer within {timeout_s:g} s (--tooleval-timeout)",
                kind="timeout",
            ) from None
        except ModelError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(self._describe(error), kind="callable") from None
        return _read(self._spec, result, time.perf_counter() - begin)

    async def close(self) -> None:
        """Nothing is held open."""

    def _describe(self, error: BaseException) -> str:
        """One line that names the exception and the line of the user's code that raised it."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        own = [f for f in frames if os.sep + "asyncio" + os.sep not in f.filename]
        last = (own or frames)[-1:]
        place = f" at {last[0].filename}:{last[0].lineno}" if last else ""
        text = f"{self._spec.callable} raised {type(error).__name__}: {error}{place}"
        return " ".join(scrub(text, secret_values([self._spec.api_key_env])).split())


def load_callable(spec: ModelSpec) -> Callable[..., Any]:
    """Import what `callable = "module:function"` names; modules beside the config file are found.

    Raises a fatal ModelError saying what is missing.
    """
    target = spec.callable or ""
    module_name, _, path = target.partition(":")
    if spec.folder is not None and str(spec.folder) not in sys.path:
        sys.path.insert(0, str(spec.folder))

    def fail(reason: str) -> ModelError:
        return ModelError(f"callable {target!r} of {spec.place}: {reason}", kind="callable", fatal=True)

    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise fail(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from None
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise fail(f"{module_name!r} has no function {path!r}")
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:
            raise fail(f"{path}() raised {type(error).__name__}: {error}") from None
        if not callable(found):
            raise fail(f"instances of {path!r} cannot be called; name a function or a method")
    return found  # type: ignore[no-any-return]


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
    usage: Mapping[str, Any] = {}
    if not isinstance(result, (str, Mapping)) and hasattr(result, "model_dump"):
        result = result.model_dump(exclude_none=True)
    if isinstance(result, Mapping) and isinstance(result.get("choices"), list) and result["choices"]:
        found = result.get("usage")
        usage = found if isinstance(found, Mapping) else {}
        first = result["choices"][0]
        result = first.get("message") if isinstance(first, Mapping) else None
    if isinstance(result, str):
        result = {"content": result}
    if not isinstance(result, Mapping) or not ({"content", "tool_calls"} & set(result)):
        raise ModelError(
            f"{spec.callable} returned {_shown(result)}; expected the assistant's message: a text, or "
            '{"role": "assistant", "content": ..., "tool_calls": [{"id": ..., "type": "function", '
            '"function": {"name": ..., "arguments": {...}}}]}',
            kind="callable",
        )
    message = {**result, "role": "assistant"}
    message.setdefault("content", None)
    try:
        # Recorded and reported as JSON, so it must be JSON.
        message = json.loads(json.dumps(message, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"{spec.callable} returned a message that is not JSON: {error}", kind="callable"
        ) from None
    return ChatAnswer(
        message=message,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        latency_s=latency_s,
    )


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 120 else text[:119] + '…'}"


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
