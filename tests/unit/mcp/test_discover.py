"""Finding tools, over each transport, on servers that the SDK serves."""

from __future__ import annotations

import time
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from pytest_tooleval.errors import ConfigError, McpError
from pytest_tooleval.mcp import connect as connect_module
from pytest_tooleval.mcp.connect import connect
from pytest_tooleval.mcp.discover import MAX_PAGES, discover, discover_tools
from pytest_tooleval.mcp.server import McpServer, Transport

from .servers import TRANSPORTS, raw_stdio, server_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_tools_come_whole(transport: Transport) -> None:
    found = await discover(server_of(transport, "good"))
    assert (found.name, found.version) == ("good server", "1.0")
    weather, delete = found.tools
    assert weather == {
        "name": "get_weather",
        "description": "Get the weather in a city. It is current.",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
    }
    assert delete["name"] == "delete_all"


async def test_pages_are_followed() -> None:
    found = await discover(server_of("http", "pages"))
    assert [tool["name"] for tool in found.tools] == ["page_1", "page_2", "page_3"]


async def test_what_looks_like_a_key_is_replaced() -> None:
    (tool,) = (await discover(raw_stdio("keys"))).tools
    key, token = "sk-proj-" + "x" * 16, "Bearer " + "x" * 20
    assert tool["description"] == f"Send {token}, or {key}."
    assert tool["inputSchema"]["properties"]["city"] == {
        "type": "string",
        "examples": [token],
        "default": key,
    }


async def test_tools_that_repeat_a_secret_are_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_TEST_TOKEN", "hunter2-hunter2")
    stdio = server_of("stdio", "telling")
    found = await discover(McpServer("stdio", stdio.target, env=("TOOLEVAL_TEST_TOKEN",)))
    stand_in = "x" * 15
    assert found.tools == (
        {
            "name": "login",
            "description": f"Basic login of {stand_in}",
            "inputSchema": {
                "type": "object",
                "properties": {stand_in: {"type": "string", "default": f"key {stand_in}"}},
                "required": [stand_in],
            },
        },
    )


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("endless", f"its tools fill more than {MAX_PAGES} pages"),
        ("many", "it lists more than 5000 tools"),
        ("none", "it offers no tools"),
        ("failing", "it answers with the error -32001: the \\x1b[31mdatabase is gone"),
    ],
)
async def test_what_is_too_much_or_too_little(transport: Transport, mode: str, message: str) -> None:
    server = server_of(transport, mode)
    with pytest.raises(McpError) as caught:
        await discover(server)
    assert f"the MCP server {server.label}: {message}" in str(caught.value)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_never_answers_is_given_up(transport: Transport) -> None:
    with pytest.raises(McpError, match=r"no complete answer within 1 s \(--timeout\)"):
        await discover(server_of(transport, "never", timeout_s=1))


async def test_a_request_has_a_time_limit_of_its_own() -> None:
    assert await discover(server_of("http", "good"))  # the SDK takes long to be imported
    async with connect(server_of("http", "never", timeout_s=5)) as session:
        with pytest.raises(McpError, match=r"no answer within 5 s \(--timeout\)"):
            await session.tools_page()


async def test_the_import_of_the_sdk_takes_no_time_from_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = connect_module._client
    for limit in (1, 10, 100):  # on a busy machine an answer takes longer

        def slowly(*given: Any, seconds: float = limit + 0.5) -> Any:
            time.sleep(seconds)
            return make(*given)

        monkeypatch.setattr(connect_module, "_client", slowly)
        try:
            found = await discover(server_of("http", "good", timeout_s=limit))
        except McpError:
            continue
        break
    assert found.name == "good server"


async def test_errors_of_the_block_come_out_as_they_are() -> None:
    for transport in TRANSPORTS:
        with pytest.raises(ZeroDivisionError) as caught:
            async with connect(server_of(transport, "good")):
                raise ZeroDivisionError("mine")
        assert caught.value.__cause__ is None


async def test_one_connection_answers_several_requests_at_a_time() -> None:
    import asyncio

    async with connect(server_of("http", "pages")) as session:
        pages = await asyncio.gather(*(session.tools_page(str(number)) for number in (1, 2, 3)))
    assert [page.tools[0]["name"] for page in pages] == ["page_1", "page_2", "page_3"]
    assert [page.next for page in pages] == ["2", "3", None]


async def test_a_tool_that_breaks_the_protocol_is_left_out_by_name() -> None:
    found = await discover(raw_stdio("invalid"))
    assert [tool["name"] for tool in found.tools] == ["good", "last"]
    assert found.left_out == (
        "no schema: inputSchema: Field required",
        "tool 3: name: Field required",
    )


def test_the_plain_function_needs_no_event_loop() -> None:
    assert len(discover_tools(server_of("http", "good")).tools) == 2


def test_a_missing_sdk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(connect_module, "version", missing)
    with pytest.raises(ConfigError) as caught:
        discover_tools(server_of("stdio", "good"))
    assert str(caught.value) == "the MCP import needs an extra: pip install 'pytest-tooleval[mcp]'"


@pytest.mark.parametrize(
    ("found", "is_enough"), [("1.30.0", False), ("2.2.9", False), ("2.3.0", True), ("3.0a1", True)]
)
def test_an_old_sdk_is_refused(monkeypatch: pytest.MonkeyPatch, found: str, is_enough: bool) -> None:
    monkeypatch.setattr(connect_module, "version", lambda name: found)
    if is_enough:
        connect_module.check_sdk()
    else:
        with pytest.raises(ConfigError, match=f"needs mcp 2.3 or newer, found {found}: pip install"):
            connect_module.check_sdk()


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="the command no-such-server, which starts"):
        await discover(McpServer("stdio", ("no-such-server", "--key", "hunter2")))
