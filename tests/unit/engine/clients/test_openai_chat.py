"""Our own clients: which model takes which, addresses, keys, proxies, sizes."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from mock_server import MockServer, answer_to, http

from pytest_tooleval.engine.clients import transport
from pytest_tooleval.engine.clients.anthropic_messages import AnthropicClient
from pytest_tooleval.engine.clients.gemini import GeminiClient
from pytest_tooleval.engine.clients.litellm_client import LitellmClient
from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.clients.openai_chat import OpenAIClient
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.models.spec import LEXICAL, HttpModel
from pytest_tooleval.engine.models.table_checks import spec_from_table
from pytest_tooleval.engine.models.tables import ModelTables
from pytest_tooleval.errors import ConfigError, ModelError

from ..fakes import WEATHER
from .asking import CLAUDE, GEMINI, REQUEST, USER, ask


def spec_of(base: str, **fields: Any) -> HttpModel:
    return HttpModel("m", **{"model": "openai/mock", "api_base": base, **fields})


def completion() -> bytes:
    message = answer_to({"messages": [USER], "tools": [WEATHER]})
    return json.dumps({"choices": [{"message": message}]}).encode()


# Which client a model takes.


@pytest.mark.parametrize(
    ("table", "client"),
    [
        ({"model": "openai/m", "api_base": "http://x/v1"}, OpenAIClient),
        ({"model": "openai/m", "api_base": "http://x/v1", "api": "litellm"}, LitellmClient),
        ({"model": "openai/gpt-4o"}, OpenAIClient),
        ({"model": "gpt-5.6"}, OpenAIClient),
        ({"model": "responses/o3-pro"}, OpenAIClient),
        ({"model": "openai/gpt-4o", "api": "litellm"}, LitellmClient),
        ({"model": "azure/gpt-4o"}, LitellmClient),
        ({"model": "azure/gpt-4o", "api_key_env": "MY_API_KEY"}, LitellmClient),
        ({"model": "azure/gpt-5.6"}, LitellmClient),  # it logs in
        ({"model": "azure/gpt-5.6", "api_key_env": "MY_API_KEY"}, OpenAIClient),
        ({"model": "azure/responses/mine", "api_key_env": "MY_API_KEY"}, OpenAIClient),
        (
            {"model": "azure/gpt-5.6", "api_key_env": "MY_API_KEY", "extra": {"api_version": "x"}},
            OpenAIClient,
        ),
        (
            {"model": "azure/gpt-5.6", "api_key_env": "MY_API_KEY", "extra": {"organization": "x"}},
            LitellmClient,
        ),
        ({"model": "openai/gpt-4o", "api": "openai"}, OpenAIClient),
        ({"model": "hosted_vllm/m", "api_base": "http://x/v1"}, LitellmClient),
        ({"model": "hosted_vllm/m", "api_base": "http://x/v1", "api": "openai"}, OpenAIClient),
        ({"model": "Qwen/Qwen3-8B", "api_base": "http://x/v1", "api": "openai"}, OpenAIClient),
        ({"model": "anthropic/claude-sonnet-4-5", "api_base": "http://x"}, AnthropicClient),
        ({"model": "claude-sonnet-4-5", "extra": {"top_k": 5}}, AnthropicClient),
        ({"model": "claude-sonnet-4-5", "extra": {"response_format": {}}}, LitellmClient),
        ({"model": "gemini/gemini-2.5-flash"}, GeminiClient),
        ({"model": "gemini/gemini-2.5-flash", "api": "litellm"}, LitellmClient),
        ({"model": "gemini/gemini-2.5-flash", "extra": {"parallel_tool_calls": False}}, LitellmClient),
        ({"model": "gemini/gemma-3-27b-it"}, LitellmClient),
        ({"model": "vertex_ai/gemini-2.5-flash"}, LitellmClient),
        (
            {"model": "openai/m", "api_base": "http://x/v1", "extra": {"allowed_openai_params": ["x"]}},
            LitellmClient,
        ),
    ],
)
def test_which_client_a_table_means(table: dict[str, Any], client: type) -> None:
    spec = spec_from_table("m", ModelTables(tables={"m": table}))
    assert type(make_client(spec)) is client


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": "openai/m", "api": "opanai"}, 'api: expected "openai" or "litellm"'),
        ({"callable": "a:b", "api": "openai"}, "api: only for models that are called over the network"),
        ({"model": LEXICAL, "api": "litellm"}, "api: only for models"),
        ({"model": "anthropic/claude-sonnet-4-5", "api": "openai"}, "without api_base asks OpenAI"),
    ],
)
def test_an_api_that_cannot_be(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"models\.m") as raised:
        spec_from_table("m", ModelTables(tables={"m": table}))
    assert message in str(raised.value)


def test_the_lean_lane_does_not_import_litellm() -> None:
    code = (
        "import sys, pytest_tooleval.engine.clients.openai_chat as c\n"
        "from pytest_tooleval.engine.models.spec import HttpModel\n"
        "c.OpenAIClient(HttpModel('m', model='openai/m', api_base='http://x/v1'))\n"
        "c.known_entry('openai/gpt-4o')\n"
        "sys.exit(bool({'litellm', 'openai', 'httpx'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What is sent, and where.


# An answer in the words of all protocols.
HELLO = {
    "choices": [{"message": {"content": "Hi"}}],
    "output": [],
    "content": [],
    "candidates": [{"finishReason": "STOP"}],
}
CHAT, MESSAGES, AZURE = "/chat/completions", "/v1/messages", "/openai/v1/responses"


@pytest.mark.parametrize("by", ["table", "environment"])
@pytest.mark.parametrize(
    ("model", "variable", "ending", "path"),
    [
        ("openai/m", "OPENAI_BASE_URL", "", CHAT),
        ("openai/m", "OPENAI_BASE_URL", "/", CHAT),
        ("openai/m", "OPENAI_API_BASE", "/v1/", f"/v1{CHAT}"),
        ("openai/m", "OPENAI_API_BASE", "/deep/er/v1", f"/deep/er/v1{CHAT}"),
        ("azure/gpt-5.6", "AZURE_API_BASE", "", AZURE),
        ("azure/gpt-5.6", "AZURE_API_BASE", "/openai", AZURE),
        ("azure/responses/gpt-5.6", "AZURE_API_BASE", "/", AZURE),
        ("azure/responses/gpt-5.6", "AZURE_API_BASE", "/openai/v1/", AZURE),
        (CLAUDE, "ANTHROPIC_BASE_URL", "", MESSAGES),
        (CLAUDE, "ANTHROPIC_API_BASE", "/v1/", MESSAGES),
        (CLAUDE, "ANTHROPIC_API_BASE", "/team/v1/messages", "/team/v1/messages"),
        (GEMINI, "GEMINI_API_BASE", "/v1beta", f"/v1beta/models/{GEMINI[7:]}:generateContent"),
    ],
)
async def test_addresses_and_keys(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str, ending: str, path: str, by: str
) -> None:
    key = f"{variable.partition('_')[0]}_API_KEY"
    monkeypatch.setenv(key, "sk-mine-123456")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    paths: list[str] = []

    def respond(requested: str, body: dict[str, Any]) -> tuple[int, object]:
        paths.append(requested)
        return 200, HELLO

    with MockServer(respond=respond) as server:
        address = f"http://127.0.0.1:{server.port}{ending}"
        monkeypatch.setenv(variable, address)
        table: dict[str, Any] = {"api_base": address, "api_key_env": key} if by == "table" else {}
        await ask(HttpModel("m", model=model, **table))
    assert paths == [path]
    [headers] = server.headers
    sent = {"ANTHROPIC_API_KEY": "x-api-key", "GEMINI_API_KEY": "x-goog-api-key"}
    assert headers[sent.get(key, "authorization")].removeprefix("Bearer ") == "sk-mine-123456"
    to_openai = by == "environment" and key == "OPENAI_API_KEY"
    assert headers.get("openai-organization") == ("org-1" if to_openai else None)


async def test_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "sk-mine-123456")
    usage = {"input_tokens": 50, "output_tokens": 90}
    with MockServer(respond=lambda path, body: (200, {"output": [], "usage": usage})) as server:
        monkeypatch.setenv("AZURE_API_BASE", server.base_url)
        request = ChatRequest([USER], sampling={"api_version": "2024-10-21"})
        answer = await ask(HttpModel("m", model="azure/gpt-5.6"), request)
    assert server.bodies[0]["model"] == "gpt-5.6"
    assert "api_version" not in server.bodies[0]
    assert answer.cost_usd


@pytest.mark.parametrize(
    ("model", "where", "base"),
    [
        *(
            ("openai/m", "api_base", base)
            for base in ("127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://[::1/v1", "x y")
        ),
        ("openai/m", "OPENAI_BASE_URL", "user:hidden@gw.example/v1"),
        ("azure/gpt-5.6", "AZURE_API_BASE", ""),
        (CLAUDE, "ANTHROPIC_API_BASE", "gateway/v1"),
        (CLAUDE, "ANTHROPIC_BASE_URL", "gateway/v1"),
    ],
)
async def test_what_is_no_address_ends_the_model(
    monkeypatch: pytest.MonkeyPatch, model: str, where: str, base: str
) -> None:
    for provider in ("OPENAI", "AZURE", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-mine-123456")
    monkeypatch.setenv(where, base)
    with pytest.raises(ModelError, match=f"^{where}: expected an address") as raised:
        await ask(HttpModel("m", model=model, api_base=base if where == "api_base" else None))
    assert (raised.value.kind, raised.value.fatal) == ("bad_request", True)
    assert "hidden" not in raised.value.message


async def test_what_is_secret_in_an_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-123456")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1?code=hidden")
    with pytest.raises(ModelError, match="no connection") as raised:
        await ask(HttpModel("m", model="openai/m"))
    assert "hidden" not in raised.value.message


@pytest.mark.parametrize(
    ("model", "sent"),
    [("openai/a", "a"), ("openai/openai/a", "openai/a"), ("hosted_vllm/a", "hosted_vllm/a"), ("a", "a")],
)
async def test_only_the_prefix_openai_is_taken_off(model: str, sent: str) -> None:
    with MockServer() as server:
        await ask(spec_of(server.base_url, model=model, api="openai"))
    assert server.bodies[0]["model"] == sent


# Proxies.


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_from_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    paths: list[str] = []
    with MockServer(respond=lambda path, body: paths.append(path)) as proxy:
        monkeypatch.setenv(variable, f"127.0.0.1:{proxy.port}")
        await ask(spec_of("http://model.invalid/v1"))
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await ask(spec_of(proxy.base_url))
    assert paths == ["http://model.invalid/v1/chat/completions", "/v1/chat/completions"]


async def test_a_dead_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:secret-word@127.0.0.1:1")
    with pytest.raises(ModelError, match=r"no connection to http://model\.invalid/v1") as raised:
        await ask(spec_of("http://model.invalid/v1"))
    assert raised.value.kind == "unreachable"
    assert "secret-word" not in raised.value.message


@pytest.mark.parametrize("proxy", ["socks5://me:hidden@127.0.0.1:1", "http://[x", "http://h:99999"])
async def test_what_is_no_proxy_is_not_taken_for_the_models_address(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(ModelError, match="the proxy in the environment: expected") as raised:
        await ask(spec_of("http://model.invalid/v1"))
    assert raised.value.fatal
    assert "hidden" not in raised.value.message


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
async def test_too_few_file_handles_are_no_dead_server() -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with MockServer() as server, contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 20, limits[1]))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        with contextlib.suppress(OSError):
            while True:
                stack.enter_context(open(os.devnull))
        with pytest.raises(ModelError, match=r"open files; raise the limit with ulimit") as raised:
            await ask(spec_of(server.base_url))
    assert (raised.value.kind, raised.value.retryable) == ("handles", True)


# What comes back.


@pytest.mark.parametrize(
    ("reply", "start"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Ty", "the connection broke: ServerDisconnectedError"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
            "the connection broke: Not enough data to satisfy content length header",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "the connection broke: "),
        (b"HTTP/1.1 200 X\r\nContent-Length: x\r\n\r\n", "the connection broke: "),
    ],
)
async def test_an_answer_that_broke_off_is_told_in_words(reply: bytes, start: str) -> None:
    with MockServer(raw=reply) as server, pytest.raises(ModelError) as raised:
        await ask(spec_of(server.base_url))
    assert raised.value.message.startswith(start)
    assert raised.value.retryable
    assert "\n" not in raised.value.message


async def test_a_body_beyond_all_measure_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "BODY_BYTES", 100_000)
    bomb = gzip.compress(b" " * 10_000_000)
    for reply in (http(b" " * 200_000), http(bomb, 200, "Content-Encoding: gzip")):
        with (
            MockServer(raw=reply) as server,
            pytest.raises(ModelError, match="the answer is longer than") as raised,
        ):
            await ask(spec_of(server.base_url))
        assert (raised.value.kind, raised.value.retryable) == ("bad_response", False)


async def test_a_packed_answer() -> None:
    with MockServer(raw=http(gzip.compress(completion()), 200, "Content-Encoding: gzip")) as server:
        answer = await ask(spec_of(server.base_url))
    assert answer.message["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"choices": ',
        b'{"choices": [{"message": {"content": ' + b"9" * 5000 + b"}}]}",
    ],
)
async def test_what_is_no_json(body: bytes) -> None:
    with (
        MockServer(raw=http(body)) as server,
        pytest.raises(ModelError, match="the answer is not JSON") as raised,
    ):
        await ask(spec_of(server.base_url))
    assert (raised.value.kind, raised.value.retryable) == ("bad_response", True)


async def test_many_at_a_time_share_one_session_and_an_early_end_is_clean() -> None:
    with MockServer(together=150) as server:
        client = OpenAIClient(spec_of(server.base_url))
        await asyncio.gather(*(client.complete(REQUEST, 60.0) for _ in range(150)))
        assert server.max_in_flight == 150
        server.latency = 600.0
        lasting = asyncio.create_task(client.complete(REQUEST, 60.0))
        await asyncio.sleep(0.01)
        lasting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await lasting
        await client.close()
        await client.close()
