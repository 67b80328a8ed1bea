"""Servers that say what no server should: each is one clear error, in bounded time."""

from __future__ import annotations

import logging

import pytest

from pytest_tooleval.errors import McpError
from pytest_tooleval.mcp.discover import discover
from pytest_tooleval.mcp.server import McpServer, Transport

from .servers import raw_http, raw_stdio, server_of

pytestmark = pytest.mark.slow

SECRET = "hunter2-hunter2"
TOO_MUCH = "one message has more than 8 MiB, too much to read"


async def refused(server: McpServer) -> str:
    with pytest.raises(McpError) as caught:
        await discover(server)
    text = str(caught.value)
    assert text.startswith(f"the MCP server {server.label}: ")
    assert text.isprintable()
    return text.partition(f"{server.label}: ")[2]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("dies", "it exited before it answered; it said: out of memory"),
        (
            "all invalid",
            "none of its tools can be used; the first: no schema: inputSchema: Field required",
        ),
        ("invalid list", "an answer that breaks the protocol: tools: Input should be a valid list"),
        ("no tools", "it offers no tools"),
    ],
)
async def test_over_stdio(mode: str, message: str) -> None:
    assert (await refused(raw_stdio(mode))).startswith(message)


async def test_a_schema_of_100_megabytes() -> None:
    assert await refused(server_of("http", "huge")) == TOO_MUCH


async def test_over_stdio_without_an_end() -> None:
    assert await refused(raw_stdio("silent", timeout_s=1)) == "no complete answer within 1 s (--timeout)"


async def test_a_server_that_exits_at_once_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_TEST_TOKEN", SECRET)
    assert await refused(raw_stdio("exits", env=("TOOLEVAL_TEST_TOKEN",))) == (
        "it exited before it answered; it said: "
        "Traceback: \\x1b[31mno DATABASE_URL | the token was [secret]"
    )


async def test_the_lines_that_name_an_error_are_quoted() -> None:
    assert await refused(raw_stdio("traceback")) == (
        "it exited before it answered; it said: ModuleNotFoundError: No module named 'shop'"
    )


@pytest.mark.parametrize("mode", ["exits, cut", "junk, cut", "junk, JSON"])
async def test_no_half_of_a_secret_is_shown(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut before it is scrubbed, a secret at the place of the cut would no longer be found."""
    secret = "".join(chr(ord("a") + number % 26) for number in range(400))
    monkeypatch.setenv("TOOLEVAL_TEST_TOKEN", secret)
    text = await refused(raw_stdio(mode, env=("TOOLEVAL_TEST_TOKEN",)))
    assert text.startswith("it exited before it answered; it said")
    assert not any(secret[start : start + 6] in text for start in range(26))


async def test_a_command_gets_only_the_variables_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_TEST_TOKEN", SECRET)
    assert (await refused(raw_stdio("exits"))).endswith("the token was None")


async def test_what_is_no_message_is_shown_when_no_answer_comes() -> None:
    for limit in (2, 20, 200):  # on a busy machine it takes longer to start
        text = await refused(raw_stdio("junk", timeout_s=limit))
        if "; " in text:
            break
    assert text == (
        f"no complete answer within {limit} s (--timeout); "
        "it wrote something that is not a JSON-RPC message: \\x1b[1mListening on port 3000"
    )


@pytest.mark.parametrize("mode", ["old", "logs"])
async def test_an_old_server_and_one_that_logs_on_stdout_are_borne(mode: str) -> None:
    found = await discover(raw_stdio(mode))
    assert [tool["name"] for tool in found.tools] == ["good"]


@pytest.mark.parametrize(
    ("transport", "path", "message"),
    [
        ("http", "html", "answers with a web page (text/html), not with MCP; this may not be"),
        (
            "sse",
            "html",
            "Expected response with content type 'text/event-stream', got 'text/html'; this may",
        ),
        ("http", "not_json", "an answer that is not a JSON-RPC message"),
        ("http", "elsewhere", "HTTP 307 Temporary Redirect: it redirects to another address"),
        ("sse", "elsewhere", "HTTP 307 Temporary Redirect: it redirects to another address"),
        ("http", "cut_off", "the connection broke: "),
        ("http", "huge_json", TOO_MUCH),
        ("http", "huge_event", TOO_MUCH),
        ("sse", "huge_event", "one message is too large to be read over SSE; it may speak"),
        ("http", "comments", "what it sent has more than 64 MiB"),
        ("sse", "comments", "what it sent has more than 64 MiB"),
        ("http", "bomb", "sends compressed answers, which it was asked not to do"),
        ("sse", "bomb", "sends compressed answers, which it was asked not to do"),
        (
            "http",
            "status/404",
            "HTTP 404 Not Found: nothing is at this address; many servers are at /mcp",
        ),
        ("sse", "status/404", "HTTP 404 Not Found: nothing is at this address"),
        ("http", "status/404/sse", "HTTP 404 Not Found: an address that ends in /sse is an older"),
        ("http", "status/405", "HTTP 405 Method Not Allowed: this may not be the address"),
        ("http", "status/500", "HTTP 500 Internal Server Error"),
        ("sse", "status/500", "HTTP 500 Internal Server Error"),
        (
            "http",
            "status/401",
            "HTTP 401 Unauthorized: the server wants other credentials (give one with --header",
        ),
        (
            "sse",
            "status/403",
            "HTTP 403 Forbidden: the server wants other credentials (give one with --header",
        ),
    ],
)
async def test_over_http(transport: Transport, path: str, message: str) -> None:
    assert (await refused(raw_http(transport, path))).startswith(message)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_an_endpoint_that_never_answers(transport: Transport) -> None:
    assert (
        await refused(raw_http(transport, "silent", timeout_s=1))
        == "no complete answer within 1 s (--timeout)"
    )


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_the_other_transport_is_suggested(transport: Transport) -> None:
    other: Transport = "sse" if transport == "http" else "http"
    server = McpServer(transport, server_of(other, "good").target)
    assert f"it may speak the other transport: try --{other}" in await refused(server)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_no_connection(transport: Transport) -> None:
    assert (await refused(McpServer(transport, ("http://127.0.0.1:1/mcp",)))).startswith(
        "no connection: "
    )
    nowhere = McpServer(transport, ("http://no-such-host.invalid/mcp",))
    assert (await refused(nowhere)).startswith("no connection: ")


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("path", ["status/401", "refused_in_words", "not_json"])
async def test_values_of_headers_are_never_shown(
    transport: Transport, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_TOKEN", f"Bearer {SECRET}")
    monkeypatch.setenv("MY_KEY", SECRET)
    server = McpServer(
        transport,
        raw_http(transport, path).target,
        headers={"Authorization": "MY_TOKEN", "X-Key": "MY_KEY"},
    )
    with caplog.at_level(logging.DEBUG):
        text = await refused(server)
    assert SECRET not in text
    assert SECRET not in caplog.text or path == "refused_in_words"  # said by the server itself
    if path == "status/401":
        assert text.endswith("(it was sent: Authorization, X-Key)")
    if (transport, path) == ("http", "refused_in_words"):
        assert text.endswith("it says: wrong key [secret]")


async def test_headers_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "planted-123")
    target = raw_http("http", "refused_in_words").target
    text = await refused(McpServer("http", target, headers={"X-Key": "MY_KEY"}))
    assert "wrong key [secret]" in text  # the value came back, so it was sent


async def test_the_sdk_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    await refused(raw_stdio("dies"))
    await refused(raw_http("http", "not_json"))
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
