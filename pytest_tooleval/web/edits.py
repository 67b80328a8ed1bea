"""Changes of one suite: a new text from the old one and what a request asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from ..errors import ConfigError
from ..imports.write import suite_text
from ..suite.model import Suite
from ..suite.source import Document
from .responses import ApiError
from .responses import field_error

_ETAG = re.compile(r'"?([0-9a-f]{16})"?')
_LARGEST_EXACT = 2**53


def expected_etag(request: Request) -> str:
    """The etag of `If-Match`, which every change of a file needs. ApiError 400 without one."""
    given = request.headers.get("if-match", "").strip()
    match = _ETAG.fullmatch(given)
    if match is None:
        message = "expected the etag of the text that is changed" + ("" if given else ", got none")
        raise field_error(400, "If-Match", message)
    return match[1]


def new_text(body: Mapping[str, Any], previous: Document | None = None) -> str:
    """The text of a body with `text` or `suite`; parts of a suite that did not change keep theirs."""
    if "text" in body:
        return str(body["text"])
    suite = body["suite"] if previous is None else unrounded(body["suite"], previous.data)
    return suite_to_text(suite, previous)


def suite_to_text(suite: Mapping[str, Any], previous: Document | None = None) -> str:
    try:
        return suite_text(suite, previous)
    except ConfigError as error:
        raise field_error(422, "suite", str(error)) from None


def with_case(
    document: Document, case: Mapping[str, Any], index: int | None, *, replaces: bool
) -> dict[str, Any]:
    """The suite's data with a case added at `index` (None: at the end), or put in place of that one."""
    cases = list(document.data["test_cases"])
    if replaces and index is not None:
        cases[index] = unrounded(case, cases[index])
    else:
        cases.insert(len(cases) if index is None else index, dict(case))
    return {**document.data, "test_cases": cases}


def without_case(document: Document, index: int) -> dict[str, Any]:
    cases = list(document.data["test_cases"])
    del cases[index]
    return {**document.data, "test_cases": cases}


def index_of(suite: Suite, id: str) -> int:
    """The place of a case; ApiError 404 when there is none of this id."""
    for index, case in enumerate(suite.test_cases):
        if case.id == id:
            return index
    raise ApiError(404, "id: the suite has no such case")


def unrounded(new: Any, old: Any) -> Any:
    """The new value, in which what a browser made of a large integer is that integer again.

    JavaScript has no integers beyond 2**53: a page that changes a prompt would send back
    12345678901234567000 for 12345678901234567890, and change a test that nobody touched.
    """
    if isinstance(new, dict) and isinstance(old, dict):
        return {k: unrounded(v, old[k]) if k in old else v for k, v in new.items()}
    if isinstance(new, list) and isinstance(old, list):
        paired = [unrounded(*pair) for pair in zip(new, old, strict=False)]
        return paired + new[len(old) :]
    return old if _is_rounded(new, old) else new


def _is_rounded(new: Any, old: Any) -> bool:
    if type(old) is not int or type(new) not in (int, float) or abs(old) <= _LARGEST_EXACT:
        return False
    try:
        # The shortest digits that mean this double, as both languages write it.
        shortest = repr(float(old))
        return bool(new == float(shortest)) if isinstance(new, float) else new == _as_integer(shortest)
    except OverflowError:
        return False


def _as_integer(text: str) -> int:
    from decimal import Decimal

    return int(Decimal(text))
