"""The connections of litellm: no redirect is followed, and no answer is read without an end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from ...errors import ModelError
from .base import MOST_BYTES
from .provider_errors import LONGEST_TEXT
from .provider_errors import redirected
from .provider_errors import size_of
from .provider_errors import too_long

# What can be unpacked in steps of known size: at most a thousandfold of what came.
_ACCEPTED = "gzip, deflate"
_PACKED = ("", "identity", "gzip", "deflate")
_ABOUT_PACKING = (b"content-encoding", b"content-length", b"transfer-encoding")


def guarded(
    make: Callable[..., httpx.AsyncBaseTransport | None],
) -> Callable[..., httpx.AsyncBaseTransport]:
    """A function that makes what litellm's own makes, guarded."""

    def make_guarded(
        ssl_context: Any = None, ssl_verify: Any = None, **options: Any
    ) -> httpx.AsyncBaseTransport:
        made = make(ssl_context=ssl_context, ssl_verify=ssl_verify, **options)
        if made is None:
            # litellm leaves it to httpx, where DISABLE_AIOHTTP_TRANSPORT is set.
            made = _Httpx(ssl_context or ssl_verify is not False)
        return _Guarded(made)

    return make_guarded


class _Guarded(httpx.AsyncBaseTransport):
    """Reads the whole answer, counting what is unpacked; ModelError if it is none to be read."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = _ACCEPTED
        response = await self._inner.handle_async_request(request)
        body = bytearray()
        try:
            _check(request, response)
            async for part in response.aiter_bytes():
                _extend(body, part)
        finally:
            await response.aclose()
        return _whole(response, bytes(body))

    async def aclose(self) -> None:
        await self._inner.aclose()


class GuardedWithoutAsyncio(httpx.BaseTransport):
    """The same for the providers that litellm asks without asyncio; all its clients share one."""

    def __init__(self) -> None:
        self._client = httpx.Client()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = _ACCEPTED
        response = self._client.send(request, stream=True, follow_redirects=False)
        body = bytearray()
        try:
            _check(request, response)
            for part in response.iter_bytes():
                _extend(body, part)
        finally:
            response.close()
        return _whole(response, bytes(body))


def _check(request: httpx.Request, response: httpx.Response) -> None:
    if response.has_redirect_location:
        raise redirected(str(request.url), response.headers["Location"])
    if response.headers.get("Content-Encoding", "").strip().lower() not in _PACKED:
        raise ModelError("the answer is packed in a way that was not asked for", kind="bad_response")


def _extend(body: bytearray, part: bytes) -> None:
    if len(body) + len(part) > MOST_BYTES:
        raise too_long()
    body += part


def _whole(response: httpx.Response, body: bytes) -> httpx.Response:
    if len(body) > LONGEST_TEXT and (response.is_error or not _is_json(body)):
        body = size_of(body).encode()
    raw = response.headers.raw
    headers = [(name, value) for name, value in raw if name.lower() not in _ABOUT_PACKING]
    return httpx.Response(response.status_code, headers=headers, content=body)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


class _Httpx(httpx.AsyncBaseTransport):
    """The way that httpx itself would take, with the proxies in the environment."""

    def __init__(self, verify: Any) -> None:
        self._client = httpx.AsyncClient(verify=verify)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._client.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        await self._client.aclose()
