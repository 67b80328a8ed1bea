"""`/api/models` and `/api/tool-eval`: what can be run, and the runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.responses import StreamingResponse
from starlette.routing import Route

from ..engine.models.spec import LEXICAL
from ..engine.models.tables import ModelTables
from ..engine.models.tables import resolve_models
from ..errors import ConfigError
from ..history import RunSummary
from .api_history import document_of
from .api_history import runs_of
from .bodies import read_object
from .events import EventLog
from .events import stream
from .manager import RunManager
from .plan import config_tables
from .plan import make_plan
from .responses import ApiError
from .responses import json_response

_LISTED = 20


def _manager(request: Request) -> RunManager:
    manager: RunManager = request.app.state.manager
    return manager


async def list_models(request: Request) -> Response:
    def models() -> Response:
        try:
            tables = config_tables(request.app.state.folder.root)
        except ConfigError as error:
            raise ApiError(500, str(error)) from None
        return json_response(list(_models(tables)))

    return await run_in_threadpool(models)


def _models(tables: ModelTables) -> Iterator[dict[str, Any]]:
    for name in dict.fromkeys([*tables.tables, LEXICAL]):
        row = {"model": name, "calls": "", "source": "", "problem": None}
        try:
            spec = resolve_models([name], tables)[0]
        except ConfigError as error:
            yield {**row, "problem": str(error)}
            continue
        variable = spec.api_key_env
        missing = variable and not os.environ.get(variable)
        problem = f"the environment variable {variable} is not set" if missing else None
        yield {**row, "calls": spec.identity, "source": spec.source, "problem": problem}


async def begin_run(request: Request) -> Response:
    body = await read_object(request, "NewRun")

    def begin() -> Response:
        run = _manager(request).begin(make_plan(request.app.state.folder, body))
        return json_response({"id": run.id}, 202, {"Location": f"/api/tool-eval/{run.id}"})

    return await run_in_threadpool(begin)


async def list_runs(request: Request) -> Response:
    def runs() -> Response:
        own = [run.state() for run in _manager(request).runs()]
        known = {state["id"] for state in own}
        kept = [_state_of(run) for run in runs_of(request, _LISTED) if run.id not in known]
        # Both are newest first, and sorting keeps that for runs of one second.
        states = sorted(own + kept, key=lambda state: str(state["started"]), reverse=True)
        under_way = [state for state in own if state["status"] == "running"]
        others = [state for state in states if state not in under_way]
        return json_response(under_way + others[:_LISTED])

    return await run_in_threadpool(runs)


def _state_of(run: RunSummary) -> dict[str, Any]:
    """A run of the history in the shape of one of ours."""
    status: str = run.status
    if run.exitstatus not in (None, 0, 1):
        status = "cancelled" if run.exitstatus == 2 else "failed"
    return {
        "id": run.id,
        "status": status,
        "started": run.started,
        "duration_s": run.duration_s,
        "files": [],
        "models": list(run.models),
        "cases": None,
        "options": {},
        "done": run.cases,
        "total": run.cases,
        "counts": {
            "passed": run.passed,
            "failed": run.failed,
            "missed": run.missed,
            "errors": run.errors,
            "skipped": run.skipped,
        },
        "summary": None,
        "problem": None,
    }


async def show_run(request: Request) -> Response:
    def show() -> Response:
        run = _manager(request).get(request.path_params["id"])
        return json_response(run.state() if run is not None else _kept_state(_document(request)))

    return await run_in_threadpool(show)


def _document(request: Request) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(document_of(request, request.path_params["id"]))
    return document


def _kept_state(document: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the history, with its summary, in the shape of one of ours."""
    run, total = document["run"], document["run"]["total"]
    summary = RunSummary(
        id=run["id"],
        started=run["started"],
        duration_s=run["duration_s"],
        status=run.get("status", "finished"),
        exitstatus=run.get("exitstatus"),
        git=run.get("git"),
        models=tuple(row["model"] for row in document["models"]),
        cases=total["cases"],
        **{name: total[name] for name in ("passed", "failed", "missed", "errors", "skipped")},
    )
    files = list(dict.fromkeys(row["file"] for row in document["suites"]))
    state = _state_of(summary)
    # A run that was cut short, as by `pytest -x`, has the cases it came to, not those that were chosen.
    may_be_cut = state["status"] != "finished" or total["failed"] or total["errors"]
    chosen = run.get("partial") and not may_be_cut
    return {
        **state,
        "files": files,
        "cases": list(dict.fromkeys(row["case"] for row in document["cases"])) if chosen else None,
        "options": run.get("options") or {},
        "summary": document["models"],
    }


async def cancel_run(request: Request) -> Response:
    def cancel() -> Response:
        run = _manager(request).get(request.path_params["id"])
        if run is None:
            state = _kept_state(_document(request))
            if state["status"] == "running":
                raise ApiError(409, "this run is another program's; end it there")
            return json_response(state, 202)
        run.cancel()
        return json_response(run.state(), 202)

    return await run_in_threadpool(cancel)


async def show_events(request: Request) -> Response:
    manager = _manager(request)
    run = await run_in_threadpool(manager.get, request.path_params["id"])
    log = run.events if run is not None else await run_in_threadpool(_kept_events, request)
    last = request.query_params.get("after") or request.headers.get("last-event-id", "")
    after = log.place(last)
    if log.is_over and after == len(log):
        return Response(status_code=204)  # on which a browser stops asking
    # Buffering somewhere on the way would hold rows back.
    headers = {"X-Accel-Buffering": "no"}
    events = stream(log, after, lambda: manager.is_closed)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def _kept_events(request: Request) -> EventLog:
    """The events of a run that only the history knows any more; their ids are not those of then."""
    document = _document(request)
    state = _kept_state(document)
    # The id of an event that was seen while the run went on must not count here.
    log = EventLog("kept-")
    log.add("progress", {"done": 0, "total": state["total"]})
    for row in document["cases"]:
        log.add("result", row)
    log.add("progress", {"done": state["done"], "total": state["total"]})
    for row in document["models"]:
        log.add("summary", row)
    log.add("done", {"status": state["status"], "problem": None})
    log.is_over = True
    return log


ROUTES = [
    Route("/api/models", list_models, methods=["GET"]),
    Route("/api/tool-eval", list_runs, methods=["GET"]),
    Route("/api/tool-eval", begin_run, methods=["POST"]),
    Route("/api/tool-eval/{id}", show_run, methods=["GET"]),
    Route("/api/tool-eval/{id}/cancel", cancel_run, methods=["POST"]),
    Route("/api/tool-eval/{id}/events", show_events, methods=["GET"]),
]
