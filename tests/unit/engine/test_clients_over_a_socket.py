"""Both clients for OpenAI's protocol against a faulty server: what each fault becomes."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from mock_server import MockServer
from mock_server import call_message

from pytest_tooleval.engine.asking import sampling_for
from pytest_tooleval.engine.clients.base import MOST_BYTES
from pytest_tooleval.engine.clients.base import ChatAnswer
from pytest_tooleval.engine.clients.base import ChatClient
from pytest_tooleval.engine.clients.base import ChatRequest
from pytest_tooleval.engine.clients.litellm_client import LitellmClient
from pytest_tooleval.engine.clients.openai_chat import OpenAIClient
from pytest_tooleval.engine.conversation import converse
from pytest_tooleval.engine.fallbacks import ParameterRefused
from pytest_tooleval.engine.models.spec import ModelSpec
from pytest_tooleval.engine.reply import read_reply
from pytest_tooleval.errors import ErrorKind
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.transcript import Reply

from .clients.test_openai_chat import http
from .clients.test_openai_chat import raw_server
from .fakes import WEATHER
from .fakes import case_of
from .fakes import tool

KEY = "sk-planted-0123456789"
ODD_KEY = "sk-planted/AbC+d=0123456789"
REQUEST = ChatRequest(
    [{"role": "user", "content": "What's the weather in Paris?"}],
    [WEATHER],
    "required",
    {"temperature": 0},
)
Connect = Callable[..., ChatClient]


@pytest.fixture(params=[LitellmClient, OpenAIClient])
async def connect(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connect]:
    monkeypatch.setenv("MY_API_KEY", KEY)
    clients: list[ChatClient] = []

    def connect(base: MockServer | str, **fields: Any) -> ChatClient:
        url = base if isinstance(base, str) else base.base_url
        spec = ModelSpec(
            "m", model="openai/mock", api_base=url, **{"api_key_env": "MY_API_KEY", **fields}
        )
        clients.append(request.param(spec))
        return clients[-1]

    yield connect
    for client in clients:
        await client.close()


async def failing(
    client: ChatClient, request: ChatRequest = REQUEST, timeout_s: float = 60.0
) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await client.complete(request, timeout_s)
    assert "\n" not in raised.value.message
    assert "litellm." not in raised.value.message
    return raised.value


async def test_an_answer(connect: Connect) -> None:
    with MockServer() as server:
        answer = await connect(server).complete(REQUEST, 60.0)
    assert answer.message == call_message("get_weather", {"city": "Paris"})
    assert (answer.finish_reason, answer.prompt_tokens, answer.completion_tokens) == (
        "tool_calls",
        50,
        10,
    )
    assert answer.cost_usd is None
    assert answer.latency_s is not None
    (body,) = server.bodies
    assert body == {
        "model": "mock",
        "messages": list(REQUEST.messages),
        "tools": [WEATHER],
        "tool_choice": "required",
        "temperature": 0,
    }
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_only_what_is_needed_is_sent(connect: Connect) -> None:
    with MockServer() as server:
        client = connect(server, api_key_env=None)
        await client.complete(ChatRequest(REQUEST.messages), 5.0)
        await client.complete(ChatRequest(REQUEST.messages, [WEATHER], "auto"), 5.0)
        await client.complete(ChatRequest(REQUEST.messages, [WEATHER], "none"), 5.0)
    assert [sorted(body) for body in server.bodies] == [
        ["messages", "model"],
        ["messages", "model", "tools"],
        ["messages", "model", "tool_choice", "tools"],
    ]
    assert KEY not in str(server.headers)


FAULTS: list[tuple[str, ErrorKind, bool, bool, str]] = [
    ("400", "bad_request", False, False, "scripted fault 400"),
    ("402", "quota", False, True, "scripted fault 402"),
    ("403", "credentials", False, True, "access refused (403)"),
    ("404", "bad_request", False, True, "no such model or address"),
    ("408", "server", True, False, "408"),
    ("409", "server", True, False, "409"),
    ("422", "bad_request", False, False, "scripted fault 422"),
    ("429", "rate_limit", True, False, "rate limited (429): scripted fault 429"),
    ("500", "server", True, False, "the server failed (500): scripted fault 500"),
    ("502", "server", True, False, "502"),
    ("503", "server", True, False, "503"),
    ("529", "rate_limit", True, False, "529"),
    ("reset", "server", True, False, "the connection broke"),
    ("half", "server", True, False, "the connection broke"),
    ("garbage", "bad_response", True, False, "the answer is not JSON"),
    ("hang", "timeout", True, False, "no answer within 0.5 s"),
    ("echo-key", "credentials", False, True, "the key in MY_API_KEY was refused"),
]


@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "fatal", "message"), FAULTS, ids=[fault[0] for fault in FAULTS]
)
async def test_every_fault(
    connect: Connect, fault: str, kind: ErrorKind, retryable: bool, fatal: bool, message: str
) -> None:
    with MockServer(faults={fault: 1}) as server:
        error = await failing(connect(server), timeout_s=0.5 if fault == "hang" else 60.0)
        assert server.requests == 1  # no library retried behind our back
    assert (error.kind, error.retryable, error.fatal) == (kind, retryable, fatal)
    assert message in error.message
    assert KEY not in error.message


async def test_a_dead_endpoint_and_a_host_that_does_not_exist(connect: Connect) -> None:
    with MockServer() as server:
        dead = server.base_url
    for base in (dead, "http://no-such-host.invalid/v1"):
        error = await failing(connect(base))
        assert (error.kind, error.retryable) == ("unreachable", True)
        assert base in error.message


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), (None, None)])
async def test_retry_after(connect: Connect, header: str | None, seconds: float | None) -> None:
    with MockServer(faults={"429": 1}, retry_after=header) as server:
        assert (await failing(connect(server))).retry_after == seconds


async def test_a_refused_required(connect: Connect) -> None:
    with MockServer(faults={"refuse-required": 1}) as server:
        client = connect(server)
        assert isinstance(await failing(client), ParameterRefused)
        answer = await client.complete(ChatRequest(REQUEST.messages, [WEATHER], "auto"), 5.0)
    assert answer.message["tool_calls"]


async def test_a_missing_key_names_the_variable(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY_KEY", " ")
    for name in ("EMPTY_KEY", "NO_SUCH_KEY"):
        error = await failing(connect("http://localhost:1/v1", api_key_env=name))
        assert f"the environment variable {name} is not set" in error.message
        assert error.fatal


async def test_the_users_own_key_does_not_travel_to_another_host(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-123456")
    with MockServer() as server:
        await connect(server, api_key_env=None).complete(REQUEST, 60.0)
    assert "sk-mine-123456" not in str(server.headers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(connect: Connect, status: int) -> None:
    with MockServer() as other:
        location = f"Location: http://user:pass@localhost:{other.port}/v2?x=y"
        async with raw_server(http(b"", status, location)) as port:
            error = await failing(connect(f"http://127.0.0.1:{port}/v1"))
        assert other.requests == 0
    assert error.message == (
        f"http://127.0.0.1:{port}/v1/chat/completions redirects to "
        f"http://[secret]@localhost:{other.port}/v2, which is not followed; set api_base to the "
        "final address"
    )
    assert (error.kind, error.retryable, error.fatal) == ("bad_request", False, True)


async def test_headers_of_the_table_are_sent_and_not_their_stand_ins(connect: Connect) -> None:
    extra = {"extra_headers": {"X-Team": "tools"}}
    with MockServer() as server:
        client = connect(server, extra=extra)
        spec = ModelSpec("m", model="openai/mock", extra=extra)
        asked = dataclasses.replace(REQUEST, sampling=sampling_for(spec, case_of()))
        await client.complete(asked, 60.0)
        left_out = dataclasses.replace(spec, omit=("extra_headers",))
        asked = dataclasses.replace(REQUEST, sampling=sampling_for(left_out, case_of()))
        await client.complete(asked, 60.0)
    assert [headers.get("x-team") for headers in server.headers] == ["tools", None]


async def test_a_body_beyond_all_measure_is_not_read(connect: Connect) -> None:
    async with raw_server(http(b" " * (MOST_BYTES + 1))) as port:
        error = await failing(connect(f"http://127.0.0.1:{port}/v1"))
    assert error.message == "the answer is longer than 32 MiB"
    assert (error.kind, error.retryable) == ("bad_response", False)


@pytest.mark.parametrize("status", [200, 400])
async def test_of_an_error_of_a_megabyte_only_the_size_is_told(connect: Connect, status: int) -> None:
    async with raw_server(http(b"api_key " * 130_000, status)) as port:
        error = await failing(connect(f"http://127.0.0.1:{port}/v1"))
    assert error.kind == ("bad_response" if status == 200 else "bad_request")
    assert "api_key" not in error.message
    assert status == 200 or "a text of 1015 KiB" in error.message


ECHOES = {
    "escaped": json.dumps({"error": {"message": f"wrong key {ODD_KEY}"}}).replace("/", "\\/"),
    "Base64": json.dumps({"error": base64.b64encode(f"user:{ODD_KEY}".encode()).decode()}),
    "an address": json.dumps({"detail": f"no /?key={quote(ODD_KEY, safe='')}"}),
    "cut": "<html>" + " " * (1995 - len(ODD_KEY)) + ODD_KEY,
}


@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("status", [200, 401])
async def test_a_key_that_comes_back_in_another_spelling(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    monkeypatch.setenv("MY_API_KEY", ODD_KEY)
    async with raw_server(http(ECHOES[name].encode(), status)) as port:
        error = await failing(connect(f"http://127.0.0.1:{port}/v1"))
    pieces = [ODD_KEY, "planted", base64.b64encode(f"user:{ODD_KEY}".encode()).decode()[8:24]]
    assert not [piece for piece in pieces if piece in error.message]


@pytest.mark.parametrize("arguments", ["", "{not json", "[1]", '{"x": 1e999}', '"\\ud800"'])
async def test_arguments_come_as_they_were_sent(connect: Connect, arguments: str) -> None:
    with MockServer(script=lambda request: call_message("get_weather", arguments)) as server:
        answer = await connect(server).complete(REQUEST, 60.0)
    reply = read_reply(answer, REQUEST, cached=False)
    assert reply.calls[0].raw_arguments == arguments


HOSTILE: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": "x"},
    {"role": "assistant", "content": None, "tool_calls": [5]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": 5, "type": "x", "function": None}]},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": None, "arguments": 5}}]},
    {"role": "robot", "content": {"x": 1}},
    {"role": "assistant", "content": 5},
    {"content": "\ud800 \x1b[31m"},
    {},
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # raised inside litellm
@pytest.mark.parametrize("message", HOSTILE, ids=[json.dumps(message)[:60] for message in HOSTILE])
async def test_a_hostile_message_is_an_answer_or_an_error(
    connect: Connect, message: dict[str, Any]
) -> None:
    with MockServer(script=lambda request: message) as server:
        client = connect(server)
        with contextlib.suppress(ModelError):  # and nothing else
            answer = await client.complete(REQUEST, 60.0)
            read_reply(answer, REQUEST, cached=False)
            json.dumps(answer.message)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        [],
        5,
        "x",
    ],
    ids=str,
)
async def test_a_hostile_document_is_an_error(connect: Connect, document: object) -> None:
    with MockServer(respond=lambda path, request: (200, document)) as server:
        assert (await failing(connect(server))).kind in ("bad_response", "server")


async def test_a_refused_generation_is_an_answer(connect: Connect) -> None:
    written = '<function=get_weather>{"city": "Paris"}</function>'
    body = {"error": {"message": "m", "code": "tool_use_failed", "failed_generation": written}}
    with MockServer(respond=lambda path, request: (400, body)) as server:
        answer: ChatAnswer = await connect(server).complete(REQUEST, 60.0)
    assert answer.message == {"role": "assistant", "content": written}
    assert (answer.finish_reason, answer.finish_message) == ("tool_use_failed", "m")


async def test_a_refusal_of_the_model_is_told(connect: Connect) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    document = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with MockServer(respond=lambda path, request: (200, document)) as server:
        answer: ChatAnswer = await connect(server).complete(REQUEST, 60.0)
    assert (answer.finish_reason, answer.finish_message) == ("refusal", "I can't help with that.")


async def test_a_chain_carries_everything_back(connect: Connect) -> None:
    first = {
        **call_message("search", '{"q":"\\ud800 é"}', "a"),
        "content": "Let me look. \ud800",
        "reasoning_content": "hmm",
    }

    def script(request: dict[str, Any]) -> dict[str, Any]:
        return first if len(request["messages"]) == 1 else call_message("get_weather", {})

    case = case_of(WEATHER, tool("search"), multi_turn=True, mock_responses={"search": "é"})
    with MockServer(script=script) as server:
        client = connect(server)

        async def ask(request: ChatRequest) -> Reply:
            answer = await client.complete(request, 5.0)
            return read_reply(answer, request, cached=False)

        transcript = await converse(case, ask, {})
    assert [made.name for made in transcript.calls] == ["search", "get_weather"]
    carried, answered = server.bodies[1]["messages"][1:]
    assert carried["reasoning_content"] == "hmm"
    assert carried["tool_calls"][0]["function"]["arguments"] == '{"q":"\\ud800 é"}'
    assert answered == {"role": "tool", "tool_call_id": "a", "content": "é"}
