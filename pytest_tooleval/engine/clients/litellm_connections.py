"""Keeps litellm's connections from following redirects, and limits the size of answers.

litellm has a cache with a client for each provider, `aclient_session` for the openai library, and
`sync_transport` for threads. All three can be replaced, and use httpx, which has event hooks.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from ...errors import ModelError
from .provider_errors import LONGEST_TEXT, redirect_error, size_text
from .transport import extend

_kept: list[object] = []  # a handler closes its client when it is freed


def guard_connections(litellm: Any) -> None:
    """Check every new connection of litellm. Raises ModelError if that is impossible."""
    from litellm.caching.llm_caching_handler import LLMClientCache
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    class Clients(LLMClientCache):  # type: ignore[misc]
        def set_cache(self, key: str, value: object, **options: Any) -> None:
            _hook(value)
            super().set_cache(key, value, **options)

    litellm.in_memory_llm_clients_cache = Clients()
    litellm.sync_transport = _Transport()
    open_session(litellm)
    if _read not in get_async_httpx_client("openai").client.event_hooks["response"]:
        raise ModelError(
            "this release of litellm makes its connections in an unknown way, and they could follow a "
            "redirect with the key; install another one: pip install 'litellm==1.106.2'",
            kind="bad_request",
            fatal=True,
        )


def open_session(litellm: Any) -> None:
    """Give litellm a client for the openai library, unless it has an open one."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    if litellm.aclient_session is None or litellm.aclient_session.is_closed:
        handler = AsyncHTTPHandler()
        _hook(handler)
        litellm.aclient_session = handler.client
        _kept[:] = [handler]


async def close_connections(litellm: Any) -> None:
    # All models share them and close at the same time.
    if litellm.aclient_session.is_closed:
        return
    await litellm.aclient_session.aclose()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


def _hook(handler: Any) -> None:
    """Add the hooks to a handler's client. Ignores other objects."""
    client = getattr(handler, "client", None)
    if isinstance(client, httpx.AsyncClient):
        client.event_hooks = {"request": [_ask_unpacked], "response": [_read]}
        handler.event_hooks = client.event_hooks  # for new clients of the handler


class _Transport(httpx.BaseTransport):
    """For the providers that litellm queries without asyncio. All clients share it."""

    def __init__(self) -> None:
        self._client = httpx.Client(event_hooks={"request": [_ask], "response": [_read_in_thread]})

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._client.send(request, stream=True, follow_redirects=False)


def _ask(request: httpx.Request) -> None:
    # Unpacked, a compressed answer could be a thousand times larger than counted.
    request.headers["Accept-Encoding"] = "identity"


async def _ask_unpacked(request: httpx.Request) -> None:
    _ask(request)


async def _read(response: httpx.Response) -> None:
    """Read the whole answer. Raises ModelError for redirects, unrequested encodings and long answers."""
    body = bytearray()
    try:
        _check(response)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for part in response.stream:
            extend(body, part)
    finally:
        await response.stream.aclose()  # type: ignore[union-attr]
    response.stream = httpx.ByteStream(_kept_body(response, bytes(body)))


def _read_in_thread(response: httpx.Response) -> None:
    """Like `_read`, without asyncio."""
    body = bytearray()
    try:
        _check(response)
        assert isinstance(response.stream, httpx.SyncByteStream)
        for part in response.stream:
            extend(body, part)
    finally:
        response.stream.close()  # type: ignore[union-attr]
    response.stream = httpx.ByteStream(_kept_body(response, bytes(body)))


def _check(response: httpx.Response) -> None:
    if response.has_redirect_location:
        raise redirect_error(str(response.request.url), response.headers["Location"])
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise ModelError("the answer uses an encoding that was not requested", kind="bad_response")


def _kept_body(response: httpx.Response, body: bytes) -> bytes:
    """The body, or only its size for a long error text, which litellm would search slowly."""
    is_answer = not response.is_error and _is_json(body)
    return body if is_answer or len(body) <= LONGEST_TEXT else size_text(body).encode()


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
