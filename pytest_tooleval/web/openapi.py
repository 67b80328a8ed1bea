"""The API's OpenAPI document. Its schemas also check the bodies of requests, so that both agree."""

from __future__ import annotations

import functools
from typing import Any

from .. import __version__

Schema = dict[str, Any]

_MAX_NAME = 1000
_REFERENCE = "#/components/schemas/"


def _ref(name: str) -> Schema:
    return {"$ref": _REFERENCE + name}


def _object(properties: Schema, required: tuple[str, ...] | None = None) -> Schema:
    """An object; without `required` all of its fields are there."""
    needed = list(properties if required is None else required)
    return {"type": "object", "properties": properties, **({"required": needed} if needed else {})}


def _closed(properties: Schema, required: tuple[str, ...] = (), **rest: Any) -> Schema:
    return {**_object(properties, required), "additionalProperties": False, **rest}


def _list(items: Schema, **rest: Any) -> Schema:
    return {"type": "array", "items": items, **rest}


def _text(description: str = "", **rest: Any) -> Schema:
    return {"type": "string", **({"description": description} if description else {}), **rest}


def _or_null(type: str, description: str = "") -> Schema:
    return {"type": [type, "null"], **({"description": description} if description else {})}


_COUNT = {"type": "integer", "minimum": 0}
_FILE = _text("A file below the folder, such as `a/weather.tooleval.json`.", maxLength=_MAX_NAME)
_ETAG = _text("The fingerprint of the file's bytes: 16 hex digits.")
_SUITE = {"type": "object", "description": "A suite, as docs/suite-format.md has it."}
_CASE = {"type": "object", "description": "A test case, as docs/suite-format.md has it."}
_ONE_TEXT = [{"required": ["text"]}, {"required": ["suite"]}]
_NAMES = _list({"type": "string", "maxLength": _MAX_NAME}, minItems=1)


def _bodies() -> dict[str, Schema]:
    content = {"text": _text("The file's text, kept byte for byte."), "suite": _SUITE}
    server = {
        "stdio": {
            "description": "The command that starts the server.",
            "type": ["string", "array"],
            "items": {"type": "string"},
        },
        "http": _text("The URL of a server over streamable HTTP."),
        "sse": _text("The URL of an older server over HTTP with SSE."),
    }
    return {
        "NewSuite": _closed({"file": _FILE, **content}, oneOf=_ONE_TEXT),
        "SuiteContent": _closed(content, oneOf=_ONE_TEXT),
        "NewCase": _closed({"case": _CASE, "position": _COUNT}, ("case",)),
        "CaseContent": _closed({"case": _CASE}, ("case",)),
        "McpImport": _closed(
            {
                **server,
                "headers": {
                    "description": "Headers to the environment variables that hold their values.",
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                },
                "env": _list({"type": "string"}, description="Variables that the command gets."),
                "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 120},
                "file": _FILE,
                "name": _text("The name of a new suite.", minLength=1, maxLength=200),
                "drafts": {"type": "boolean", "description": "Draft a case for each new tool."},
                "save": {"type": "boolean", "description": "Write the suite; else only show it."},
            },
            oneOf=[{"required": [name]} for name in server],
        ),
        "NewRun": _closed(
            {
                "file": _FILE,
                "files": _list(_FILE, minItems=1, maxItems=1000),
                "models": {**_NAMES, "maxItems": 50},
                "cases": {**_NAMES, "description": "Ids of the cases to run; default: all."},
                "temperature": {"type": "number", "minimum": 0, "maximum": 2},
                "tool_choice": {"enum": ["required", "auto", "none"]},
                "trials": {"type": "integer", "minimum": 1, "maximum": 1000},
            },
            ("models",),
            oneOf=[{"required": ["file"]}, {"required": ["files"]}],
        ),
    }


def _answers() -> dict[str, Schema]:
    problem = {"file": _text(), "line": _COUNT, "column": _COUNT, "field": _text(), "message": _text()}
    problems = _list(_ref("Problem"))
    counts = ("passed", "failed", "missed", "errors", "skipped")
    run = {
        "id": _text(),
        "status": {"enum": ["running", "finished", "cancelled", "failed", "killed"]},
        "started": _text("ISO 8601, UTC."),
        "duration_s": _or_null("number"),
        "files": _list(_text()),
        "models": _list(_text()),
        "cases": {"type": ["array", "null"], "items": _text(), "description": "Null for all of them."},
        "options": {"type": "object"},
        "done": _COUNT,
        "total": _COUNT,
        "counts": _object(dict.fromkeys(counts, _COUNT)),
        "summary": {"type": ["array", "null"], "items": {"type": "object"}},
        "problem": _or_null("string"),
    }
    suite = {
        "file": _text(),
        "name": _or_null("string", "null when the file has problems"),
        **dict.fromkeys(("cases", "drafts", "tools", "problems"), _COUNT),
        "modified": _text("ISO 8601, UTC."),
    }
    content = {
        "file": _text(),
        "etag": _ETAG,
        "text": _or_null("string", "null when the file is not UTF-8"),
        "suite": _or_null("object", "null when there are problems"),
        "ids": _list(_text("The id of each case, also of those without one in the file.")),
        "problems": problems,
        "warnings": problems,
    }
    model = {
        "model": _text(),
        "calls": _text(),
        "source": _text(),
        "problem": _or_null("string", "Why it cannot be used now."),
    }
    error = _object({"message": _text(), "problems": problems})
    return {
        "Problem": _object(problem),
        "Error": _object({"error": error}),
        "Conflict": _object({"error": error, "etag": _ETAG, "text": _or_null("string")}, ("error",)),
        "SuiteRow": _object(suite),
        "Suite": _object(content),
        "Findings": _object({"problems": problems, "warnings": problems}),
        "Written": _object({"file": _text(), "etag": _ETAG, "warnings": problems}),
        "WrittenCase": _object({"id": _text(), "etag": _ETAG, "warnings": problems}),
        "Cases": _object(
            {
                "etag": _ETAG,
                "cases": _list(_object({"id": _text(), "line": _COUNT, "case": _CASE})),
            }
        ),
        "McpPreview": _object(
            {
                "server": _object({"name": _text(), "version": _text()}),
                "tools": _list({"type": "object"}),
                "left_out": _list(_text()),
                "warnings": _list(_text()),
                "changes": _list(_text()),
                "suite": _SUITE,
                "file": _or_null("string", "Where it was written; null for a preview."),
                "etag": _or_null("string"),
            }
        ),
        "Model": _object(model),
        "Run": _object(run),
        "RunStarted": _object({"id": _text()}),
        "Document": {"type": "object", "description": "As docs/results.schema.json has it."},
    }


@functools.cache
def schemas() -> dict[str, Schema]:
    return {**_bodies(), **_answers()}


def body_schema(name: str) -> Schema:
    """The JSON Schema of a request's body; those refer to no others."""
    return schemas()[name]


_DESCRIPTIONS = {
    200: "Done.",
    201: "Made.",
    202: "Begun.",
    204: "There is nothing more to come.",
    400: "The request cannot be read, or a name in it is not accepted.",
    401: "The token is missing or wrong.",
    403: "Refused: the host, the origin, or the file system.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "In conflict with what is there.",
    413: "Too large.",
    415: "Not JSON.",
    422: "Understood, and not usable.",
    500: "The history or the config cannot be read.",
}
_OF_BODIES = (400, 408, 413, 415, 422)


def _operation(
    summary: str,
    answer: Schema | None = None,
    *,
    status: int = 200,
    body: str | Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    errors: tuple[int, ...] = (),
    if_match: bool = False,
) -> Schema:
    statuses = {401, 403, *errors, *(_OF_BODIES if body else ()), *((400, 409) if if_match else ())}
    responses: Schema = {str(status): _response(status, answer)}
    for code in sorted(statuses):
        schema = _ref("Conflict") if code == 409 else _ref("Error")
        responses[str(code)] = _response(code, None if code == 204 else schema)
    shown = list(parameters)
    if if_match:
        pattern = {"type": "string", "pattern": '^"?[0-9a-f]{16}"?$'}
        shown.append({"name": "If-Match", "in": "header", "required": True, "schema": pattern})
    operation: Schema = {"summary": summary, "responses": responses}
    if shown:
        operation["parameters"] = shown
    if body:
        schema = _ref(body) if isinstance(body, str) else body
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _response(status: int, schema: Schema | None) -> Schema:
    response: Schema = {"description": _DESCRIPTIONS[status]}
    if schema is not None:
        response["content"] = {"application/json": {"schema": schema}}
    return response


def _path(name: str, example: str) -> Schema:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": example}


def _query(
    name: str, description: str, *, required: bool = False, schema: Schema | None = None
) -> Schema:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "required": required,
        "schema": schema or {"type": "string"},
    }


def _suite_paths() -> dict[str, Schema]:
    file = (_path("file", "weather.tooleval.json"),)
    case = (*file, _path("id", "whats-the-weather-in-paris"))
    found = (400, 404, 413)
    whole = (*found, 422)
    return {
        "/api/suites": {
            "get": _operation("All suites", _list(_ref("SuiteRow"))),
            "post": _operation(
                "Make a suite", _ref("Written"), status=201, body="NewSuite", errors=(404, 409)
            ),
        },
        "/api/suites/{file}": {
            "get": _operation("A suite", _ref("Suite"), parameters=file, errors=found),
            "put": _operation(
                "Replace a suite",
                _ref("Written"),
                parameters=file,
                body="SuiteContent",
                errors=found,
                if_match=True,
            ),
            "delete": _operation(
                "Delete a suite", status=204, parameters=file, errors=found, if_match=True
            ),
        },
        "/api/suites/{file}/check": {
            "post": _operation(
                "Check a suite without writing it",
                _ref("Findings"),
                parameters=file,
                body="SuiteContent",
            ),
        },
        "/api/suites/{file}/cases": {
            "get": _operation("The cases of a suite", _ref("Cases"), parameters=file, errors=whole),
            "post": _operation(
                "Add a case",
                _ref("WrittenCase"),
                status=201,
                parameters=file,
                body="NewCase",
                errors=whole,
                if_match=True,
            ),
        },
        "/api/suites/{file}/cases/{id}": {
            "put": _operation(
                "Replace a case",
                _ref("WrittenCase"),
                parameters=case,
                body="CaseContent",
                errors=whole,
                if_match=True,
            ),
            "delete": _operation(
                "Delete a case", _ref("Written"), parameters=case, errors=whole, if_match=True
            ),
        },
        "/api/tool-eval/import": {
            "post": _operation(
                "Import a suite: the body is the suite itself",
                _ref("Written"),
                status=201,
                body=_SUITE,
                errors=(409,),
            ),
        },
        "/api/import/mcp": {
            "post": _operation(
                "Import the tools of an MCP server",
                _ref("McpPreview"),
                body="McpImport",
                errors=(404, 409),
            ),
        },
    }


def _run_paths() -> dict[str, Schema]:
    run = (_path("id", "20261122-101530-3fa9c1"),)
    events = _operation("A run's events, as they happen", parameters=run, errors=(204, 404, 500))
    after = _query("after", "Only events behind the one with this id, as Last-Event-ID.")
    events["parameters"] = [*run, after]
    about = "`progress`, `result`, `summary` and `done`, each with an id and JSON as its data."
    events["responses"]["200"]["content"] = {"text/event-stream": {"schema": {"description": about}}}
    return {
        "/api/models": {
            "get": _operation(
                "The models of the config tables, and the built-in one",
                _list(_ref("Model")),
                errors=(500,),
            )
        },
        "/api/tool-eval": {
            "get": _operation(
                "The runs under way, and the last ones", _list(_ref("Run")), errors=(500,)
            ),
            "post": _operation(
                "Begin a run", _ref("RunStarted"), status=202, body="NewRun", errors=(404, 409)
            ),
        },
        "/api/tool-eval/{id}": {
            "get": _operation("A run", _ref("Run"), parameters=run, errors=(404, 500))
        },
        "/api/tool-eval/{id}/cancel": {
            "post": _operation(
                "Cancel a run", _ref("Run"), status=202, parameters=run, errors=(404, 409, 500)
            )
        },
        "/api/tool-eval/{id}/events": {"get": events},
    }


def _history_paths() -> dict[str, Schema]:
    run = (_path("id", "latest"),)
    limit = _query(
        "limit", "At most so many.", schema={"type": "integer", "minimum": 1, "maximum": 1000}
    )
    document, errors = _ref("Document"), (404, 500)
    sides = [_query(name, f"The {name} run.", required=True) for name in ("old", "new")]
    models = [_query(f"{name}_model", f"The model of the {name} run.") for name in ("old", "new")]
    whose = {"model": "model", "suite": "suite, by its name or its file", "branch": "branch"}
    filters = [_query(name, f"Only of this {each}.") for name, each in whose.items()]
    return {
        "/api/history": {
            "get": _operation(
                "The runs that were kept",
                _list({"type": "object"}),
                parameters=(limit, *filters),
                errors=(400, 500),
            )
        },
        "/api/history/trend": {
            "get": _operation(
                "A case or a suite over the runs",
                {"type": "object"},
                parameters=(_query("name", "A suite, or a case.", required=True), filters[0], limit),
                errors=(400, *errors),
            )
        },
        "/api/history/compare": {
            "get": _operation(
                "Two runs compared",
                {"type": "object"},
                parameters=(*sides, *models),
                errors=(400, 422, *errors),
            )
        },
        "/api/history/{id}": {
            "get": _operation(
                "The result document, without transcripts", document, parameters=run, errors=errors
            ),
            "delete": _operation("Delete a run", status=204, parameters=run, errors=(409, *errors)),
        },
        "/api/history/{id}/cases": {
            "get": _operation(
                "One case of a run, with its transcripts",
                {"type": "object"},
                parameters=(*run, _query("nodeid", "The node id of the case.", required=True)),
                errors=(400, *errors),
            )
        },
    }


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document, version 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "pytest-tooleval", "version": __version__},
        "security": [{"token": []}],
        "paths": {
            **_suite_paths(),
            **_run_paths(),
            **_history_paths(),
            "/api/openapi.json": {"get": _operation("This document", {"type": "object"})},
        },
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
