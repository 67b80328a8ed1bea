"""The ASGI application: routes, errors as JSON, and the guard in front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from ..history import History
from ..project.root import Project
from . import api_history, api_runs, api_suites, pages
from .responses import ApiError, error_response
from .runs import Runs
from .security import Access, Guard
from .suite_files import SuiteFolder


def create_app(root: Path, access: Access, allowed_tools: Sequence[str] = ()) -> Starlette:
    """The application for the project in `root`. Close `app.state.runs` at the end.

    Raises ConfigError for a history that the ini file names and that cannot be used.
    """
    app = Starlette(
        routes=[
            *api_suites.ROUTES,
            *api_runs.ROUTES,
            *api_history.ROUTES,
            *pages.ROUTES,
        ],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={ApiError: _api_error, HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.state.access = access
    app.state.folder = SuiteFolder(root)
    app.state.history = History(app.state.folder.root / ".tooleval", Project(root, root).history())
    app.state.documents = {}
    app.state.runs = Runs(app.state.folder.root, allowed_tools)
    return app


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error)


_HTTP_MESSAGES = {404: "no such address", 405: "method not allowed"}


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = _HTTP_MESSAGES.get(error.status_code, "the request failed")
    response = error_response(ApiError(error.status_code, message))
    response.headers.update(error.headers or {})
    return response
