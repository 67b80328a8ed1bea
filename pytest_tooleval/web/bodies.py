"""Request bodies: JSON of limited size, decoded into types."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..settings.options import IN_FORM
from ..text import near
from .responses import ApiError, field_error

MAX_BYTES = 32 * 1024 * 1024
_PLACE = " - at `$"

_T = TypeVar("_T")
Endpoint = Callable[[Request], Awaitable[Response]]
Names = Annotated[list[str], Meta(min_length=1)]


class Body(Struct, forbid_unknown_fields=True, kw_only=True):
    """The JSON object of a request."""


class SuiteText(Body, kw_only=True):
    """The text of a suite, which is written unchanged."""

    text: str


class NewSuite(SuiteText, kw_only=True):
    """A suite for a new file; without `file`, its name comes from the suite's name."""

    file: str | None = None


class NewRun(Body, kw_only=True):
    """What to run. `options` are pytest's, by name; several values are separated by spaces."""

    files: Names
    models: Names
    cases: Names | None = None
    keyword: str | None = None
    options: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.cases is not None and len(self.files) > 1:
            raise ValueError("expected one file if cases are given")
        for name in self.options:
            if name not in IN_FORM:
                raise ValueError(f"unknown option {name}{near(name, IN_FORM)}")


class McpImport(Body, kw_only=True):
    """An MCP server, as in `tools_from`, and how to import its tools."""

    stdio: str | list[str] | None = None
    http: str | None = None
    sse: str | None = None
    headers: dict[str, str] | None = None
    env: list[str] | None = None
    timeout: float | None = None
    file: str | None = None
    name: str | None = None
    drafts: bool = True
    save: bool = False


async def read_body(request: Request) -> bytes:
    """The bytes of a JSON body. ApiError 413 or 415."""
    media_type, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = re.fullmatch(r'\s*charset="?utf-?8"?\s*', parameters, re.IGNORECASE)
    # Forms of other sites could send other types without a preflight request.
    if media_type.strip().lower() != "application/json" or (parameters.strip() and not charset):
        raise ApiError(415, "Content-Type: expected application/json, in UTF-8")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                raise ApiError(413, f"the body is larger than {MAX_BYTES // (1024 * 1024)} MiB")
    except ClientDisconnect:
        raise ApiError(400, "the body is incomplete") from None
    return bytes(body)


def taking(type: type[_T]) -> Callable[[Callable[[Request, _T], Response]], Endpoint]:
    """Decorator for an endpoint with a body. It runs in a thread, so it may block."""

    def make(answer: Callable[[Request, _T], Response]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(answer, request, await read(request, type))

        return endpoint

    return make


async def read(request: Request, type: type[_T]) -> _T:
    """The body as this type. ApiError 400 for invalid JSON, 422 for invalid data."""
    raw = await read_body(request)
    try:
        return msgspec.json.decode(raw, type=type)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(_PLACE)
        message = message.replace("`", "")
        field = path.rstrip("`").removeprefix(".")
        raise field_error(422, field, message[:1].lower() + message[1:]) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
