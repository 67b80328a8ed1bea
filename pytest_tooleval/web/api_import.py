"""`/api/import/mcp`: the tools of an MCP server, as a preview or a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ConfigError, McpError
from ..suite.fingerprints import content_of_bytes
from ..suite.source import Document
from .bodies import McpImport, read
from .responses import ApiError, json_response
from .suite_files import SuiteFolder, suite_to_text
from .suite_paths import check_name

if TYPE_CHECKING:
    from ..mcp.discover import Discovery


async def import_mcp(request: Request) -> Response:
    """Discover the tools; `file` updates that suite; `save` writes it."""
    from ..mcp.discover import discover
    from ..mcp.server import McpServer

    body = await read(request, McpImport)
    folder: SuiteFolder = request.app.state.folder
    if body.file is not None:
        check_name(body.file)
    try:
        server = McpServer.of(body.stdio, body.http, body.sse, body.headers, body.env, body.timeout)
        found = await discover(server)
    except (ConfigError, McpError) as error:
        raise ApiError(422, str(error)) from None
    answer, status = await run_in_threadpool(_imported, folder, body, found)
    return json_response(answer, status)


def _imported(folder: SuiteFolder, body: McpImport, found: Discovery) -> tuple[dict[str, Any], int]:
    from ..mcp.tools import imported, title_of

    file, before = body.file, _existing(folder, body.file)
    data = None if before is None else before.data
    try:
        made = imported(found, data, body.name or title_of(found), drafts=body.drafts)
    except ConfigError as error:
        raise ApiError(422, str(error)) from None
    etag = None
    if body.save:
        file, etag = _save(folder, file, made.suite, before)
    answer = {
        "server": {"name": found.name, "version": found.version},
        "tools": list(made.tools),
        "left_out": list(made.left_out),
        "changes": made.changes.lines() if before is not None else [],
        "suite": made.suite,
        "file": file if etag else None,
        "etag": etag,
    }
    return answer, 201 if etag and before is None else 200


def _existing(folder: SuiteFolder, file: str | None) -> Document | None:
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
    folder: SuiteFolder, file: str | None, suite: dict[str, Any], before: Document | None
) -> tuple[str, str]:
    text = suite_to_text(suite, before)
    folder.examine(text, file or "").whole()
    if file is None or before is None:
        return folder.create(file, suite["name"], text.encode())
    etag = content_of_bytes(before.text.encode())
    return file, folder.replace(file, text.encode(), etag)


ROUTES = [Route("/api/import/mcp", import_mcp, methods=["POST"])]
