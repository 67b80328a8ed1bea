"""The base class of our own clients, which use aiohttp.

A protocol adds its address and headers, and translates between its documents and the chat API's.
"""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import aiohttp

from ...errors import ModelError
from ...record.untrusted import as_mapping
from ...secrets import shown_address
from ..exchange.chat import ChatAnswer, ChatRequest, sent_parameters
from ..exchange.receiving import receiving
from ..models.known import Entry, known_entry
from ..models.spec import DeployedAgent, HttpModel
from .event_streams import DONE, events, is_stream
from .joined_streams import StreamEnd
from .provider_errors import (
    one_line,
    provider_error,
    redirect_error,
    refused_answer,
    retry_after_s,
    status_of_error,
)
from .transport import (
    broke_off,
    connection_error,
    extend,
    headers_of,
    not_json,
    read_chat,
    tool_arguments,
)

# Many servers close an idle connection after 5 s, and a request sent at that moment would be lost.
_KEEP_IDLE_S = 4.0
_REDIRECTS = (301, 302, 303, 307, 308)


class HttpAnswer(NamedTuple):
    """An HTTP response and its latency."""

    status: int
    headers: Mapping[str, str]
    data: bytes
    latency_s: float

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


class HttpClient(ABC):
    """One model or agent at the address `base`, which `base_from` sets, without streaming or retries."""

    def __init__(self, spec: HttpModel | DeployedAgent, base: str, base_from: str) -> None:
        self._spec = spec
        self._base = base
        self._base_from = base_from
        self._price: Entry | None = None
        self._proxy: str | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def _url(self) -> str:
        return self._base

    @abstractmethod
    def _own_headers(self) -> dict[str, str]:
        """The headers for the key and the version of the protocol."""

    @abstractmethod
    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        """The protocol's body for one of the chat API."""

    @abstractmethod
    def _joined(self, chunks: Sequence[Mapping[str, Any]]) -> StreamEnd:
        """The protocol's document for those in a stream."""

    @abstractmethod
    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        """The chat API's document for one of the protocol, which may be malformed."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        return self._answer(await self._post(request, timeout_s), request)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, request: ChatRequest, timeout_s: float) -> HttpAnswer:
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
                    raise redirect_error(url, response.headers["Location"])
                with receiving():
                    data = await _read_all(response)
        except ModelError:
            raise
        except Exception as error:
            raise self._not_sent(error, timeout_s) from None
        return HttpAnswer(response.status, response.headers, data, time.perf_counter() - begin)

    def _answer(self, answered: HttpAnswer, request: ChatRequest) -> ChatAnswer:
        if not 200 <= answered.status < 300:
            return self._refused(answered.status, answered.text, answered, request)
        return self._read(self._streamed(answered.text) or _parsed(answered), answered, request)

    def _streamed(self, text: str) -> Mapping[str, Any] | None:
        """The document in a stream, which some servers send unasked; None if there is none.

        Raises ModelError if the stream breaks off.
        """
        if not is_stream(text):
            return None
        chunks: list[Mapping[str, Any]] = []
        with suppress(ValueError, RecursionError):
            chunks = [event for event in events(text) if isinstance(event, Mapping)]
        if not chunks:
            return None
        joined = self._joined(chunks)
        if not (joined.is_whole or joined.document.get("error") or text.rstrip().endswith(DONE)):
            raise broke_off()
        return joined.document

    def _read(
        self, document: Mapping[str, Any], answered: HttpAnswer, request: ChatRequest
    ) -> ChatAnswer:
        chat = self._chat(document, request)
        error = chat.get("error") or document.get("error")
        if error and (not isinstance(error, Mapping) or any(error.values())):
            # Some gateways (OpenRouter) report errors of the provider behind them with a 200.
            text = json.dumps({"error": error}, ensure_ascii=False)
            return self._refused(status_of_error(error), text, answered, request)
        return read_chat(chat, document, self._price, answered.latency_s)

    def _open(self) -> aiohttp.ClientSession:
        address = _address(self._url)
        if address is None:
            raise self._no_address()
        self._proxy = _proxy_for(address)
        # The engine limits the number of concurrent requests.
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
        return headers | self._own_headers() | headers_of(self._spec, request)

    def _body(self, request: ChatRequest) -> bytes:
        chat = {
            "messages": list(request.messages),
            **sent_parameters(request),
            **tool_arguments(request),
        }
        body = self._translated(chat)
        for name, value in as_mapping(request.sampling.get("extra_body")).items():
            # Merge objects, such as Gemini's generationConfig.
            old = body.get(name)
            adds = isinstance(old, dict) and isinstance(value, Mapping)
            body[name] = {**(old or {}), **value} if adds else value
        # A model may write lone surrogates, which UTF-8 cannot encode.
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")

    def _no_address(self) -> ModelError:
        expected = "expected an address such as http://127.0.0.1:8080/v1"
        return self._spec.unusable(f"{self._base_from}: {expected}, got {shown_address(self._base)!r}")

    def _not_sent(self, error: Exception, timeout_s: float) -> ModelError:
        if isinstance(error, aiohttp.InvalidURL):
            return self._no_address()
        broken = connection_error(error, shown_address(self._base), one_line, timeout_s)
        return broken or ModelError(
            f"the request could not be sent: {one_line(f'{type(error).__name__}: {error}')}",
            kind="bad_request",
        )

    def _refused(self, status: int, text: str, answered: HttpAnswer, request: ChatRequest) -> ChatAnswer:
        """Return the answer in an error response, or raise the error if it has none."""
        detail = one_line(text)
        answer = refused_answer(status, text, detail, answered.latency_s, request.messages)
        if answer is not None:
            return answer
        raise provider_error(
            self._spec,
            status,
            detail or f"status {status} with no text",
            sent=sent_parameters(request),
            retry_after=retry_after_s(answered.headers),
        )


class ProviderClient(HttpClient):
    """One model of a provider."""

    _spec: HttpModel

    def __init__(self, spec: HttpModel) -> None:
        row = spec.provider
        base_from = "api_base" if spec.api_base else spec.base_variable
        super().__init__(spec, spec.base or row.base, base_from)
        prefix, _, name = spec.model.partition("/")
        self._model = name if prefix in (row.name, *row.also) else spec.model
        self._price = known_entry(spec.model)


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    """The uncompressed body. Raises ModelError if it is too long."""
    body = bytearray()
    try:
        async for part in response.content.iter_any():
            extend(body, part)
    except ModelError:
        response.close()
        raise
    return bytes(body)


def _parsed(answered: HttpAnswer) -> Mapping[str, Any]:
    """The JSON document; empty if it is not an object."""
    try:
        parsed: object = json.loads(answered.data)
    except (ValueError, RecursionError):
        raise not_json(one_line(answered.text) or "it is empty") from None
    return as_mapping(parsed)


def _address(url: str) -> SplitResult | None:
    """The parts of a valid address; None for any other text."""
    try:
        address = urlsplit(url)
        is_valid = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        return None
    return address if is_valid else None


def _proxy_for(address: SplitResult) -> str | None:
    """The proxy that the environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY) sets for this address.

    Not aiohttp's `trust_env`, which would also send passwords from ~/.netrc.
    """
    if urllib.request.proxy_bypass(address.hostname or ""):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    proxy = f"http://{proxy}" if proxy and "://" not in proxy else proxy
    if proxy and _address(proxy) is None:
        raise ModelError(
            "the proxy in the environment: expected an address such as http://127.0.0.1:3128, got "
            f"{shown_address(proxy)!r}",
            kind="bad_request",
            fatal=True,
        )
    return proxy


def _certificates() -> ssl.SSLContext:
    """The trusted certificates: SSL_CERT_FILE, else certifi's, as in litellm."""
    file = os.environ.get("SSL_CERT_FILE", "")
    if not os.path.exists(file):
        import certifi

        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError) as error:
        raise ModelError(
            f"SSL_CERT_FILE: {file} has no readable certificates ({error})",
            kind="bad_request",
            fatal=True,
        ) from None
