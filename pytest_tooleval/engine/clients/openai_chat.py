"""Our own client for OpenAI and servers that speak its protocols: aiohttp, and nothing slow to load."""

from __future__ import annotations

import json
import os
import re
import ssl
import time
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult
from urllib.parse import urlsplit

import aiohttp

from ...errors import ModelError
from ...record.endings import ending_of
from ...secrets import shown_address
from ..models.prices import cost_usd
from ..models.prices import listed
from ..models.prices import openai_price
from ..models.prices import provider_of
from ..models.prices import reasoning_tokens
from ..models.prices import token_count
from ..models.prices import told_cost
from ..models.prices import usage_of
from ..models.spec import ModelSpec
from ..models.traits import needs_responses
from ..models.traits import reasons
from .base import MOST_BYTES
from .base import ChatAnswer
from .base import ChatRequest
from .base import headers_of
from .base import sent_parameters
from .base import text_in
from .openai_responses import chat_document
from .openai_responses import responses_body
from .openai_responses import wants_responses
from .provider_errors import one_line
from .provider_errors import provider_error
from .provider_errors import redirected
from .provider_errors import refused_answer
from .provider_errors import retry_after_s
from .provider_errors import too_long
from .transport import connection_error
from .transport import for_chat
from .transport import key_from
from .transport import no_message
from .transport import not_json
from .transport import tool_arguments

OPENAI = "https://api.openai.com/v1"
# Servers commonly drop an idle connection after 5 s; a question on one just dropped would be lost.
_KEEP_IDLE_S = 4.0
_REDIRECTS = (301, 302, 303, 307, 308)
_REFUSES_ENCRYPTED = re.compile(r"encrypted[ _]content", re.IGNORECASE)
_THOUGHTS = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>(.*)", re.DOTALL)


class _AskOtherwiseError(Exception):
    """The question was refused in this form; from now on the client asks in another one."""


class OpenAIClient:
    """One model behind `POST {api_base}/chat/completions`, without streaming and without retries.

    Models that are served at `/responses` alone, or take tools there alone, are asked there: those
    known for it from the start, any other one as soon as it says so.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._azure = spec.api is None and provider_of(spec.model) == "azure"
        self._model, self._responses = _named(spec.model, "azure/" if self._azure else "openai/")
        if self._azure:
            self._base = _azure(spec.base or "")
            self._responses, self._price = True, listed(spec.model)
        else:
            self._base, self._price = spec.base or OPENAI, openai_price(self._model)
        if _is_openai(self._base):
            self._responses = self._responses or needs_responses(spec.model)
        self._encrypted = reasons(spec.model) is not False
        self._proxy: str | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def _url(self) -> str:
        return self._base.rstrip("/") + ("/responses" if self._responses else "/chat/completions")

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        while True:
            try:
                return await self._ask(request, timeout_s)
            except _AskOtherwiseError:
                continue

    async def _ask(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        form = self._responses, self._encrypted
        url, body, headers = self._url, self._body(request), self._headers(request)
        session = self._session or self._open()
        begin = time.perf_counter()
        try:
            async with session.post(
                url,
                data=body,
                headers=headers,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                allow_redirects=False,
            ) as response:
                if response.status in _REDIRECTS and "Location" in response.headers:
                    raise redirected(url, response.headers["Location"])
                data = await _read_all(response)
        except ModelError:
            raise
        except Exception as error:
            raise self._not_sent(error, timeout_s) from None
        latency_s = time.perf_counter() - begin
        if response.status in (400, 404):
            self._learn(data.decode("utf-8", "replace"), *form)
        if not 200 <= response.status < 300:
            text = data.decode("utf-8", "replace")
            return self._refused(response.status, text, response.headers, request, latency_s)
        document = _parsed(data, self._clean)
        if form[0] and isinstance(document, dict):
            document = chat_document(document)
        return self._read(document, response.headers, request, latency_s)

    def _learn(self, refusal: str, responses: bool, encrypted: bool) -> None:
        """Ask in another form from now on, if a question in this one was refused for its form."""
        if not responses and wants_responses(refusal):
            self._responses = True
        elif responses and encrypted and _REFUSES_ENCRYPTED.search(refusal):
            self._encrypted = False
        else:
            return
        raise _AskOtherwiseError

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        try:
            address = urlsplit(self._url)
        except ValueError:
            raise self._no_address() from None
        if address.scheme not in ("http", "https") or not address.hostname:
            raise self._no_address()
        self._proxy = _proxy_for(address)
        # How many are asked at a time is the engine's business, hence no limit here.
        connector = aiohttp.TCPConnector(
            limit=0,
            ttl_dns_cache=300,
            keepalive_timeout=_KEEP_IDLE_S,
            ssl=_certificates() if address.scheme == "https" else True,
        )
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _headers(self, request: ChatRequest) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        # The user's OPENAI_API_KEY must not travel to another host by accident.
        own = None if self._spec.api_base else "AZURE_API_KEY" if self._azure else "OPENAI_API_KEY"
        key = key_from(self._spec, self._spec.api_key_env or own)
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        organization = os.environ.get("OPENAI_ORGANIZATION", "").strip()
        if organization and own == "OPENAI_API_KEY":
            headers["OpenAI-Organization"] = organization
        return headers | headers_of(self._spec, request)

    def _body(self, request: ChatRequest) -> bytes:
        sampling = dict(request.sampling)
        # As in the openai library, these two are not parameters themselves.
        sampling.pop("extra_headers", None)
        more = sampling.pop("extra_body", None)
        if self._azure:
            sampling.pop("api_version", None)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": list(request.messages),
            **sampling,
            **tool_arguments(request),
        }
        if self._responses:
            body = responses_body(body, encrypted=self._encrypted)
        else:
            body["messages"] = for_chat(request.messages)
        body.update(more if isinstance(more, Mapping) else {})
        # A model may write lone surrogates, which UTF-8 cannot carry back to it.
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")

    def _clean(self, text: str) -> str:
        return one_line(text, self._spec)

    def _no_address(self) -> ModelError:
        variable = "AZURE_API_BASE" if self._azure else "OPENAI_BASE_URL"
        where = "api_base" if self._spec.api_base else variable
        return ModelError(
            f"{where}: expected an address such as http://127.0.0.1:8080/v1, got "
            f"{shown_address(self._base)!r} ({self._spec.place})",
            kind="bad_request",
            fatal=True,
        )

    def _not_sent(self, error: Exception, timeout_s: float) -> ModelError:
        if isinstance(error, aiohttp.InvalidURL):
            return self._no_address()
        broken = connection_error(error, shown_address(self._base), self._clean, timeout_s)
        return broken or ModelError(
            f"the request could not be sent: {self._clean(f'{type(error).__name__}: {error}')}",
            kind="bad_request",
        )

    def _refused(
        self,
        status: int,
        text: str,
        headers: Mapping[str, str],
        request: ChatRequest,
        latency_s: float,
    ) -> ChatAnswer:
        """Raise what the status and the text mean; return an answer if one is in the refusal."""
        said = self._clean(text)
        answer = refused_answer(status, text, said, latency_s)
        if answer is not None:
            return answer
        raise provider_error(
            self._spec,
            status,
            said or f"status {status}, without a text",
            sent=sent_parameters(request),
            retry_after=retry_after_s(headers),
        )

    def _read(
        self, body: object, headers: Mapping[str, str], request: ChatRequest, latency_s: float
    ) -> ChatAnswer:
        """Take the message and the figures out of the server's document."""
        document = body if isinstance(body, dict) else {}
        error = document.get("error")
        if error and (not isinstance(error, Mapping) or any(error.values())):
            # Some gateways (OpenRouter) report the failure of the provider behind them with a 200.
            code = error.get("code") if isinstance(error, Mapping) else None
            status = code if isinstance(code, int) else 422
            text = json.dumps({"error": error}, ensure_ascii=False)
            return self._refused(status, text, headers, request, latency_s)
        ending = ending_of(document)
        try:
            choice = document["choices"][0]
            message = _thoughts_apart(_without_nulls(choice["message"]))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise no_message(type(error).__name__) from None
        reason = ending.reason if ending else choice.get("finish_reason")
        usage = usage_of(document)
        return ChatAnswer(
            message=message,
            finish_reason=_finish_reason(reason, message),
            finish_message=ending.message if ending else None,
            prompt_tokens=token_count(usage.get("prompt_tokens")),
            completion_tokens=token_count(usage.get("completion_tokens")),
            reasoning_tokens=reasoning_tokens(usage),
            cost_usd=told_cost(usage) or cost_usd(self._price, usage),
            latency_s=latency_s,
            served_model=text_in(document, "model"),
            system_fingerprint=text_in(document, "system_fingerprint"),
        )


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    """The body, unpacked, as long as it is of a size that a chat answer can have."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MOST_BYTES:
            response.close()
            raise too_long()
        parts.append(part)
    return b"".join(parts)


def _parsed(data: bytes, clean: Any) -> object:
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError):
        raise not_json(clean(data.decode("utf-8", "replace")) or "it is empty") from None
    return parsed


def _without_nulls(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without fields that hold nothing, which strict servers refuse to take back."""
    kept = {key: value for key, value in message.items() if value is not None}
    kept.setdefault("content", None)
    kept.setdefault("role", "assistant")
    calls = kept.get("tool_calls")
    if calls == []:
        del kept["tool_calls"]
    elif isinstance(calls, list):
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if value is not None}
            if isinstance(call, dict)
            else call
            for call in calls
        ]
    return kept


def _thoughts_apart(message: dict[str, Any]) -> dict[str, Any]:
    """The message with thoughts that stand before the answer as `reasoning_content`, as litellm does."""
    content = message["content"]
    if "reasoning_content" in message or "reasoning" in message or not isinstance(content, str):
        return message
    found = _THOUGHTS.match(content)
    return {**message, "content": found[2], "reasoning_content": found[1]} if found else message


def _finish_reason(reason: object, message: Mapping[str, Any]) -> str:
    """The reason as given; servers that say `stop` after calls mean `tool_calls`."""
    if reason in (None, "stop", ""):
        return "tool_calls" if message.get("tool_calls") else "stop"
    return str(reason)


def _named(model: str, provider: str) -> tuple[str, bool]:
    """The name that the server knows, and whether the prefix `responses/` asks for that API."""
    name = model.removeprefix(provider)
    return name.removeprefix("responses/"), name.startswith("responses/")


def _is_openai(base: str) -> bool:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:
        return False
    return f".{host}".endswith(".api.openai.com")


def _azure(resource: str) -> str:
    """Where a resource takes OpenAI's own questions, in an API without versions."""
    return re.sub(r"(/openai(/v1)?)?/*$", "/openai/v1", resource, count=1) if resource else ""


def _proxy_for(address: SplitResult) -> str | None:
    """The proxy that the environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY) sets for this address.

    Not aiohttp's `trust_env`, which would also send passwords from ~/.netrc.
    """
    if urllib.request.proxy_bypass(address.hostname or ""):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _certificates() -> ssl.SSLContext:
    """Whom to trust: SSL_CERT_FILE, else certifi's list, as in litellm."""
    file = os.environ.get("SSL_CERT_FILE", "")
    if not os.path.exists(file):
        import certifi

        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError) as error:
        raise ModelError(
            f"SSL_CERT_FILE: {file} holds no certificates that can be read ({error})",
            kind="bad_request",
            fatal=True,
        ) from None
