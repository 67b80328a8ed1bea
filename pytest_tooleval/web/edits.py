"""The new text of a suite, from the old one and a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from ..errors import ConfigError
from ..imports.write import suite_text
from ..suite.model import Suite
from ..suite.source import Document
from .bodies import SuiteContent
from .responses import ApiError
from .responses import field_error

_ETAG = re.compile(r'"?([0-9a-f]{16})"?')


def expected_etag(request: Request) -> str:
    """The etag in `If-Match`, required to change a file. ApiError 400 without one."""
    given = request.headers.get("if-match", "").strip()
    match = _ETAG.fullmatch(given)
    if match is None:
        message = "expected the etag of the text to change" + ("" if given else ", got none")
        raise field_error(400, "If-Match", message)
    return match[1]


def new_text(body: SuiteContent, previous: Document | None = None) -> str:
    """The text of a body. Unchanged parts of the previous suite keep their formatting."""
    return suite_to_text(body.suite or {}, previous) if body.text is None else body.text


def suite_to_text(suite: Mapping[str, Any], previous: Document | None = None) -> str:
    try:
        return suite_text(suite, previous)
    except ConfigError as error:
        raise field_error(422, "suite", str(error)) from None


def with_cases(document: Document, index: int, removed: int, *added: object) -> dict[str, Any]:
    """The suite's data with `removed` cases from `index` on replaced by others."""
    cases = list(document.data["test_cases"])
    cases[index : index + removed] = added
    return {**document.data, "test_cases": cases}


def index_of(suite: Suite, id: str) -> int:
    """The index of a case; ApiError 404 if there is none with this id."""
    for index, case in enumerate(suite.test_cases):
        if case.id == id:
            return index
    raise ApiError(404, "id: the suite has no such case")
