"""The API's responses: JSON, and errors with their place, in the words of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Problem
from ..record.encoding import to_json
from ..settings.options import IN_FORM

_OPTION = re.compile(r"--tooleval-([a-z-]+)(?:=([\w.:-]*\w))?")
_IMPORT = {
    "--header NAME=VARIABLE": "“Headers”",
    "--sse": "“URL (HTTP with SSE, older)”",
    "--http": "“URL (streamable HTTP)”",
    " (--timeout)": "",
}


class ApiError(Exception):
    """A request that fails. `extra` is added to the body, next to `error`."""

    def __init__(
        self, status: int, message: str, problems: Sequence[Problem] = (), **extra: Any
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.problems = tuple(problems)
        self.extra = extra


def field_error(status: int, field: str, message: str, file: str = "") -> ApiError:
    """An error about a field of a request's body, path or query; empty for the whole request."""
    prefix = f"{field}: " if field else ""
    return ApiError(status, f"{prefix}{message}", [Problem(file, 1, 1, field, message)])


def required_value(request: Request, name: str) -> str:
    """A value of the query. ApiError 400 without it."""
    value = request.query_params.get(name)
    if not value:
        raise field_error(400, name, "expected in the query")
    return value


def problem_dicts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [
        {
            "file": problem.path,
            "line": problem.line,
            "column": problem.column,
            "field": problem.field,
            "message": in_page_words(problem.message),
        }
        for problem in problems
    ]


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(value), status, headers, media_type="application/json")


def error_response(error: ApiError) -> Response:
    body = {"message": in_page_words(error.message), "problems": problem_dicts(error.problems)}
    return json_response({"error": body, **error.extra}, error.status)


def in_page_words(text: str) -> str:
    """A message with the labels of the run form and the MCP import in place of options."""
    for option, label in _IMPORT.items():
        text = text.replace(option, label)
    return _OPTION.sub(_label, text)


def _label(match: re.Match[str]) -> str:
    name, value = match.groups()
    if name not in IN_FORM:
        return match[0]
    label = name.replace("-", " ").capitalize()
    return f"“{label}: {value}”" if value else f"“{label}”"
