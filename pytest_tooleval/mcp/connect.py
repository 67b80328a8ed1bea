"""A connection to an MCP server over any transport."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .. import __version__
from ..errors import ConfigError, McpError
from ..record.images import Content, has_images, image_part, url_of
from ..record.transcript import text_of
from ..record.untrusted import as_text
from ..text import printable, shorten
from .explain import about, leaves, named_error, server_timed_out
from .process_group import process_group
from .server import McpServer
from .watch import LISTING, ByteLimits, Watch, too_large

if TYPE_CHECKING:
    from mcp import Client
    from pydantic import ValidationError

NEEDED = (2, 3)  # older SDKs send headers to redirect targets, and read events of any size

_MOST_TEXT = 1024 * 1024  # of one answer, which every later request repeats
_SILENT = logging.NullHandler()

T = TypeVar("T")


class Session:
    """An open connection. Requests may run concurrently."""

    def __init__(self, client: Client, server: McpServer, watch: Watch) -> None:
        self._client = client
        self._server = server
        self._watch = watch

    @property
    def name_and_version(self) -> tuple[str, str]:
        """As the server gives them; empty if it gives none."""
        info = self._client.server_info
        return (info.name, info.version) if info is not None else ("", "")

    @property
    def has_expired(self) -> bool:
        """Whether the server no longer knows this session: by the protocol, it then says 404."""
        return self._watch.status == HTTPStatus.NOT_FOUND

    @property
    def offers_tools(self) -> bool:
        return self._client.server_capabilities.tools is not None

    async def tools_page(self, cursor: str | None = None) -> Page:
        """One page of tools, without those that break the protocol. Raises McpError."""
        from pydantic import ValidationError

        try:
            page = await self._asked(self._client.list_tools(cursor=cursor))
        except McpError as error:
            if isinstance(error.__context__, ValidationError) and (
                rest := _usable(error.__context__, self._watch)
            ):
                return rest
            raise
        tools = [tool.model_dump(by_alias=True, exclude_unset=True) for tool in page.tools]
        return Page(tools, (), page.next_cursor)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Content:
        """A tool's answer, even if the tool reports an error."""
        result = await self._asked(self._client.call_tool(tool, dict(arguments)))
        data = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        blocks = data.get("content") or ()
        if self._server.answers == "structured" and "structuredContent" in data:
            blocks = ()
        content = content_of(blocks, data.get("structuredContent"))
        text = len(text_of({"content": content}))
        images = 0 if isinstance(content, str) else sum(len(url_of(part)) for part in content)
        # Over stdio, the SDK reads any length.
        for size, most in ((text, _MOST_TEXT), (images, self._watch.limits.message)):
            if size > most:
                raise about(self._server, str(too_large("one message", most)))
        return content

    async def _asked(self, answer: Awaitable[T]) -> T:
        """The answer to a request. Raises McpError if there is no usable answer."""
        import anyio.lowlevel
        from mcp import MCPError
        from pydantic import ValidationError

        try:
            return await answer
        except (MCPError, ValidationError) as error:
            # If the connection broke, this task is cancelled, and the cause is the better error.
            await anyio.lowlevel.checkpoint()
            raise named_error(error, self._server, self._watch) from None


class Page(NamedTuple):
    """Tools in the protocol's form (`name`, `inputSchema`, `annotations`, ...).

    `left_out` has the name of each tool that breaks the protocol, and the reason. `next` is the next
    page's cursor, None on the last page.
    """

    tools: list[dict[str, Any]]
    left_out: Sequence[tuple[str, str]]
    next: str | None


def _usable(error: ValidationError, watch: Watch) -> Page | None:
    """The page without the tools that the error is about; None if it is about anything else."""
    listing = watch.listing or {}
    entries = listing.get("tools")
    reasons: dict[int, str] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        loc = detail["loc"]
        if len(loc) < 2 or loc[0] != "tools" or not isinstance(loc[1], int):
            return None
        where = ".".join(map(str, loc[2:]))
        reasons.setdefault(loc[1], f"{where}: {detail['msg']}" if where else detail["msg"])
    if not isinstance(entries, list) or max(reasons, default=0) >= len(entries):
        return None
    cursor = listing.get("nextCursor")
    return Page(
        [entry for index, entry in enumerate(entries) if index not in reasons],
        [(_name_of(entries[index], index), reason) for index, reason in sorted(reasons.items())],
        cursor if isinstance(cursor, str) else None,
    )


def _name_of(entry: object, index: int) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else f"tool {index + 1}"


class _NotingStream:
    """A stream of messages that notes the last list of tools."""

    def __init__(self, stream: Any, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _NotingStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> _NotingStream:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        result = getattr(getattr(item, "message", None), "result", None)
        if isinstance(result, dict) and "tools" in result:
            self._watch.listing = result
        return item


def content_of(blocks: Sequence[Mapping[str, Any]], structured: object) -> Content:
    """A tool's answer: texts on separate lines, or parts if there are images that models take.

    Other contents are JSON without their bytes.
    """
    if not blocks and structured is not None:
        return json.dumps(structured, ensure_ascii=False)
    parts = [*map(_part, blocks)]
    return parts if has_images(parts) else "\n".join(part["text"] for part in parts)


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"type": "text", "text": str(block["text"])}
    if block.get("type") == "image":
        with contextlib.suppress(ValueError):
            return image_part(as_text(block.get("data")))
    rest = {name: value for name, value in block.items() if name not in ("data", "blob")}
    return {"type": "text", "text": json.dumps(rest)}


@asynccontextmanager
async def connect(
    server: McpServer, limits: ByteLimits = LISTING, within_s: float = math.inf
) -> AsyncIterator[Session]:
    """Connect, and end the connection or the server's process when the block ends.

    The server's `timeout_s` applies to the handshake and to each request, `within_s` to the whole block.
    Raises McpError if the server cannot be reached, breaks off or is too slow, and ConfigError if the
    SDK or a variable is missing. Errors of the block itself stay unchanged.
    """
    check_sdk()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        async with _connected(server, Watch(limits, stderr), within_s) as session:
            yield session


@asynccontextmanager
async def _connected(server: McpServer, watch: Watch, within_s: float) -> AsyncIterator[Session]:
    import anyio

    raised: BaseException | None = None
    scope = anyio.CancelScope()
    watch.give_up = scope.cancel
    try:
        connection = _client(server, watch)  # importing the SDK must not count towards the server's time
        start, limit_s = anyio.current_time(), min(server.timeout_s, within_s)
        scope.deadline = start + limit_s
        with scope:
            async with connection as client:
                limit_s = within_s
                scope.deadline = start + limit_s
                try:
                    yield Session(client, server, watch)
                except BaseException as error:
                    raised = error
                    raise
    except Exception as error:
        if raised is not None and any(leaf is raised for leaf in leaves(error)):
            raise raised from raised.__cause__
        raise named_error(error, server, watch) from None
    if scope.cancelled_caught:
        raise server_timed_out(server, watch, limit_s)


def check_sdk() -> None:
    """Raise ConfigError if the SDK is missing or too old."""
    install = "pip install 'pytest-tooleval[mcp]'"
    try:
        installed = version("mcp")
    except PackageNotFoundError:
        raise ConfigError(f"the MCP import needs an extra: {install}") from None
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    if numbers < NEEDED:
        needed = ".".join(map(str, NEEDED))
        raise ConfigError(f"the MCP import needs mcp {needed} or newer, found {installed}: {install}")
    # Without a handler, Python would print the SDK's log messages, including tracebacks.
    logging.getLogger("mcp").addHandler(_SILENT)


def _client(server: McpServer, watch: Watch) -> Client:
    from mcp import Client
    from mcp_types import Implementation

    async def handle(message: object) -> None:
        if isinstance(message, Exception):
            _note_junk(message, watch)

    transports = {"stdio": _stdio, "http": _http, "sse": _sse}

    @asynccontextmanager
    async def noted() -> AsyncIterator[Any]:
        async with transports[server.transport](server, watch) as (received, sent):
            yield _NotingStream(received, watch), sent

    return Client(
        noted(),
        read_timeout_seconds=server.timeout_s,
        message_handler=handle,
        client_info=Implementation(name="pytest-tooleval", version=__version__),
        cache=None,
    )


def _note_junk(error: Exception, watch: Watch) -> None:
    """Record output that is not a message, such as a log line on stdout."""
    from pydantic import ValidationError

    if watch.junk is None and isinstance(error, ValidationError):
        # Not the error's text, which cuts out the middle of the input, and perhaps half of a secret.
        watch.junk = str(error.errors(include_url=False, include_context=False)[0]["input"])
    elif watch.junk is None:
        watch.junk = str(error)


def _stdio(server: McpServer, watch: Watch) -> AbstractAsyncContextManager[Any]:
    command = shutil.which(server.target[0])
    if command is None:
        name = printable(shorten(server.target[0]))
        raise ConfigError(f"the command {name}, which starts the MCP server, was not found")
    return _process([command, *server.target[1:]], server.env_values(), watch)


@asynccontextmanager
async def _process(
    command: Sequence[str], variables: dict[str, str], watch: Watch
) -> AsyncIterator[Any]:
    """A server's process, which gets these variables and the SDK's safe ones. Ends its whole group."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async with process_group(command) as (first, *more):
        process = StdioServerParameters(command=first, args=more, env=variables)
        async with stdio_client(process, errlog=watch.stderr) as streams:
            yield streams


@asynccontextmanager
async def _http(server: McpServer, watch: Watch) -> AsyncIterator[Any]:
    from mcp.client.streamable_http import streamable_http_client

    from .bounded_http import http_client

    limit = watch.limits.message
    async with (
        http_client(server.header_values(), server.timeout_s, watch) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


def _sse(server: McpServer, watch: Watch) -> AbstractAsyncContextManager[Any]:
    from mcp.client.sse import sse_client

    from .bounded_http import http_client

    def make(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
        return http_client(headers or {}, server.timeout_s, watch)

    return sse_client(server.url, headers=server.header_values(), httpx_client_factory=make)
