"""`/api/models` and `/api/runs`: models, and runs that this server started."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..engine.models.names import resolve_models
from ..engine.models.spec import LEXICAL
from ..engine.models.tables import ModelTables
from ..errors import ConfigError
from ..project.root import Project
from ..reports.html import page_columns
from ..settings.options import IN_FORM
from .bodies import NewRun, taking
from .events import stream
from .responses import ApiError, field_error, json_response
from .runs import PageRuns, PytestRun
from .suite_files import SuiteFolder


def _runs(request: Request) -> PageRuns:
    runs: PageRuns = request.app.state.runs
    return runs


def _run(request: Request) -> PytestRun:
    run = _runs(request).get(request.path_params["id"])
    if run is None:
        raise field_error(
            404, "id", "this server did not start such a run; finished runs are in /api/history"
        )
    return run


def list_models(request: Request) -> Response:
    """The models of the config and the ini file; a run asks those of the ini file by default."""
    root = request.app.state.folder.root
    project = Project(root, root)
    try:
        tables = project.tables()
    except ConfigError as error:
        raise ApiError(500, str(error)) from None
    return json_response(list(_models(tables, project.models())))


def _models(tables: ModelTables, defaults: Sequence[str]) -> Iterator[dict[str, Any]]:
    for name in dict.fromkeys([*tables.tables, *defaults, LEXICAL]):
        row = {"model": name, "is_default": name in defaults}
        try:
            spec = resolve_models([name], tables)[0]
        except ConfigError as error:
            yield {**row, "identity": "", "source": "", "problem": str(error)}
            continue
        variable = spec.api_key_env
        missing = variable and not os.environ.get(variable)
        problem = f"the environment variable {variable} is not set" if missing else None
        yield {**row, "identity": spec.identity, "source": spec.source, "problem": problem}


def _runs_for(request: Request, new_run: NewRun) -> PageRuns:
    """The runs, once the files of the new one are known to exist, and its cassette to be ours."""
    folder: SuiteFolder = request.app.state.folder
    for file in new_run.files:
        folder.check(file)
    if "cassette" in new_run.options:
        folder.check_cassette(new_run.options["cassette"])
    return _runs(request)


@taking(NewRun)
def begin_run(request: Request, new_run: NewRun) -> Response:
    id = _runs_for(request, new_run).begin(new_run).id
    return json_response({"id": id}, 202, {"Location": f"/api/runs/{id}"})


@taking(NewRun)
def estimate_run(request: Request, new_run: NewRun) -> Response:
    return json_response({"text": _runs_for(request, new_run).estimate(new_run)})


def show_project(request: Request) -> Response:
    """The project's folder, for links to a local editor, the run form's options, and columns."""
    options = [
        {
            "name": option.name,
            "help": option.help,
            "metavar": option.metavar,
            "default": option.default,
            "choices": {choice: option.meanings.get(choice, "") for choice in option.choices}
            or ({"true": ""} if option.is_flag else {}),
            "is_kept": option.is_kept,
        }
        for option in IN_FORM.values()
    ]
    root = str(request.app.state.folder.root)
    return json_response({"root": root, "options": options, "columns": page_columns()})


def list_runs(request: Request) -> Response:
    """The running and the last finished ones, newest first."""
    return json_response([run.state() for run in _runs(request).started_runs()[::-1]])


def show_run(request: Request) -> Response:
    return json_response(_run(request).state())


def cancel_run(request: Request) -> Response:
    run = _run(request)
    run.cancel()
    return json_response(run.state(), 202)


async def show_events(request: Request) -> Response:
    log = _run(request).events
    after = log.place(request.query_params.get("after") or request.headers.get("last-event-id", ""))
    if log.is_over and after == len(log):
        return Response(status_code=204)  # so that the browser does not reconnect
    # Proxies must not buffer events.
    headers = {"X-Accel-Buffering": "no"}
    runs = _runs(request)
    events = stream(log, after, lambda: runs.is_closed)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


ROUTES = [
    Route("/api/models", list_models, methods=["GET"]),
    Route("/api/runs", list_runs, methods=["GET"]),
    Route("/api/runs", begin_run, methods=["POST"]),
    Route("/api/runs/estimate", estimate_run, methods=["POST"]),
    Route("/api/project", show_project, methods=["GET"]),
    Route("/api/runs/{id}", show_run, methods=["GET"]),
    Route("/api/runs/{id}/cancel", cancel_run, methods=["POST"]),
    Route("/api/runs/{id}/events", show_events, methods=["GET"]),
]
