"""An MCP server with the faults that a client has to bear, over every transport.

    python server.py stdio MODE
    python server.py http FILE      serves /MODE/mcp and /MODE/sse for every mode, and /raw/...,
                                    on a free port, which it writes into the file

The modes of `LISTINGS` are served by the SDK. The routes under /raw say what the SDK would refuse to
say; over stdio, `raw_server.py` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

MEGABYTE = 1024 * 1024
HUGE = 100 * MEGABYTE
TOKEN = os.environ.get("TOOLEVAL_TEST_TOKEN", "nothing")
Listing = Callable[[str | None], Awaitable[types.ListToolsResult]]

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "children"],
        }
    },
}
NAMES = (
    "files/read.all",
    "../../etc/passwd",
    "\x1b[2J\x1b[31mred",
    "günstig wählen",
    "天気",
    "9lives",
    "a" * 65,
    "a" * 64 + "b",
    "Fetch",
    "fetch",
)


def tool(name: str, schema: dict[str, Any] | None = None, description: str | None = None) -> types.Tool:
    return types.Tool(name=name, description=description, input_schema=schema or CITY)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def listing(*tools: types.Tool) -> Listing:
    async def answer(cursor: str | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools))

    return answer


async def three_pages(cursor: str | None) -> types.ListToolsResult:
    number = int(cursor or "1")
    following = str(number + 1) if number < 3 else None
    return types.ListToolsResult(tools=[tool(f"page_{number}")], next_cursor=following)


async def endless(cursor: str | None) -> types.ListToolsResult:
    number = int(cursor or "1")
    return types.ListToolsResult(tools=[tool(f"t{number}")], next_cursor=str(number + 1))


async def never(cursor: str | None) -> types.ListToolsResult:
    await asyncio.sleep(3600)
    raise AssertionError


async def failing(cursor: str | None) -> types.ListToolsResult:
    from mcp import MCPError

    raise MCPError(-32001, f"the \x1b[31mdatabase\nis gone, and the token is {TOKEN}")


async def many(cursor: str | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[tool(f"t{number}") for number in range(6000)])


async def huge(cursor: str | None) -> types.ListToolsResult:
    schema = {**CITY, "description": "x" * HUGE}
    return types.ListToolsResult(tools=[tool("huge", schema)])


async def large(cursor: str | None) -> types.ListToolsResult:
    """Larger than what the SSE transport of the SDK takes, smaller than our own limit."""
    return types.ListToolsResult(tools=[tool("large", {**CITY, "description": "x" * (2 * MEGABYTE)})])


LISTINGS: dict[str, Listing] = {
    "good": listing(
        types.Tool(
            name="get_weather",
            description="Get the weather in a city. It is current.",
            input_schema=CITY,
            annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False),
        ),
        tool("delete_all", {"type": "object", "properties": {}}, "Delete everything"),
    ),
    "pages": three_pages,
    "endless": endless,
    "never": never,
    "failing": failing,
    "many": many,
    "huge": huge,
    "large": large,
    "recursive": listing(tool("tree", TREE, "Build a tree"), tool("self", {**CITY, "$ref": "#"})),
    "names": listing(*(tool(name) for name in NAMES)),
    "escapes": listing(tool("esc", CITY, "Reads\x1b[31m red\x07.\u202e Then more.\x9b2J")),
    "duplicates": listing(tool("twice"), tool("once"), tool("twice", nested(1)), tool("once")),
    "unusable": listing(
        tool("good"),
        tool("deep", nested(60)),
        tool("types", {"type": "object", "properties": {"a": {"type": "float"}}}),
        tool("nan", {**CITY, "default": float("inf")}),
        tool("lost", {**CITY, "properties": {"city": {"$ref": "#/$defs/none"}}}),
    ),
    "telling": listing(
        tool(
            "login",
            {
                "type": "object",
                "properties": {TOKEN: {"type": "string", "default": f"key {TOKEN}"}},
                "required": [TOKEN],
            },
            f"Basic login of {TOKEN}",
        )
    ),
    "none": listing(),
}


def server(mode: str) -> Server[Any]:
    async def on_list_tools(
        ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return await LISTINGS[mode](params.cursor if params else None)

    async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = f"{params.name} was run" + "!" * int((params.arguments or {}).get("more", 0))
        content: list[Any] = [types.TextContent(text=text)]
        if data := (params.arguments or {}).get("picture"):
            content.append(types.ImageContent(data=data, mime_type="image/png"))
        return types.CallToolResult(content=content)

    name = "\x1b[31m../evil\nserver" if mode == "escapes" else f"{mode} server"
    return Server(name, version="1.0", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


async def run_stdio(mode: str) -> None:
    async with stdio_server() as (reading, writing):
        made = server(mode)
        await made.run(reading, writing, made.create_initialization_options())


# What the SDK would not say, over HTTP


async def html(request: Request) -> Response:
    return Response("<html><title>Welcome to nginx</title></html>", media_type="text/html")


async def not_json(request: Request) -> Response:
    return Response("it works!", media_type="application/json")


async def status(request: Request) -> Response:
    secret = request.headers.get("authorization", "")
    return PlainTextResponse(f"no: {secret}", status_code=int(request.path_params["code"]))


async def refused_in_words(request: Request) -> Response:
    body = await request.json()
    secret = request.headers.get("x-key", "")
    error = {"code": -32000, "message": f"wrong key {secret}"}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "error": error}),
        status_code=400,
        media_type="application/json",
    )


async def elsewhere(request: Request) -> Response:
    return RedirectResponse("http://localhost:9/mcp", status_code=307)


async def silent(request: Request) -> Response:
    await asyncio.sleep(3600)
    return Response()


async def megabytes() -> AsyncIterator[bytes]:
    yield b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "'
    for _ in range(HUGE // MEGABYTE):
        yield b"x" * MEGABYTE
    yield b'"}}'


async def huge_json(request: Request) -> Response:
    return StreamingResponse(megabytes(), media_type="application/json")


async def huge_event(request: Request) -> Response:
    async def events() -> AsyncIterator[bytes]:
        yield b"event: message\ndata: "
        async for chunk in megabytes():
            yield chunk

    return StreamingResponse(events(), media_type="text/event-stream")


async def comments(request: Request) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        for _ in range(2 * HUGE // MEGABYTE):
            yield b": keep alive\n" * 80_000
            await asyncio.sleep(0)

    return StreamingResponse(lines(), media_type="text/event-stream")


async def bomb(request: Request) -> Response:
    packed = gzip.compress(b"x" * HUGE)
    return Response(packed, media_type="application/json", headers={"content-encoding": "gzip"})


async def cut_off(request: Request) -> Response:
    async def half() -> AsyncIterator[bytes]:
        yield b'{"jsonrpc": "2.0", '
        raise ConnectionError

    return StreamingResponse(half(), media_type="application/json")


_ASKED: Counter[tuple[str, str]] = Counter()


async def moody(request: Request) -> Response:
    """Too busy for each first request, and forgets the session at the first call."""
    if request.method != "POST":
        return Response(status_code=405)
    asked, name = await request.json(), request.path_params["name"]
    method = asked["method"]
    _ASKED[name, method] += 1
    if method == "initialize" and _ASKED[name, method] == 1:
        return Response(status_code=503, headers={"retry-after": "0"})
    if "id" not in asked:
        return Response(status_code=202)
    if method == "tools/call" and _ASKED[name, method] == 1:
        return Response(status_code=404)
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": asked.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "moody", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "rows", "inputSchema": {"type": "object"}}]},
        "tools/call": {
            "content": [{"type": "text", "text": "2 rows"}],
            "structuredContent": {"rows": ["a", "b"]},
        },
    }
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": results[method]}
    return Response(
        json.dumps(answer),
        media_type="application/json",
        headers={"mcp-session-id": f"{_ASKED.total()}"},
    )


RAW = {
    "html": html,
    "not_json": not_json,
    "refused_in_words": refused_in_words,
    "elsewhere": elsewhere,
    "silent": silent,
    "huge_json": huge_json,
    "huge_event": huge_event,
    "comments": comments,
    "bomb": bomb,
    "cut_off": cut_off,
}


def http_app() -> Starlette:
    methods = ["GET", "POST"]
    routes: list[Any] = [
        Route(f"/raw/{name}", handler, methods=methods) for name, handler in RAW.items()
    ]
    routes.append(Route("/raw/status/{code}", status, methods=methods))
    routes.append(Route("/raw/moody/{name}", moody, methods=[*methods, "DELETE"]))
    servers = {mode: server(mode) for mode in LISTINGS}
    for mode, made in servers.items():
        routes.append(Mount(f"/{mode}/http", made.streamable_http_app()))
        routes += sse_routes(mode, made)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for made in servers.values():
                await stack.enter_async_context(made.session_manager.run())
            yield

    return Starlette(routes=routes, lifespan=lifespan)


def sse_routes(mode: str, made: Server[Any]) -> list[Any]:
    transport = SseServerTransport(f"/{mode}/messages/")

    async def connect(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await made.run(streams[0], streams[1], made.create_initialization_options())
        return Response()

    return [
        Route(f"/{mode}/sse", connect),
        Mount(f"/{mode}/messages/", app=transport.handle_post_message),
    ]


def _end_with_starter() -> None:
    sys.stdin.read()
    os._exit(0)


def main(kind: str, argument: str) -> None:
    if kind == "http":
        import uvicorn

        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer waits 40 ms
            Path(argument).write_text(str(listening.getsockname()[1]))
            threading.Thread(target=_end_with_starter, daemon=True).start()
            server = uvicorn.Server(uvicorn.Config(http_app(), log_level="critical"))
            server.run([listening])
        return
    if argument == "good":
        print("Starting up", flush=True)  # as many servers do, though stdout is not for it
    anyio.run(run_stdio, argument)


if __name__ == "__main__":
    main(*sys.argv[1:3])
