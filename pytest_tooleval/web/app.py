"""The ASGI application: the page with its files, routes, errors as JSON, and the guard in front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ..history import History
from ..project.root import Project
from ..reports.html import PAGE
from . import api_history, api_runs, api_suites
from .responses import ApiError, error_response
from .runs import PageRuns
from .security import Access, Guard
from .suite_files import SuiteFolder

STATIC = Path(__file__).with_name("static")

_PLAIN = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tooleval</title></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""


async def index(request: Request) -> Response:
    """The page. With the token: sets the cookie, and redirects to the address without the token."""
    access: Access = request.app.state.access
    if "token" in request.query_params:
        tokens = request.query_params.getlist("token")
        if len(tokens) != 1 or not access.is_token(tokens[0]):
            return _plain(401, "Wrong token", "Open the address that tooleval ui printed last.")
        rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
        address = "/" + (f"?{urlencode(rest)}" if rest else "")
        return _signed_in(address, access, request.headers.get("sec-fetch-site"))
    if not access.has_cookie(request.headers):
        return _plain(401, "Not signed in", "Open the address that tooleval ui printed.")
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-store"})


def _signed_in(address: str, access: Access, site: str | None) -> Response:
    cookie = f"{access.cookie}={access.session}; Path=/; HttpOnly; SameSite=Strict"
    headers = {"Set-Cookie": cookie}
    if site in (None, "none", "same-origin"):
        return RedirectResponse(address, 303, headers)
    # The link was on another site, such as a terminal in the browser. A strict cookie is not sent on a
    # redirect from there, but it is from our own page.
    page = _PLAIN.format(title="tooleval", text="Loading…")
    return HTMLResponse(page, headers={"Refresh": f"0; url={address}", **headers})


def _plain(status: int, title: str, text: str) -> Response:
    return HTMLResponse(_PLAIN.format(title=title, text=text), status)


class _Static(StaticFiles):
    """Static files that the browser revalidates each time, so that an upgrade shows at once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def create_app(root: Path, access: Access, allowed_tools: Sequence[str] = ()) -> Starlette:
    """The application for the project in `root`. Close `app.state.runs` at the end.

    Raises ConfigError for a history that the ini file names and that cannot be used.
    """
    app = Starlette(
        routes=[
            *api_suites.ROUTES,
            *api_runs.ROUTES,
            *api_history.ROUTES,
            Route("/", index, methods=["GET"]),
            Mount("/static/page", _Static(directory=PAGE), name="page"),
            Mount("/static", _Static(directory=STATIC), name="static"),
        ],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={ApiError: _api_error, HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.state.access = access
    app.state.folder = SuiteFolder(root)
    app.state.history = History(app.state.folder.root / ".tooleval", Project(root, root).history())
    app.state.documents = {}
    app.state.runs = PageRuns(app.state.folder.root, allowed_tools)
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
