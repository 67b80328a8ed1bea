"""An HTTP client for the SDK's transports, with limits on what it reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any

import anyio
import httpx2

from ..errors import McpError
from .watch import Watch, too_large

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_WAITS_S, _LONGEST_WAIT_S = (0.25, 0.5, 1.0), 10.0
_READ_TIMEOUT_S = 300.0  # an event stream may be silent for a while; requests have their own limit


def http_client(headers: Mapping[str, str], timeout_s: float, watch: Watch) -> httpx2.AsyncClient:
    """A client that records statuses on the watch, and raises McpError if an answer is too large."""

    async def look(response: httpx2.Response) -> None:
        if response.request.method != "DELETE":  # which only ends the session
            _look(response, watch)

    return _Patient(
        # Unpacked, a compressed answer could be a thousand times larger than its limit.
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(timeout_s, read=max(timeout_s, _READ_TIMEOUT_S)),
        event_hooks={"response": [look]},
    )


class _Patient(httpx2.AsyncClient):
    """Sends a request again that a server is too busy for."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        for wait_s in _WAITS_S:
            response = await super().send(request, **options)
            if response.status_code not in _BUSY:
                return response
            wait = response.headers.get("retry-after", "")
            await response.aclose()
            await anyio.sleep(min(float(wait), _LONGEST_WAIT_S) if wait.isdecimal() else wait_s)
        return await super().send(request, **options)


def _look(response: httpx2.Response, watch: Watch) -> None:
    is_stream = "text/event-stream" in response.headers.get("content-type", "").lower()
    if response.request.method == "POST":
        watch.status = response.status_code
        watch.content_type = response.headers.get("content-type", "")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise watch.break_off(McpError("sends compressed answers, which it was asked not to do"))
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedStream(response.stream, watch, is_stream=is_stream)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, watch: Watch, *, is_stream: bool) -> None:
        self._stream = stream
        self._watch = watch
        self._is_stream = is_stream  # the SDK limits each of its events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        limits = self._watch.limits
        async for chunk in self._stream:
            size += len(chunk)
            self._watch.received += len(chunk)
            if not self._is_stream and size > limits.message:
                raise self._watch.break_off(too_large("one message", limits.message))
            if limits.total is not None and self._watch.received > limits.total:
                raise self._watch.break_off(too_large("what it sent", limits.total))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
