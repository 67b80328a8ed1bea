"""`/api/suites`, `/api/suite?file=NAME`, `/api/tool-eval/import`, `/api/import/mcp`: suite files."""

from __future__ import annotations

import re
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ConfigError, McpError
from ..mcp.discover import Discovery, discover
from ..mcp.server import McpServer
from ..mcp.tools import suite_with_tools, title_of
from ..suite.fingerprints import fingerprint_of_bytes
from ..suite.model import Suite
from ..suite.schema import suite_schema
from ..suite.source import SuiteSource
from .bodies import McpImport, NewSuite, SuiteText, read, read_body, taking
from .responses import ApiError, field_error, json_response, problem_dicts, required_value
from .suite_files import SuiteContent, SuiteFolder, check_name, decoded_text, suite_to_text

_ETAG = re.compile(r'"?([0-9a-f]{16})"?')


def _folder(request: Request) -> SuiteFolder:
    folder: SuiteFolder = request.app.state.folder
    return folder


def _file(request: Request) -> str:
    file = required_value(request, "file")
    check_name(file)
    return file


def _etag_header(etag: str) -> dict[str, str]:
    return {"ETag": f'"{etag}"'}


def _expected_etag(request: Request) -> str:
    """The etag in `If-Match`, required to change a file. ApiError 400 without one."""
    header = request.headers.get("if-match", "").strip()
    match = _ETAG.fullmatch(header)
    if match is None:
        message = "expected the etag of the text to change" + ("" if header else ", got none")
        raise field_error(400, "If-Match", message)
    return match[1]


def list_suites(request: Request) -> Response:
    return json_response(_folder(request).summaries())


@taking(NewSuite)
def create_suite(request: Request, body: NewSuite) -> Response:
    return _create(_folder(request), body.file, body.text)


async def import_suite(request: Request) -> Response:
    """The body is the suite. `curl -d @suite.json` sends it without line breaks, so it is formatted."""
    raw = await read_body(request)

    def create() -> Response:
        folder = _folder(request)
        _, document = folder.examine(raw, "").whole()
        return _create(folder, None, suite_to_text(document.data))

    return await run_in_threadpool(create)


def _create(folder: SuiteFolder, file: str | None, text: str) -> Response:
    if file is not None:
        check_name(file)
    examined = folder.examine(text, file or "", lint=True)
    suite, _ = examined.whole()
    file, etag = folder.create(file, suite.name, text.encode())
    return json_response(_written(file, etag, examined), 201, _etag_header(etag))


def _written(file: str, etag: str, examined: SuiteContent) -> dict[str, Any]:
    return {"file": file, "etag": etag, "warnings": problem_dicts(examined.warnings)}


def show_suite(request: Request) -> Response:
    file = _file(request)
    content = _folder(request).read(file)
    examined = _folder(request).examine(content, file, lint=True)
    etag = fingerprint_of_bytes(content)
    shown = {
        "file": file,
        "etag": etag,
        "text": decoded_text(content),
        "suite": examined.document.data if examined.document else None,
        **_findings(examined),
    }
    return json_response(shown, headers=_etag_header(etag))


def _findings(examined: SuiteContent) -> dict[str, Any]:
    return {
        "cases": _cases(examined.suite),
        "problems": problem_dicts(examined.problems),
        "warnings": problem_dicts(examined.warnings),
    }


def _cases(suite: Suite | None) -> list[dict[str, Any]]:
    """The id of each case, and its index in the file; rows make several of one."""
    cases = enumerate(suite.test_cases) if suite else ()
    return [{"id": case.id, "place": suite.place_of(index)} for index, case in cases if suite]


@taking(SuiteText)
def replace_suite(request: Request, body: SuiteText) -> Response:
    folder, file, etag = _folder(request), _file(request), _expected_etag(request)
    folder.read_seen(file, etag)  # a conflict says more than a problem of the text
    examined = folder.examine(body.text, file, lint=True)
    examined.whole()
    new_etag = folder.replace(file, body.text.encode(), etag)
    return json_response(_written(file, new_etag, examined), headers=_etag_header(new_etag))


def delete_suite(request: Request) -> Response:
    _folder(request).delete(_file(request), _expected_etag(request))
    return Response(status_code=204)


@taking(SuiteText)
def check_suite(request: Request, body: SuiteText) -> Response:
    examined = _folder(request).examine(body.text, _file(request), lint=True)
    return json_response(_findings(examined))


def show_schema(request: Request) -> Response:
    """The JSON Schema of a suite, for completion in the editor."""
    return json_response(suite_schema())


async def import_mcp(request: Request) -> Response:
    """Discover the tools; `file` updates that suite; `save` writes it."""
    body = await read(request, McpImport)
    folder: SuiteFolder = request.app.state.folder
    if body.file is not None:
        check_name(body.file)
    try:
        server = McpServer.of(body.stdio, body.http, body.sse, body.headers, body.env, body.timeout)
        discovery = await discover(server)
    except (ConfigError, McpError) as error:
        raise ApiError(422, str(error)) from None
    answer, status = await run_in_threadpool(_imported, folder, body, discovery)
    return json_response(answer, status)


def _imported(folder: SuiteFolder, body: McpImport, discovery: Discovery) -> tuple[dict[str, Any], int]:
    file, before = body.file, _existing(folder, body.file)
    data = None if before is None else before.data
    try:
        result = suite_with_tools(discovery, data, body.name or title_of(discovery), drafts=body.drafts)
    except ConfigError as error:
        raise ApiError(422, str(error)) from None
    etag = None
    if body.save:
        file, etag = _save(folder, file, result.suite, before)
    answer = {
        "server": {"name": discovery.name, "version": discovery.version},
        "tools": list(result.tools),
        "left_out": list(result.left_out),
        "changes": result.changes.lines() if before is not None else [],
        "suite": result.suite,
        "file": file if etag else None,
        "etag": etag,
    }
    return answer, 201 if etag and before is None else 200


def _existing(folder: SuiteFolder, file: str | None) -> SuiteSource | None:
    if file is None:
        return None
    try:
        content = folder.read(file)
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    return folder.examine(content, file).whole()[1]


def _save(
    folder: SuiteFolder, file: str | None, suite: dict[str, Any], before: SuiteSource | None
) -> tuple[str, str]:
    text = suite_to_text(suite, before)
    folder.examine(text, file or "").whole()
    if file is None or before is None:
        return folder.create(file, suite["name"], text.encode())
    etag = fingerprint_of_bytes(before.text.encode())
    return file, folder.replace(file, text.encode(), etag)


ROUTES = [
    Route("/api/schema", show_schema, methods=["GET"]),
    Route("/api/suites", list_suites, methods=["GET"]),
    Route("/api/suites", create_suite, methods=["POST"]),
    Route("/api/tool-eval/import", import_suite, methods=["POST"]),
    Route("/api/import/mcp", import_mcp, methods=["POST"]),
    Route("/api/suite", show_suite, methods=["GET"]),
    Route("/api/suite", replace_suite, methods=["PUT"]),
    Route("/api/suite", delete_suite, methods=["DELETE"]),
    Route("/api/suite/check", check_suite, methods=["POST"]),
]
