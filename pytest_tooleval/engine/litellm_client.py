"""Models through litellm. The only module that imports litellm, and only when a model is called."""

from __future__ import annotations

import asyncio
import email.utils
import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any

from ..errors import ErrorKind
from ..errors import ModelError
from .client import ChatAnswer
from .client import ChatRequest
from .models import ModelSpec
from .secrets import scrub
from .secrets import secret_values
from .tool_choice import ToolChoiceRefused
from .tool_choice import refuses_tool_choice

_load_lock = threading.Lock()
_loaded: Any = None


def load_litellm() -> Any:
    """Import and quieten litellm: seconds of CPU the first time."""
    global _loaded  # noqa: PLW0603
    with _load_lock:
        if _loaded is None:
            # Without this, litellm fetches its price list from the network while it is imported.
            os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            import litellm

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
            raise self._translate(litellm, error, request, timeout_s) from None
        return _read(litellm, response, time.perf_counter() - begin)

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
            "messages": [dict(message) for message in request.messages],
            "timeout": timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            # litellm would import its MCP gateway (and the `mcp` package) for every request with tools.
            "_skip_mcp_handler": True,
        }
        if request.tools:
            arguments["tools"] = [dict(tool) for tool in request.tools]
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

    def _translate(
        self, litellm: Any, error: Exception, request: ChatRequest, timeout_s: float
    ) -> ModelError:
        """The error as one line without secrets, and whether asking again may help."""
        spec = self._spec
        text = self._clean(str(error))
        status = getattr(error, "status_code", None)
        sent_choice = request.tool_choice if request.tools else None
        retry_after = _retry_after(error)

        def failed(
            kind: ErrorKind, message: str, *, retry: bool = False, fatal: bool = False
        ) -> ModelError:
            return ModelError(message, kind=kind, retryable=retry, retry_after=retry_after, fatal=fatal)

        causes = _chain(error)
        names = {type(cause).__name__ for cause in causes}
        connection = bool(names & _CONNECTION_ERRORS)
        if isinstance(error, litellm.Timeout) or asyncio.TimeoutError in map(type, causes):
            return _timed_out(timeout_s)
        if "JSONDecodeError" in names:
            return failed("bad_response", f"the answer is not JSON: {text}", retry=True)
        if connection and names & _CONNECT_ERRORS:
            where = spec.api_base or spec.model
            return failed(
                "unreachable", f"no connection to {where}: {self._clean(_deepest(causes))}", retry=True
            )
        if connection:
            return failed("server", f"the connection broke: {self._clean(_deepest(causes))}", retry=True)
        if status in (401, 403) or _missing_key(text):
            return failed("credentials", f"{_credentials_help(spec)}: {text}", fatal=True)
        if status == 429:
            if _is_quota(text):
                return failed("quota", f"the account's quota is used up: {text}", fatal=True)
            return failed("rate_limit", f"rate limited (429): {text}", retry=True)
        if isinstance(status, int) and (status in (408, 409) or status >= 500):
            return failed("server", f"the server failed ({status}): {text}", retry=True)
        if refuses_tool_choice(text, sent_choice):
            return ToolChoiceRefused(text)
        if status == 404:
            return failed(
                "bad_request", f"the provider knows no such model or address (404): {text}", fatal=True
            )
        if "temperature" in text and "support" in text:
            text += f' (to leave it out: omit = ["temperature"] in {spec.place})'
        return failed("bad_request", f"the provider refused the request: {text}")

    def _clean(self, text: str) -> str:
        """One line, without secrets and without the class names that litellm puts in front."""
        text = " ".join(scrub(text, secret_values([self._spec.api_key_env])).split())
        text = _LITELLM_PREFIX.sub("", text)
        return text if len(text) <= 500 else text[:499] + "…"


_LITELLM_PREFIX = re.compile(r"^(litellm\.)?(\w+Error: )+(\w+Exception - )?")

# Class names, as httpx, aiohttp and openai are litellm's own dependencies and not ours to import.
_CONNECT_ERRORS = {
    "ConnectError",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ConnectionRefusedError",
    "gaierror",
}
_CONNECTION_ERRORS = _CONNECT_ERRORS | {
    "APIConnectionError",
    "ReadError",
    "WriteError",
    "RemoteProtocolError",
    "ServerDisconnectedError",
    "ClientPayloadError",
    "ConnectionResetError",
}


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, outermost first."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _deepest(causes: list[BaseException]) -> str:
    """The innermost cause that says something, without the request's details."""
    texts = [str(cause) for cause in causes if str(cause)]
    return texts[-1] if texts else type(causes[-1]).__name__


def _read(litellm: Any, response: Any, latency_s: float) -> ChatAnswer:
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


def _is_quota(text: str) -> bool:
    lowered = text.lower()
    return any(
        sign in lowered
        for sign in ("insufficient_quota", "exceeded your current quota", "per day", "daily", "billing")
    )


def _missing_key(text: str) -> bool:
    lowered = text.lower()
    return "api_key" in lowered and ("must be set" in lowered or "missing" in lowered)


def _credentials_help(spec: ModelSpec) -> str:
    if spec.api_key_env:
        return f"the key in {spec.api_key_env} was refused"
    return (
        f"no key, or a wrong one, for {spec.model}; set the provider's environment variable "
        "(such as OPENAI_API_KEY or ANTHROPIC_API_KEY), or name yours with api_key_env in the "
        "model's table"
    )


def _retry_after(error: Exception) -> float | None:
    """Seconds from the `Retry-After` header, given as seconds or as an HTTP date."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
