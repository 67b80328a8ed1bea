"""Which tools of a server a live chain may run, whatever an old list of them says."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from builders import PNG, picture

from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.errors import ModelError
from pytest_tooleval.mcp.discover import discover, tools_of_session
from pytest_tooleval.mcp.live import LiveMcp, read_tools
from pytest_tooleval.mcp.server import Answers, McpServer, Transport
from pytest_tooleval.suite.servers import McpSource

from .servers import raw_http, server_of

pytestmark = pytest.mark.slow

READS = {"readOnlyHint": True}
DESTROYS = {"destructiveHint": True}
SERVER = McpServer("stdio", ("a",))


def entry(name: str, annotations: dict[str, Any] | None = None, text: str = "-") -> dict[str, Any]:
    tool = {"name": name, "description": text, "inputSchema": {"type": "object"}}
    return tool if annotations is None else {**tool, "annotations": annotations}


def fingerprint(*entries: dict[str, Any]) -> str:
    return LiveMcp(SERVER, entries).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        entry("a/b", {**READS, **DESTROYS}),
        entry("a/b", {**READS, "idempotentHint": True}),
        entry("a/b"),
        entry("a.b", READS),
        entry("a/b", READS, "+"),
    ],
)
def test_a_fingerprint_is_of_all_that_decides_what_is_run(other: dict[str, Any]) -> None:
    assert fingerprint(entry("a/b", READS)) != fingerprint(other)
    assert fingerprint(entry("a/b")) == fingerprint(entry("a/b", {}))


def test_of_two_tools_of_one_name_the_first_decides() -> None:
    live = LiveMcp(SERVER, [entry("a", DESTROYS), entry("a", READS)])
    assert not live.has("a", ["*"])


async def good() -> tuple[McpServer, tuple[dict[str, Any], ...]]:
    """A server with get_weather, which only reads, and delete_all."""
    server = server_of("http", "good")
    return server, (await discover(server)).tools


async def run(live: LiveMcp, tool: str, allowed: list[str]) -> object:
    assert live.has(tool, allowed)
    async with live.session() as session:
        return await session.call(tool, {})


async def test_what_the_server_does_not_call_harmless_is_not_run() -> None:
    """The known list may be of a cassette, and older than the server."""
    server, (weather, delete) = await good()
    older = LiveMcp(server, [weather, {**delete, "annotations": READS}])
    with pytest.raises(ModelError, match="delete_all: is not run, because the server does not mark it"):
        await run(older, "delete_all", ["*"])
    assert await run(older, "get_weather", ["*"]) == "get_weather was run"


@pytest.mark.parametrize(
    ("answers", "answer"), [("content", "2 rows"), ("structured", '{"rows": ["a", "b"]}')]
)
async def test_a_busy_server_that_forgets_its_session(answers: Answers, answer: str) -> None:
    server = replace(raw_http("http", f"moody/{answers}"), answers=answers)
    live = LiveMcp(server, (await discover(server)).tools)
    assert await run(live, "rows", ["rows"]) == answer


async def test_what_the_server_no_longer_lists_is_not_run() -> None:
    server, (weather, delete) = await good()
    older = LiveMcp(server, [weather, {**delete, "name": "gone"}])
    with pytest.raises(ModelError, match="gone: is not run, because the server no longer has this tool"):
        await run(older, "gone", ["gone"])


async def test_where_others_are_pinned_no_tool_is_run() -> None:
    server, tools = await good()
    older = [{**tools[0], "description": "Old"}, tools[1]]
    pinned = LiveMcp(server, older, LiveMcp(server, older).fingerprint)
    with pytest.raises(ModelError, match="have changed, so none is run: pinned is "):
        await run(pinned, "get_weather", ["*"])
    assert await run(LiveMcp(server, older), "get_weather", ["*"]) == "get_weather was run"
    fitting = LiveMcp(server, tools, LiveMcp(server, tools).fingerprint)
    assert await run(fitting, "get_weather", ["*"]) == "get_weather was run"


async def test_a_session_lists_the_tools_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server, tools = await good()
    calls = []

    async def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return await tools_of_session(*arguments)

    monkeypatch.setattr("pytest_tooleval.mcp.live.tools_of_session", counted)
    async with LiveMcp(server, tools).session() as session:
        for _ in range(3):
            await session.call("get_weather", {})
    assert len(calls) == 1


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_answer_that_is_too_large(transport: Transport) -> None:
    server = server_of(transport, "good")
    live = LiveMcp(server, (await discover(server)).tools)
    with pytest.raises(ModelError, match="one message has more than 1 MiB"):
        async with live.session() as session:
            await session.call("get_weather", {"more": 1024 * 1024})


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_answer_with_a_picture(transport: Transport) -> None:
    """Which may be larger than a text."""
    server = server_of(transport, "good")
    live = LiveMcp(server, (await discover(server)).tools)
    large = base64.b64encode(base64.b64decode(PNG) + bytes(1_500_000)).decode()
    async with live.session() as session:
        for data in (PNG, large):
            shown = await session.call("get_weather", {"picture": data})
            assert shown == [{"type": "text", "text": "get_weather was run"}, picture(data)]


async def test_a_list_that_does_not_come_is_an_error() -> None:
    live = LiveMcp(server_of("http", "never", timeout_s=1), [entry("a", READS)])
    with pytest.raises(ModelError, match="within 1 s") as caught:
        await run(live, "a", ["*"])
    assert caught.value.kind == "tool_server"


def test_a_cassette_holds_no_secret_of_a_server(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_TEST_TOKEN", "hunter2-hunter2")
    source = McpSource(stdio=list(server_of("stdio", "telling").target), env=["TOOLEVAL_TEST_TOKEN"])
    path = tmp_path / "s.jsonl"
    live = read_tools(source, Cassette(path))
    assert "hunter2" not in path.read_text() + str(live.tools)
    monkeypatch.delenv("TOOLEVAL_TEST_TOKEN")
    replayed = read_tools(source, Cassette(path, may_ask=False), live.fingerprint)
    assert replayed.fingerprint == live.fingerprint
