"""Bodies of requests: read within limits of size, time and depth, and checked by their schema."""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Iterator
from typing import Any
from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request

from ..errors import Problem
from ..record.calls import MAX_DEPTH
from ..record.calls import is_nested_deeper
from ..suite.explain import describe
from ..suite.explain import field_path
from ..suite.explain import listing
from ..text import printable
from ..text import shorten
from .openapi import body_schema
from .responses import ApiError

MAX_BYTES = 32 * 1024 * 1024
TIMEOUT_S = 30.0
_MOST_READ = 4 * MAX_BYTES
_MAX_PROBLEMS = 20
# Larger ones are parsed in a thread: the other requests go on meanwhile.
_LARGE = 64 * 1024
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


async def read_body(request: Request) -> bytes:
    """The bytes of a JSON body. ApiError 408, 413 or 415."""
    media_type, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = re.fullmatch(r'\s*charset="?utf-?8"?\s*', parameters, re.IGNORECASE)
    if media_type.strip().lower() != "application/json" or (parameters.strip() and not charset):
        raise ApiError(415, "Content-Type: expected application/json, in UTF-8")
    try:
        return await asyncio.wait_for(_read(request), TIMEOUT_S)
    except asyncio.TimeoutError:
        raise ApiError(408, f"the body did not come within {TIMEOUT_S:.0f} s") from None
    except ClientDisconnect:
        raise ApiError(400, "the body broke off") from None


async def _read(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    if _length(request) > _MOST_READ:
        raise _too_large()
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BYTES:
            chunks.append(chunk)
            continue
        # Most clients look at an answer only when they have sent everything, within reason.
        chunks.clear()
        if size > _MOST_READ:
            break
    if size > MAX_BYTES:
        raise _too_large()
    return b"".join(chunks)


def _too_large() -> ApiError:
    return ApiError(413, f"the body is larger than {MAX_BYTES // (1024 * 1024)} MiB")


def _length(request: Request) -> int:
    text = request.headers.get("content-length", "")
    return int(text[:20]) if text.isascii() and text.isdigit() else 0


async def read_object(request: Request, schema: str) -> dict[str, Any]:
    """The body as the object that a schema of the OpenAPI document describes. ApiError else."""
    raw = await read_body(request)
    if len(raw) > _LARGE:
        return await run_in_threadpool(parse_object, raw, schema)
    return parse_object(raw, schema)


def parse_object(raw: bytes, schema: str) -> dict[str, Any]:
    """Bytes to the object that a schema describes. ApiError 400 for what is no JSON, 422 else."""
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        if _SURROGATE_ESCAPE.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ApiError(400, "the body holds half of a surrogate pair, which is no character") from None
    except UnicodeDecodeError as error:
        raise ApiError(400, f"the body is not UTF-8, at byte {error.start}") from None
    except json.JSONDecodeError as error:
        place = Problem("", error.lineno, error.colno, "", error.msg)
        raise ApiError(400, f"the body is not JSON: {error}", [place]) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:  # NaN, and numbers of thousands of digits
        raise ApiError(400, f"the body is not JSON: {shorten(printable(str(error)), 200)}") from None
    if is_nested_deeper(value, MAX_DEPTH):
        raise _too_deep()
    problems = list(_problems(value, schema))
    if problems:
        first = problems[0]
        where = f"{first.field}: " if first.field else ""
        raise ApiError(422, f"{where}{first.message}", problems)
    return cast("dict[str, Any]", value)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _too_deep() -> ApiError:
    return ApiError(400, f"the body is nested deeper than {MAX_DEPTH} levels")


def _problems(value: Any, schema: str) -> Iterator[Problem]:
    errors = sorted(_validator()(body_schema(schema)).iter_errors(value), key=_place)
    for error in errors[:_MAX_PROBLEMS]:
        yield Problem("", 1, 1, field_path(error.absolute_path), _message(error))


@functools.cache
def _validator() -> Any:
    """JSON Schema takes 2.0 for an integer; here it is used as a number of trials, or as an index."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER
    whole = types.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return extend(Draft202012Validator, type_checker=whole)  # type: ignore[no-untyped-call]


def _place(error: Any) -> list[str]:
    return [str(part) for part in error.absolute_path]


def _message(error: Any) -> str:
    keyword, wanted, got = error.validator, error.validator_value, describe(error.instance)
    if keyword == "type":
        names = wanted if isinstance(wanted, list) else [wanted]
        return f"expected {' or '.join(names)}, got {got}"
    if keyword == "enum":
        return f"expected {' or '.join(map(str, wanted))}, got {got}"
    if keyword in ("minimum", "minLength", "minItems"):
        return f"expected at least {wanted}, got {got}"
    if keyword in ("maximum", "maxLength", "maxItems"):
        return f"expected at most {wanted}, got {got}"
    if keyword == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = next(name for name in error.instance if name not in known)
        return f"unknown field {describe(unknown)}; known are {listing(known)}"
    if keyword == "oneOf":
        fields = [each["required"][0] for each in wanted]
        return f"expected one of {', '.join(fields)}"
    return shorten(printable(error.message), 200)
