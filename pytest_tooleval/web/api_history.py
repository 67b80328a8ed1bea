"""`/api/history`: the runs that were kept, one of them, trends, and two runs compared."""

from __future__ import annotations

import threading

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ConfigError
from ..errors import ToolevalError
from ..history import History
from ..history import RunSummary
from ..record.document import RowsDocument
from ..record.encoding import to_json
from .responses import ApiError
from .responses import field_error
from .responses import json_response

_DEFAULT_LIMIT = 50
_MAX_LIMIT = 1000
_CACHED = 4


def _history(request: Request) -> History:
    return History(request.app.state.folder.root / ".tooleval")


def runs_of(
    request: Request,
    limit: int,
    *,
    model: str | None = None,
    suite: str | None = None,
    branch: str | None = None,
) -> list[RunSummary]:
    """The newest runs. ApiError 500 when the history cannot be read."""
    try:
        return _history(request).runs(limit, model=model, suite=suite, branch=branch)
    except ToolevalError as error:
        raise ApiError(500, _said(request, error, names_file=True)) from None


def _said(request: Request, error: ToolevalError, *, names_file: bool = False) -> str:
    """What the history says, without where the folder lies on this machine's disk."""
    path, root = _history(request).path, request.app.state.folder.root
    file = f"{path.relative_to(root).as_posix()}: " if names_file else ""
    return str(error).replace(f"{path}: ", file)


def _find(request: Request, name: str, field: str = "id") -> str:
    """The id of the run of this name. ApiError 404 for none, 500 when the history cannot be read."""
    runs_of(request, 1)
    try:
        return _history(request).find(name)
    except ToolevalError as error:
        raise field_error(404, field, _said(request, error)) from None


def document_of(request: Request, name: str, field: str = "id") -> RowsDocument:
    """The result document of a run without transcripts."""
    id = _find(request, name, field)
    try:
        return _history(request).rows_document(id, intervals=True)
    except ToolevalError as error:
        raise field_error(404, field, _said(request, error)) from None


def list_history(request: Request) -> Response:
    names = ("model", "suite", "branch")
    filters = {name: request.query_params[name] for name in names if name in request.query_params}
    return json_response(runs_of(request, _limit(request), **filters))


class DocumentCache:
    """The last documents that were shown, of finished runs: ten thousand rows take a second to read.

    May be used from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, bytes] = {}

    def get(self, id: str) -> bytes | None:
        with self._lock:
            return self._kept.get(id)

    def add(self, id: str, content: bytes) -> None:
        with self._lock:
            self._kept[id] = content
            for old in list(self._kept)[:-_CACHED]:
                del self._kept[old]


def show_document(request: Request) -> Response:
    cache: DocumentCache = request.app.state.documents
    id = _find(request, request.path_params["id"])
    content = cache.get(id)
    if content is None:
        found = document_of(request, id)
        content = to_json(found)
        if found.run.status == "finished":  # it does not change any more
            cache.add(id, content)
    return Response(content, media_type="application/json")


def show_case(request: Request) -> Response:
    nodeid = _needed(request, "nodeid")
    run = request.app.state.runs.get(request.path_params["id"])
    whole = None if run is None else run.case(nodeid)
    if whole is not None:  # the history may not have it yet
        return Response(whole, media_type="application/json")
    id = _find(request, request.path_params["id"])
    try:
        return json_response(_history(request).case(id, nodeid))
    except ToolevalError as error:
        raise field_error(404, "nodeid", _said(request, error)) from None


def delete_run(request: Request) -> Response:
    id = request.path_params["id"]
    if _find(request, id) != id:
        raise field_error(404, "id", "expected the whole id of a run")
    try:
        _history(request).delete(id)
    except ToolevalError as error:
        raise field_error(409, "id", _said(request, error)) from None
    return Response(status_code=204)


def show_trend(request: Request) -> Response:
    name, limit = _needed(request, "name"), _limit(request)
    runs_of(request, 1)
    try:
        model = request.query_params.get("model")
        return json_response(_history(request).trend(name, model=model, limit=limit))
    except ToolevalError as error:
        raise field_error(404, "name", _said(request, error)) from None


def compare_runs(request: Request) -> Response:
    from ..verdicts.baseline import Side
    from ..verdicts.baseline import compare

    old, new = _needed(request, "old"), _needed(request, "new")
    models = [request.query_params.get(f"{side}_model") for side in ("old", "new")]
    if (models[0] is None) != (models[1] is None):
        raise field_error(400, "old_model", "expected with new_model, or neither of them")
    pairs = [(models[0], models[1])] if models[0] and models[1] else []
    sides = []
    for name, side in ((old, "old"), (new, "new")):
        document = document_of(request, name, side)
        sides.append(Side(name, document.run, document.cases))
    try:
        return json_response(compare(*sides, models=pairs))
    except ConfigError as error:
        raise ApiError(422, str(error)) from None


def _needed(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise field_error(400, name, "expected in the query")
    return value


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_DEFAULT_LIMIT))
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= _MAX_LIMIT:
        raise field_error(400, "limit", f"expected a number from 1 to {_MAX_LIMIT}")
    return number


ROUTES = [
    Route("/api/history", list_history, methods=["GET"]),
    Route("/api/history/trend", show_trend, methods=["GET"]),
    Route("/api/history/compare", compare_runs, methods=["GET"]),
    Route("/api/history/{id}", show_document, methods=["GET"]),
    Route("/api/history/{id}", delete_run, methods=["DELETE"]),
    Route("/api/history/{id}/cases", show_case, methods=["GET"]),
]
