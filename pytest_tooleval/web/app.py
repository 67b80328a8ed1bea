"""The ASGI application: routes, errors as JSON, and the guard in front."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..history import History
from ..project.root import Project
from . import api_history, api_import, api_runs, api_suites, pages
from .responses import ApiError, Limit, error_response
from .runs import Runs
from .security import Access, Guard
from .suite_files import SuiteFolder

MAX_IMPORTS = 4

_logger = logging.getLogger("pytest_tooleval.web")


def create_app(root: Path, access: Access, allowed_tools: Sequence[str] = ()) -> Starlette:
    """The application for the project in `root`. Close `app.state.runs` at the end.

    Raises ConfigError for a history that the ini file names and that cannot be used.
    """
    app = Starlette(
        routes=[
            *api_suites.ROUTES,
            *api_runs.ROUTES,
            *api_history.ROUTES,
            *api_import.ROUTES,
            *pages.ROUTES,
        ],
        middleware=[Middleware(Guard, access=access), Middleware(_Net)],
        exception_handlers={ApiError: _api_error, HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.state.access = access
    app.state.folder = SuiteFolder(root)
    app.state.history = History(app.state.folder.root / ".tooleval", Project(root, root).history())
    app.state.documents = {}
    app.state.imports = Limit(MAX_IMPORTS, "imports")
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


class _Net:
    """Catches unexpected errors: the log gets the traceback, the browser a message."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except Exception as error:
            _logger.exception("%s %s failed", scope.get("method"), scope.get("path"))
            if not begun and scope["type"] == "http":
                name = type(error).__name__
                answer = error_response(ApiError(500, f"internal error of pytest-tooleval: {name}"))
                await answer(scope, receive, send)
