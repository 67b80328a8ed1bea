"""Models through litellm. The only module that imports litellm, and only when a model is called."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from ..text import shorten
from .client import ChatAnswer
from .client import ChatRequest
from .models import ModelSpec
from .provider_errors import failed_generation
from .provider_errors import provider_error
from .provider_errors import retry_after_s
from .secrets import scrub
from .secrets import secret_values

_load_lock = threading.Lock()
_loaded: Any = None


def load_litellm() -> Any:
    """Import and quieten litellm: seconds of CPU the first time."""
    global _loaded  # noqa: PLW0603
    with _load_lock:
        if _loaded is None:
            # Without this, litellm fetches its price list from the network while it is imported.
            os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            try:
                import litellm
            except Exception as error:
                raise ModelError(
                    f"litellm cannot be imported ({type(error).__name__}: {error}); "
                    "reinstall it: pip install --force-reinstall litellm",
                    kind="bad_request",
                    fatal=True,
                ) from None
            litellm.suppress_debug_info = True
            litellm.telemetry = False
            # Dropping parameters silently would make models incomparable.
            litellm.drop_params = False
            litellm.num_retries = 0
            _loaded = litellm
    return _loaded


class LitellmClient:
    """One model behind litellm's `acompletion`, without streaming and without litellm's retries."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        key = self._key()
        litellm = _loaded or await asyncio.get_running_loop().run_in_executor(None, load_litellm)
        arguments = self._arguments(request, key, timeout_s)
        begin = time.perf_counter()
        try:
            # Some of litellm's paths ignore `timeout`, hence the second clock around it.
            response = await asyncio.wait_for(litellm.acompletion(**arguments), timeout_s + 1.0)
        except asyncio.TimeoutError:
            raise _timed_out(timeout_s) from None
        except Exception as error:
            written = failed_generation(str(error))
            if written is None:
                raise self._translate(error, request, timeout_s) from None
            message = {"role": "assistant", "content": written}
            return ChatAnswer(message, "error", latency_s=time.perf_counter() - begin)
        return _read(response, time.perf_counter() - begin)

    async def close(self) -> None:
        if _loaded is not None:
            await _loaded.close_litellm_async_clients()

    def _key(self) -> str | None:
        name = self._spec.api_key_env
        if name is None:
            return None
        key = os.environ.get(name, "").strip()
        if not key:
            raise ModelError(
                f"the environment variable {name} is not set; "
                f"it must hold the API key for model {self._spec.label!r} ({self._spec.place})",
                kind="credentials",
                fatal=True,
            )
        return key

    def _arguments(self, request: ChatRequest, key: str | None, timeout_s: float) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            **request.sampling,
            "model": self._spec.model,
            "messages": _encodable([dict(message) for message in request.messages]),
            "timeout": timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            # litellm would import its MCP gateway (and the `mcp` package) for every request with tools.
            "_skip_mcp_handler": True,
        }
        if request.tools:
            arguments["tools"] = [dict(tool) for tool in request.tools]
            # `auto` is the default where there are tools; some models refuse the parameter itself.
            if request.tool_choice != "auto":
                arguments["tool_choice"] = request.tool_choice
        if self._spec.api_base:
            arguments["api_base"] = self._spec.api_base
        if key is not None:
            arguments["api_key"] = key
        elif self._spec.api_base and self._spec.model.startswith(("openai/", "hosted_vllm/")):
            # A local server wants no key, but the OpenAI library insists on some text. The user's
            # real OPENAI_API_KEY must not travel to another host by accident.
            arguments["api_key"] = "none"
        return arguments

    def _translate(self, error: Exception, request: ChatRequest, timeout_s: float) -> ModelError:
        """The error as one line without secrets, and whether asking again may help."""
        causes = _chain(error)
        classes = {base.__name__ for cause in causes for base in type(cause).__mro__}
        text = self._clean(str(error))
        status = getattr(error, "status_code", None)
        refused = isinstance(status, int) and 400 <= status < 500
        if classes & _TIMEOUTS:
            return _timed_out(timeout_s)
        if "JSONDecodeError" in classes and not refused:
            return ModelError(
                f"the answer is not JSON: {shorten(text, 500)}", kind="bad_response", retryable=True
            )
        if classes & _NO_CONNECTION and not refused:
            where = self._spec.api_base or self._spec.model
            reason = self._clean(_innermost(causes))
            return ModelError(f"no connection to {where}: {reason}", kind="unreachable", retryable=True)
        if classes & _BROKEN_CONNECTION and not refused:
            reason = self._clean(_innermost(causes))
            return ModelError(f"the connection broke: {reason}", kind="server", retryable=True)
        headers = getattr(error, "litellm_response_headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        return provider_error(
            self._spec,
            status if isinstance(status, int) else None,
            text,
            tool_choice=request.tool_choice if request.tools else None,
            retry_after=retry_after_s(headers),
        )

    def _clean(self, text: str) -> str:
        """One line, without secrets and without the class names that litellm puts in front."""
        text = " ".join(scrub(text, secret_values([self._spec.api_key_env])).split())
        return _LITELLM_TALK.sub("", text)


_LITELLM_TALK = re.compile(
    r"^(litellm\.)?(\w+Error: (litellm\.)?)*(\w+(Exception|Error)( \w+Error)? - )?"
    r"|\.? Handle with `litellm\.\w+`\.?$"
)

# Names of classes, as httpx and aiohttp are litellm's dependencies and not ours to import.
_TIMEOUTS = {"Timeout", "TimeoutError", "TimeoutException"}
_NO_CONNECTION = {"ConnectError", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
_BROKEN_CONNECTION = {"TransportError", "ClientError", "OSError"}


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, outermost first."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _innermost(causes: list[BaseException]) -> str:
    """The innermost cause that says something, without the request's details."""
    texts = [str(cause) for cause in causes if str(cause)]
    return texts[-1] if texts else type(causes[-1]).__name__


def _encodable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with lone surrogates replaced, which a model may write but UTF-8 cannot carry."""
    try:
        json.dumps(messages, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        text = json.dumps(messages, ensure_ascii=False).encode("utf-8", "replace")
        replaced: list[dict[str, Any]] = json.loads(text)
        return replaced
    return messages


def _read(response: Any, latency_s: float) -> ChatAnswer:
    """Take the message and the figures out of litellm's response object."""
    try:
        choice = response.choices[0]
        message = choice.message.model_dump(exclude_none=True)
    except (AttributeError, IndexError, TypeError) as error:
        raise ModelError(
            f"the answer holds no message ({type(error).__name__})",
            kind="bad_response",
            retryable=True,
        ) from None
    message.setdefault("content", None)
    fields = message.get("provider_specific_fields")
    if isinstance(fields, dict) and not any(fields.values()):
        # litellm adds this empty field itself; strict servers refuse it when it is sent back.
        del message["provider_specific_fields"]
    usage = getattr(response, "usage", None)
    return ChatAnswer(
        message=message,
        finish_reason=getattr(choice, "finish_reason", None),
        prompt_tokens=_count(getattr(usage, "prompt_tokens", None)),
        completion_tokens=_count(getattr(usage, "completion_tokens", None)),
        cost_usd=_cost(response),
        latency_s=latency_s,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _cost(response: Any) -> float | None:
    """litellm's price, or None: it reports an unknown price as 0."""
    hidden = getattr(response, "_hidden_params", None)
    cost = hidden.get("response_cost") if isinstance(hidden, Mapping) else None
    return float(cost) if isinstance(cost, (int, float)) and cost > 0 else None


def _timed_out(timeout_s: float) -> ModelError:
    return ModelError(
        f"no answer within {timeout_s:g} s (--tooleval-timeout)", kind="timeout", retryable=True
    )
