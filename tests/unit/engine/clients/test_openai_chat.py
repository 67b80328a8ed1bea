"""our own client by itself: addresses, keys, proxies, certificates, sizes."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer
from mock_server import answer_to

from pytest_tooleval.engine.asking import make_client
from pytest_tooleval.engine.asking import sampling_for
from pytest_tooleval.engine.clients import http_client
from pytest_tooleval.engine.clients.anthropic_messages import AnthropicClient
from pytest_tooleval.engine.clients.base import ChatAnswer
from pytest_tooleval.engine.clients.base import ChatRequest
from pytest_tooleval.engine.clients.gemini import GeminiClient
from pytest_tooleval.engine.clients.litellm_client import LitellmClient
from pytest_tooleval.engine.clients.openai_chat import OpenAIClient
from pytest_tooleval.engine.models.spec import LEXICAL
from pytest_tooleval.engine.models.spec import ModelSpec
from pytest_tooleval.engine.models.tables import ModelTables
from pytest_tooleval.engine.models.tables import spec_from_table
from pytest_tooleval.errors import ConfigError
from pytest_tooleval.errors import ModelError

from ..fakes import WEATHER
from ..fakes import case_of

MESSAGES = [{"role": "user", "content": "What's the weather in Paris?"}]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY OPENAI_BASE_URL OPENAI_API_BASE OPENAI_API_KEY"
    for name in [*names.split(), *names.lower().split(), "OPENAI_ORGANIZATION", "SSL_CERT_FILE"]:
        monkeypatch.delenv(name, raising=False)


def request(**sampling: Any) -> ChatRequest:
    return ChatRequest(MESSAGES, [WEATHER], "required", sampling)


async def ask(spec: ModelSpec, question: ChatRequest | None = None) -> ChatAnswer:
    client = OpenAIClient(spec)
    try:
        return await client.complete(question or request(), 60.0)
    finally:
        await client.close()


def spec_of(base: str, **fields: Any) -> ModelSpec:
    return ModelSpec("m", **{"model": "openai/mock", "api_base": base, **fields})


@asynccontextmanager
async def raw_server(reply: bytes, **options: Any) -> AsyncIterator[int]:
    """A server that answers every request with these bytes; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(reply)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **options)
    async with server:
        yield server.sockets[0].getsockname()[1]


def http(body: bytes, status: int = 200, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def completion() -> bytes:
    message = answer_to({"messages": MESSAGES, "tools": [WEATHER]})
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
        "from pytest_tooleval.engine.models.spec import ModelSpec\n"
        "c.OpenAIClient(ModelSpec('m', model='openai/m', api_base='http://x/v1'))\n"
        "c.openai_price('gpt-4o')\n"
        "sys.exit(bool({'litellm', 'openai', 'httpx'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What is sent, and where.


@pytest.mark.parametrize("ending", ["/v1", "/v1/", "", "/", "/deep/er/v1"])
async def test_the_address_is_api_base_as_given(ending: str) -> None:
    paths: list[str] = []
    with MockServer(respond=lambda path, body: paths.append(path)) as server:
        await ask(spec_of(server.base_url.removesuffix("/v1") + ending))
    assert paths == [ending.rstrip("/") + "/chat/completions"]


@pytest.mark.parametrize(
    ("model", "sent"),
    [("openai/a", "a"), ("openai/openai/a", "openai/a"), ("hosted_vllm/a", "hosted_vllm/a"), ("a", "a")],
)
async def test_only_the_prefix_openai_is_taken_off(model: str, sent: str) -> None:
    with MockServer() as server:
        await ask(spec_of(server.base_url, model=model))
    assert server.bodies[0]["model"] == sent


async def test_parameters_go_into_the_body_as_given() -> None:
    extra = {
        "seed": 7,
        "reasoning_effort": "low",
        "extra_body": {"top_k": 5},
        "extra_headers": {"X-Team": "tools"},
    }
    with MockServer() as server:
        spec = spec_of(server.base_url, extra=extra)
        await ask(spec, request(**sampling_for(spec, case_of())))
    (body,), (headers,) = server.bodies, server.headers
    assert {k: v for k, v in body.items() if k not in ("model", "messages", "tools", "tool_choice")} == {
        "temperature": 0.0,
        "seed": 7,
        "reasoning_effort": "low",
        "top_k": 5,
    }
    assert headers["x-team"] == "tools"


async def test_lone_surrogates_are_replaced() -> None:
    question = ChatRequest([*MESSAGES, {"role": "assistant", "content": "\ud800 ü"}])
    with MockServer() as server:
        await ask(spec_of(server.base_url), question)
    assert server.bodies[0]["messages"][1]["content"] == "? ü"


async def test_without_api_base_the_environment_says_where_and_with_which_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-123456")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    with MockServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        await ask(ModelSpec("m", model="openai/gpt-4o", api="openai"))
    assert server.headers[0]["authorization"] == "Bearer sk-mine-123456"
    assert server.headers[0]["openai-organization"] == "org-1"


async def test_without_api_base_a_missing_key_is_said_before_anything_is_sent() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set") as raised:
        await ask(ModelSpec("m", model="openai/gpt-4o", api="openai"))
    assert (raised.value.kind, raised.value.fatal) == ("credentials", True)


async def test_no_header_of_the_users_goes_to_a_foreign_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-123456")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    with MockServer() as server:
        await ask(spec_of(server.base_url))
    assert not {"authorization", "openai-organization"} & set(server.headers[0])


async def test_a_key_that_is_wanted_and_not_named_is_explained() -> None:
    with MockServer(faults={"401": 1}) as server, pytest.raises(ModelError, match="api_key_env"):
        await ask(spec_of(server.base_url))


async def test_an_address_in_the_environment_is_shown_without_what_is_secret_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = ModelSpec("m", model="openai/m", api="openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    for base in ("user:hidden@gw.example/v1", "http://127.0.0.1:1/v1?code=hidden"):
        monkeypatch.setenv("OPENAI_BASE_URL", base)
        with pytest.raises(ModelError) as raised:
            await ask(spec)
        assert "hidden" not in raised.value.message


@pytest.mark.parametrize("base", ["127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://[::1/v1", "x y"])
async def test_an_api_base_that_is_no_address_ends_the_model(base: str) -> None:
    with pytest.raises(ModelError, match="api_base") as raised:
        await ask(spec_of(base))
    assert (raised.value.kind, raised.value.fatal) == ("bad_request", True)


# Proxies and certificates.


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_from_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    paths: list[str] = []
    with MockServer(respond=lambda path, body: paths.append(path)) as proxy:
        monkeypatch.setenv(variable, f"127.0.0.1:{proxy.port}")
        await ask(spec_of("http://model.invalid/v1"))
    assert paths == ["http://model.invalid/v1/chat/completions"]


async def test_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockServer() as server:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await ask(spec_of(server.base_url))
        assert server.answered == 1


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


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Ty", "the connection broke: ServerDisconnectedError"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
            "the connection broke: Not enough data to satisfy content length header",
        ),
    ],
)
async def test_an_answer_that_broke_off_is_told_in_words(reply: bytes, said: str) -> None:
    async with raw_server(reply) as port:
        with pytest.raises(ModelError) as raised:
            await ask(spec_of(f"http://127.0.0.1:{port}/v1"))
    assert raised.value.message.startswith(said)


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


async def test_certificates_are_verified_and_ssl_cert_file_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with raw_server(http(completion()), ssl=context) as port:
        spec = spec_of(f"https://127.0.0.1:{port}/v1")
        with pytest.raises(ModelError, match="certificate verify failed") as raised:
            await ask(spec)
        assert raised.value.kind == "unreachable"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await ask(spec)).message["tool_calls"]
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.txt"))
        (tmp_path / "cert.txt").write_text("nothing", encoding="ascii")
        with pytest.raises(ModelError, match=r"SSL_CERT_FILE: .*cert\.txt"):
            await ask(spec)


# What comes back.


async def test_a_body_beyond_all_measure_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MOST_BYTES", 100_000)
    bomb = gzip.compress(b" " * 10_000_000)
    for reply in (http(b" " * 200_000), http(bomb, 200, "Content-Encoding: gzip")):
        async with raw_server(reply) as port:
            with pytest.raises(ModelError, match="the answer is longer than") as raised:
                await ask(spec_of(f"http://127.0.0.1:{port}/v1"))
        assert (raised.value.kind, raised.value.retryable) == ("bad_response", False)


async def test_a_packed_answer() -> None:
    async with raw_server(http(gzip.compress(completion()), 200, "Content-Encoding: gzip")) as port:
        answer = await ask(spec_of(f"http://127.0.0.1:{port}/v1"))
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
    async with raw_server(http(body)) as port:
        with pytest.raises(ModelError, match="the answer is not JSON") as raised:
            await ask(spec_of(f"http://127.0.0.1:{port}/v1"))
    assert (raised.value.kind, raised.value.retryable) == ("bad_response", True)


async def test_unclean_http() -> None:
    for reply in (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 X\r\nContent-Length: x\r\n\r\n"):
        async with raw_server(reply) as port:
            with pytest.raises(ModelError) as raised:
                await ask(spec_of(f"http://127.0.0.1:{port}/v1"))
        assert raised.value.retryable
        assert "\n" not in raised.value.message


async def test_many_at_a_time_share_one_session_and_an_early_end_is_clean() -> None:
    with MockServer(latency=1.0) as server:
        client = OpenAIClient(spec_of(server.base_url))
        await asyncio.gather(*(client.complete(request(seed=n), 60.0) for n in range(150)))
        assert server.max_in_flight == 150
        lasting = asyncio.create_task(client.complete(request(), 60.0))
        await asyncio.sleep(0.01)
        lasting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await lasting
        await client.close()
        await client.close()
