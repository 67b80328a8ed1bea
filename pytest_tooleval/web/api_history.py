"""`/api/history`: runs, trends and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ConfigError, ToolevalError
from ..history import History
from ..record.encoding import to_json
from ..reports.html import html_text, page_comparison, page_document
from .responses import ApiError, field_error, in_page_words, json_response, required_value

_DEFAULT_LIMIT = 50
_MAX_LIMIT = 1000
_CACHED = 4


@contextmanager
def _history(request: Request, field: str = "id", status: int = 404) -> Iterator[History]:
    """The history. A missing run or case becomes an ApiError about `field`.

    Messages do not contain the path of the folder.
    """
    history: History = request.app.state.history
    try:
        yield history
    except ToolevalError as error:
        folder = str(history.folder)
        text = str(error).replace(f"{folder}: ", "").replace(folder, history.folder.name)
        raise field_error(status, field, text) from None


def list_history(request: Request) -> Response:
    names = ("model", "suite", "branch")
    filters = {name: request.query_params[name] for name in names if name in request.query_params}
    with _history(request, status=500) as history:
        history.refresh()
    with _history(request, "suite", 400) as history:
        return json_response(history.runs(_limit(request), **filters))


def show_document(request: Request) -> Response:
    """The rows of a run, with notes and verdict."""
    # Only of finished runs, which do not change. Reading ten thousand rows takes a second.
    cache: dict[str, bytes] = request.app.state.documents
    with _history(request) as history:
        id = history.find(request.path_params["id"])
        content = cache.get(id)
        if content is None:
            document = history.rows_document(id, intervals=True)
            content = to_json(page_document(document, in_page_words))
            if document.run.status == "finished":
                cache[id] = content
                for old in list(cache)[:-_CACHED]:
                    cache.pop(old, None)
    return Response(content, media_type="application/json")


def show_case(request: Request) -> Response:
    nodeid = required_value(request, "nodeid")
    run = request.app.state.runs.get(request.path_params["id"])
    # The history may not have it yet. Once the run has ended, its gates have settled what it tolerates.
    whole = run.case(nodeid) if run is not None and run.status == "running" else None
    if whole is not None:
        return Response(whole, media_type="application/json")
    with _history(request) as history:
        id = history.find(request.path_params["id"])
    with _history(request, "nodeid") as history:
        return json_response(history.case(id, nodeid))


def download_report(request: Request) -> Response:
    with _history(request) as history:
        id = history.find(request.path_params["id"])
        document = history.document(id)
        text = html_text(document, history.trends_for(document))
    headers = {"Content-Disposition": f'attachment; filename="tooleval-{id}.html"'}
    return Response(text.encode("utf-8", "replace"), media_type="text/html", headers=headers)


def delete_run(request: Request) -> Response:
    id = request.path_params["id"]
    with _history(request) as history:
        if history.find(id) != id:
            raise field_error(404, "id", "expected the full id of a run")
    with _history(request, status=409) as history:
        history.delete(id)
    return Response(status_code=204)


def show_trend(request: Request) -> Response:
    name, limit = required_value(request, "name"), _limit(request)
    with _history(request, "name") as history:
        return json_response(history.trend(name, model=request.query_params.get("model"), limit=limit))


def comparison_of_runs(request: Request) -> Response:
    from ..verdicts.baseline import compare_runs
    from ..verdicts.paired_metrics import ComparisonRules

    old, new = required_value(request, "old"), required_value(request, "new")
    models = [request.query_params.get(f"{side}_model") for side in ("old", "new")]
    if (models[0] is None) != (models[1] is None):
        raise field_error(400, "old_model", "expected with new_model, or neither of them")
    pairs = [(models[0], models[1])] if models[0] and models[1] else []
    sides = []
    for name, side in ((old, "old"), (new, "new")):
        with _history(request, side) as history:
            sides.append(history.side(name, history.find(name)))
    try:
        return json_response(page_comparison(compare_runs(sides[0], sides[1], ComparisonRules(), pairs)))
    except ConfigError as error:
        raise ApiError(422, str(error)) from None


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_DEFAULT_LIMIT))
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= _MAX_LIMIT:
        raise field_error(400, "limit", f"expected a number from 1 to {_MAX_LIMIT}")
    return number


ROUTES = [
    Route("/api/history", list_history, methods=["GET"]),
    Route("/api/history/trend", show_trend, methods=["GET"]),
    Route("/api/history/compare", comparison_of_runs, methods=["GET"]),
    Route("/api/history/{id}", show_document, methods=["GET"]),
    Route("/api/history/{id}", delete_run, methods=["DELETE"]),
    Route("/api/history/{id}/report", download_report, methods=["GET"]),
    Route("/api/history/{id}/cases", show_case, methods=["GET"]),
]
