"""Errors of MCP connections, explained in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING

from ..errors import McpError, ToolevalError, os_reason
from .server import McpServer
from .watch import Watch, too_large

if TYPE_CHECKING:
    from mcp import MCPError
    from pydantic import ValidationError

_WORDS = 300
_QUOTED = 3  # lines of stderr
_NAMES_ERROR = re.compile(r"error|exception|fatal|panic|not found|no such|denied|\bERR!", re.IGNORECASE)
_TOO_LONG = "byte limit"  # in the SDK's message for an event that is too large
_NOT_MCP = "this may not be the address of an MCP server"
# The SDK's messages for answers without text.
_STAND_INS = ("Server returned an error response", "Not Found", "Session terminated")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors inside an exception group, such as a task group raises."""
    members = getattr(error, "exceptions", None)
    if not isinstance(members, tuple):
        yield error
        return
    for member in members:
        yield from leaves(member)


def named_error(error: BaseException, server: McpServer, watch: Watch) -> ToolevalError:
    """The error as a ToolevalError that names the server and contains no secret."""
    causes = list(leaves(error))
    for leaf in causes:
        if isinstance(leaf, ToolevalError) and leaf is not watch.problem:
            return leaf
    if watch.problem is not None:
        return about(server, str(watch.problem))
    texts = [text for text in (_in_words(leaf, server, watch) for leaf in causes) if text]
    return about(server, texts[0] if texts else server.quote(f"{type(causes[0]).__name__}: {causes[0]}"))


def about(server: McpServer, what: str) -> McpError:
    return McpError(f"the MCP server {server.label}: {what}")


def server_timed_out(server: McpServer, watch: Watch, seconds: float) -> McpError:
    """The error for a server that took too long, or whose connection we ended."""
    if watch.problem is not None:
        return about(server, str(watch.problem))
    return about(
        server, f"no complete answer within {seconds:g} s ({server.time_limit}){_junk(server, watch)}"
    )


def _in_words(error: BaseException, server: McpServer, watch: Watch) -> str | None:
    import httpx2
    from mcp import MCPError
    from pydantic import ValidationError

    if isinstance(error, MCPError):
        return _protocol_error(error, server, watch)
    if isinstance(error, ValidationError):
        return f"an answer that breaks the protocol: {server.quote(_first(error), _WORDS)}"
    if isinstance(error, httpx2.HTTPStatusError):
        return _refused(server, error.response.status_code)
    if isinstance(error, httpx2.SSEError) and _TOO_LONG in str(error):
        return f"one message is too large to be read over SSE{_other_transport(server)}"
    if isinstance(error, httpx2.SSEError):
        message = server.quote(str(error), _WORDS).rstrip(".")
        return f"{message}; {_NOT_MCP}{_other_transport(server)}"
    if isinstance(error, httpx2.ConnectError):
        return f"no connection: {server.quote(str(error), _WORDS) or 'refused'}"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {server.timeout_s:g} s ({server.time_limit})"
    if isinstance(error, httpx2.HTTPError):
        return f"the connection broke: {server.quote(str(error) or type(error).__name__, _WORDS)}"
    if isinstance(error, OSError):
        doing = "started" if server.transport == "stdio" else "reached"
        return f"cannot be {doing}: {server.quote(os_reason(error), _WORDS)}"
    if isinstance(error, RuntimeError) and "protocol version" in str(error):
        return server.quote(str(error), _WORDS)
    return None


def _protocol_error(error: MCPError, server: McpServer, watch: Watch) -> str:
    from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT

    message = server.quote(error.message, _WORDS)
    # Servers also use this code for their own errors.
    if error.code == REQUEST_TIMEOUT and error.message.endswith(" timed out"):
        return f"no answer within {server.timeout_s:g} s ({server.time_limit}){_junk(server, watch)}"
    if watch.status is not None and watch.status >= 300:
        return _refused(server, watch.status, "" if error.message in _STAND_INS else message)
    if watch.content_type.lower().startswith("text/html"):
        return f"answers with a web page (text/html), not with MCP; {_NOT_MCP}"
    if error.code == PARSE_ERROR:
        return "an answer that is not a JSON-RPC message, or JSON nested too deeply" + _junk(
            server, watch
        )
    if error.code == CONNECTION_CLOSED and _TOO_LONG in error.message:
        return str(too_large("one message", watch.limits.message))
    if error.code == CONNECTION_CLOSED:
        ended = (
            _ended(server, watch) if server.transport == "stdio" else f"the connection ended: {message}"
        )
        return ended + _junk(server, watch)
    if error.code == METHOD_NOT_FOUND:
        return f"it does not know the method that it was asked: {message}"
    return f"it answers with the error {error.code}: {message}"


def _refused(server: McpServer, status: int, message: str = "") -> str:
    reason = f" {HTTPStatus(status).phrase}" if status in list(HTTPStatus) else ""
    text = f"HTTP {status}{reason}"
    if status in (401, 403):
        names = ", ".join(server.headers)
        sent = f"it was sent: {names}" if names else "give one with --header NAME=VARIABLE"
        text = f"{text}: the server wants other credentials ({sent})"
    elif 300 <= status < 400:
        return f"{text}: it redirects to another address, which is not followed; use that one"
    elif message:
        return f"{text}: it says: {message}"
    elif status == HTTPStatus.NOT_FOUND:
        if server.transport == "http" and server.label.endswith("/sse"):
            return f"{text}: an address that ends in /sse is an older server's: use --sse"
        return f"{text}: nothing is at this address; many servers are at /mcp, or with --sse at /sse"
    elif status in (400, 405, 406, 415):
        return f"{text}: {_NOT_MCP}{_other_transport(server)}"
    return f"{text}; it says: {message}" if message else text


def _other_transport(server: McpServer) -> str:
    other = {"http": "--sse", "sse": "--http"}.get(server.transport)
    return f"; it may speak the other transport: try {other}" if other else ""


def _ended(server: McpServer, watch: Watch) -> str:
    watch.stderr.seek(0)
    lines = [line for line in server.without_secrets(watch.stderr.read()).splitlines() if line.strip()]
    # Frames of tracebacks are indented. What follows an error may be a banner or a version.
    naming = [line for line in lines if not line[0].isspace() and _NAMES_ERROR.search(line)]
    quoted = [server.quote(line, _WORDS) for line in (naming or lines)[-_QUOTED:]]
    return "it exited before it answered; it said" + (
        f": {' | '.join(quoted)}" if quoted else " nothing on stderr"
    )


def _junk(server: McpServer, watch: Watch) -> str:
    if watch.junk is None:
        return ""
    return f"; it wrote something that is not a JSON-RPC message: {server.quote(watch.junk, _WORDS)}"


def _first(error: ValidationError) -> str:
    """The place and the reason of the first validation error."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in details[0]["loc"])
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return f"{path.lstrip('.')}: {details[0]['msg']}{more}"
