"""Agents at an address: what they are sent, and what is read from their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_server import MockServer

from pytest_tooleval.engine.clients.deployed_agent import DeployedClient
from pytest_tooleval.engine.clients.event_streams import events
from pytest_tooleval.engine.clients.http_client import HttpAnswer
from pytest_tooleval.engine.clients.joined_streams import joined_chat
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_replies
from pytest_tooleval.engine.models.spec import DeployedAgent
from pytest_tooleval.engine.models.table_checks import spec_from_table
from pytest_tooleval.engine.models.tables import read_tables
from pytest_tooleval.errors import ConfigError, ModelError

from ..fakes import WEATHER
from .asking import KEY, USER, ask

POINTERS = {"text": "/reply", "calls": "/steps", "name": "/tool", "arguments": "/input"}
STEP = {"tool": "get_weather", "input": {"city": "Paris"}}


def http(body: str, kind: str = "text/event-stream", status: int = 200) -> bytes:
    data = body.encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def stream(*events: object) -> bytes:
    return http("".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n")


def spec_of(server: MockServer, answer: Any = POINTERS, **fields: Any) -> DeployedAgent:
    request = fields.pop("request", {"message": "$prompt"})
    url = f"http://127.0.0.1:{server.port}/chat"
    return DeployedAgent("shop", url=url, request=request, answer=answer, **fields)


async def read_by(
    answer: Any, document: object = None, raw: bytes | None = None, **fields: Any
) -> tuple[ChatAnswer, list[tuple[str, object]]]:
    """The answer, and its calls as they are scored."""
    respond = None if raw else lambda path, body: (200, document)
    with MockServer(respond=respond, raw=raw) as server:
        found = await ask(spec_of(server, answer, **fields))
    replies = read_replies(found, ChatRequest([USER], [WEATHER]), cached=False)
    assert replies.is_agents_loop  # nobody answers its calls
    assert not [each for reply in replies.all for each in reply.unread]
    return found, [(call.name, call.arguments) for reply in replies.all for call in reply.calls]


CALLED = [("get_weather", {"city": "Paris"})]
FUNCTION = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
CHUNKS = [
    {"choices": [{"delta": {"content": "It "}}]},
    {
        "choices": [
            {"delta": {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "get_weather"}}]}}
        ]
    },
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"Paris"}'}}]}}]},
    {"choices": [{"delta": {"content": "rains."}, "finish_reason": "stop"}]},
]
ITEMS = [
    {"type": "function_call", "call_id": "1", **FUNCTION},
    {"type": "message", "content": [{"type": "output_text", "text": "It rains."}]},
]
BLOCKS = [
    {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It rains."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "1", "name": "get_weather", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"city": "Pa'}},
    {"type": "content_block_delta", "index": 1, "delta": {"partial_json": 'ris"}'}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
]


@pytest.mark.parametrize(
    ("answer", "document", "raw"),
    [
        (POINTERS, {"reply": "It rains.", "steps": [STEP]}, None),
        (
            {"text": "/0/said", "calls": "/1", "name": "/f/0", "arguments": "/f/1"},
            [{"said": "It rains."}, [{"f": ["get_weather", '{"city": "Paris"}']}]],
            None,
        ),
        (POINTERS, None, stream({"reply": "It "}, {"steps": [STEP]}, {"reply": "rains."})),
        (
            "chat",
            {"choices": [{"message": {"content": "It rains.", "tool_calls": [{"function": FUNCTION}]}}]},
            None,
        ),
        ("chat", None, stream(*CHUNKS)),
        ("responses", {"output": ITEMS}, None),
        (
            "responses",
            None,
            stream({"type": "x"}, {"type": "response.completed", "response": {"output": ITEMS}}),
        ),
        ("messages", None, stream(*BLOCKS)),
    ],
)
async def test_calls_and_text_are_found(answer: Any, document: object, raw: bytes | None) -> None:
    found, calls = await read_by(answer, document, raw)
    assert calls == CALLED
    assert found.message["content"] == "It rains."
    assert len(found.replies) == 2  # the calls, and then what it said
    assert "tool_calls" not in found.message


ENDED = {**POINTERS, "result": "/output?", "status": "/state?"}


@pytest.mark.parametrize(
    ("end", "status", "content"),
    [
        ({"output": {"n": 1}}, "ok", '{"n": 1}'),
        ({"output": "Error: no", "state": "success"}, "ok", "Error: no"),
        ({"output": {"error": "503"}}, "error", '{"error": "503"}'),
        ({"output": "no", "state": "failed"}, "error", "no"),
        ({"state": "denied"}, "refused", None),
        ({"state": True}, "ok", None),
        ({"state": False}, "error", None),
        ({"state": "timeout", "output": None}, None, "null"),
        ({}, None, None),
    ],
)
async def test_how_calls_ended_is_read(end: Any, status: str | None, content: str | None) -> None:
    found, calls = await read_by(ENDED, {"reply": "It rains.", "steps": [{**STEP, **end}]})
    assert calls == CALLED
    (called,) = found.earlier or ()
    assert (called.statuses, [each["content"] for each in called.tool_answers]) == ((status,), [content])


def item(id: str, **output: Any) -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": id, **FUNCTION}
    return [call, {"type": "function_call_output", "call_id": id, **output}] if output else [call]


def block(id: str, **result: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Paris"}}
    return [use, {"type": "tool_result", "tool_use_id": id, **result}] if result else [use]


@pytest.mark.parametrize(
    ("api", "document"),
    [
        (
            "responses",
            {
                "output": [
                    *item("1", output="rain"),
                    *item("2", output='{"error": "503"}'),
                    *item("3", output="no", status="incomplete"),
                    *item("4"),
                    ITEMS[-1],
                ]
            },
        ),
        (
            "messages",
            {
                "content": [
                    *block("1", content="rain"),
                    *block("2", content='{"error": "503"}'),
                    *block("3", content=[{"type": "text", "text": "no"}], is_error=True),
                    *block("4"),
                    {"type": "text", "text": "It rains."},
                ]
            },
        ),
    ],
)
async def test_the_documents_of_apis_have_the_answers_of_tools(api: str, document: object) -> None:
    found, calls = await read_by(api, document)
    assert calls == CALLED * 4
    assert found.message["content"] == "It rains."
    (called,) = found.earlier or ()
    assert called.statuses == ("ok", "error", "error", None)
    assert [each["content"] for each in called.tool_answers] == ["rain", '{"error": "503"}', "no", None]
    steps, _ = await read_by(api, document, sequential=True)
    assert [len(reply.tool_answers) for reply in steps.replies] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("text", ["It rains.", None])
async def test_each_step_can_be_a_reply_of_its_own(text: str | None) -> None:
    steps = [{**STEP, "output": n} for n in range(3)]
    document = {"reply": text, "steps": steps}
    found, calls = await read_by(ENDED, document, sequential=True)
    assert calls == CALLED * 3
    told = [[each["content"] for each in reply.tool_answers] for reply in found.replies]
    assert told == [["0"], ["1"], ["2"], *([[]] if text else [])]
    at_once, _ = await read_by(ENDED, document)
    assert len(at_once.replies) == (2 if text else 1)


async def test_the_request_and_its_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_AUTH", f"Bearer {KEY}")
    request = {"ask": ["$prompt", {"as": "json"}], "all": "$messages", "tools": "$tools"}
    with MockServer(respond=lambda path, body: (200, {"reply": "Hi.", "steps": []})) as server:
        await ask(spec_of(server, request=request, headers={"Authorization": "SHOP_AUTH"}))
    assert server.bodies == [
        {"ask": [USER["content"], {"as": "json"}], "all": [USER], "tools": [WEATHER]}
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_conversation_keeps_its_id() -> None:
    request = {"message": "$prompt", "thread": "$conversation", "history": "$messages"}
    answer = {"reply": "Hi.", "steps": None, "thread": "t-1"}
    with MockServer(respond=lambda path, body: (200, answer)) as server:
        spec = spec_of(server, request=request, conversation="/thread")
        first = await ask(spec)
        await ask(spec, ChatRequest([USER, first.message, {"role": "user", "content": "And Rome?"}]))
    assert [body["thread"] for body in server.bodies] == [None, "t-1"]
    assert [body["message"] for body in server.bodies] == [USER["content"], "And Rome?"]
    assert "conversation" not in server.bodies[1]["history"][1]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"said": "Hi."}, 'the answer has nothing at /reply (text): {"said": "Hi."}'),
        (
            {"reply": "", "steps": {"tool": "x"}},
            'the calls of the answer are {"tool": "x"}, and not a list',
        ),
        ({"reply": "Hi."}, 'nothing at /steps (calls): {"reply": "Hi."}; if it is not in every answer'),
        ({"reply": "Hi.", "step": [STEP]}, 'in every answer, write calls = "/steps?"; see '),
        ({"steps": [STEP]}, 'the answer has nothing at /reply (text): {"steps": '),
        (
            {"reply": "", "steps": [{"input": {}}]},
            'a call of the answer has no name at /tool: {"input": {}}',
        ),
        ({"reply": "", "steps": [{"tool": "x"}]}, 'nothing at /input (arguments): {"tool": "x"}'),
        ({"reply": "Hi.", "steps": []}, "the answer has nothing at /thread (conversation)"),
    ],
)
async def test_what_cannot_be_read_is_no_answer_without_calls(document: object, message: str) -> None:
    fields: dict[str, Any] = {"conversation": "/thread"} if "thread" in message else {}
    with pytest.raises(ModelError) as raised:
        await read_by(POINTERS, document, **fields)
    assert message in raised.value.message
    assert raised.value.kind == "unread"


async def test_a_pointer_that_ends_with_a_question_mark_is_optional() -> None:
    pointers = {part: f"{at}?" if part != "name" else at for part, at in POINTERS.items()}
    assert (await read_by(pointers, {"reply": "Hi."}))[1] == []
    found, calls = await read_by(pointers, {"steps": [STEP, {"tool": "get_weather"}]})
    assert [arguments for _, arguments in calls] == [{"city": "Paris"}, {}]
    assert found.message["content"] is None


async def test_snapshots_of_one_answer_are_read_once() -> None:
    events = [
        {"id": 1, "reply": "It ", "steps": []},
        {"id": 1, "reply": "It rains", "steps": [STEP]},
        {"id": 1, "reply": "It rains.", "steps": [STEP]},
    ]
    found, calls = await read_by(POINTERS, None, stream(*events))
    assert (found.message["content"], len(calls)) == ("It rains.", 1)
    parts: list[Any] = [{"id": 1, "reply": text, "steps": []} for text in ("It ", "rains", ".")]
    assert (await read_by(POINTERS, None, stream(*parts)))[0].message["content"] == "It rains."


NAMES = "choices delta message content tool_calls function index output type response".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "x", "response.completed"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
)


@given(st.sampled_from([POINTERS, "chat", "responses", "messages"]), st.lists(JSON, max_size=4))
def test_whatever_an_agent_answers_is_read_or_told(answer: Any, documents: list[Any]) -> None:
    spec = DeployedAgent("m", url="http://127.0.0.1:9/x", request={"m": "$prompt"}, answer=answer)
    data = b"".join(b"data: %s\r\n\r\n" % json.dumps(each).encode() for each in documents)
    for kind, body in (
        ("text/event-stream", data),
        ("application/json", json.dumps(documents).encode()),
    ):
        with suppress(ModelError):
            DeployedClient(spec)._answer(
                HttpAnswer(200, {"Content-Type": kind}, body, 0.0), ChatRequest([USER])
            )


def test_a_text_may_hold_any_separator() -> None:
    assert list(events('data: "a\u2028b"\n\ndata: [DONE]\n\n')) == ["a\u2028b"]


async def test_no_redirect_takes_the_headers_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_AUTH", KEY)
    head = b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    with MockServer(raw=head) as server, pytest.raises(ModelError, match="which is not followed"):
        await ask(spec_of(server, headers={"X-Key": "SHOP_AUTH"}))


async def test_the_value_of_a_header_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_HEADER", KEY)
    with (
        MockServer(raw=http(f"no: {KEY}", "text/plain", 403)) as server,
        pytest.raises(ModelError) as raised,
    ):
        await ask(spec_of(server, headers={"X-Shop": "SHOP_HEADER"}))
    assert KEY not in raised.value.message
    monkeypatch.delenv("SHOP_HEADER")
    with pytest.raises(
        ModelError, match="SHOP_HEADER is not set; set it to the value of the header X-Shop"
    ):
        await ask(spec_of(server, headers={"X-Shop": "SHOP_HEADER"}))


TABLE: Mapping[str, str] = {
    "url": '"https://shop.example/chat"',
    "request": '{ message = "$prompt" }',
    "answer": '{ text = "/reply" }',
}


def read(tmp_path: Path, **changed: str | None) -> DeployedAgent:
    lines = (f"{key} = {value}\n" for key, value in {**TABLE, **changed}.items() if value is not None)
    (tmp_path / "tooleval.toml").write_text("[models.shop]\n" + "".join(lines), encoding="utf-8")
    spec = spec_from_table("shop", read_tables(tmp_path))
    assert isinstance(spec, DeployedAgent)
    return spec


def test_a_table(tmp_path: Path) -> None:
    spec = read(tmp_path, headers='{ Authorization = "SHOP_AUTH" }', timeout="5.0")
    assert (spec.url, spec.headers) == ("https://shop.example/chat", {"Authorization": "SHOP_AUTH"})
    assert spec.identity.startswith("url:https://shop.example/chat@")
    assert spec.identity != read(tmp_path, answer='"chat"').identity
    assert spec.identity != read(tmp_path, sequential="true").identity


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": '"openai/x"'}, "the address of a model's server is api_base"),
        (
            {"url": '"https://shop.example/chat?key=abc"'},
            "url: expected a URL without credentials and query",
        ),
        ({"url": None, "model": '"openai/x"'}, "request: only for an agent with a url"),
        ({"request": None}, 'url: also needs request, such as { message = "$prompt" }'),
        ({"request": '{ message = "$promt" }'}, "request: unknown $promt, did you mean $prompt?"),
        ({"request": '{ message = "hello" }'}, 'request: expected "$prompt" or "$messages" in it'),
        ({"request": '{ m = "$prompt", t = "$conversation" }'}, '"$conversation" needs conversation'),
        ({"answer": None}, 'answer: expected "chat", "responses" or "messages", or JSON Pointers'),
        ({"answer": '{ text = "reply" }'}, 'answer: expected "chat", "responses" or "messages"'),
        ({"headers": '{ Authorization = "Bearer sk-123" }'}, "headers: expected the variable of each"),
        ({"temperature": "0.5"}, "temperature: not for an agent with a url"),
    ],
)
def test_what_is_wrong_with_a_table(
    tmp_path: Path, changed: dict[str, str | None], message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, **changed)
    assert message in str(raised.value)
    assert "sk-123" not in str(raised.value)


PART = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
ROME = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}


@pytest.mark.parametrize(
    "deltas",
    [
        [{"tool_calls": [{"index": 0, "id": id, **part}]} for id, part in (("a", PART), ("b", ROME))],
        [{"tool_calls": [{"id": "a", **PART}, {"id": "b", **ROME}]}],
        [{"tool_calls": [{"id": "a", **PART}]}, {"tool_calls": [{"id": "b", **ROME}]}],
    ],
)
def test_calls_in_a_stream_stay_apart_if_a_server_never_counts(deltas: list[dict[str, Any]]) -> None:
    document = joined_chat([{"choices": [{"delta": delta}]} for delta in deltas]).document
    calls = document["choices"][0]["message"]["tool_calls"]
    assert [call["function"] for call in calls] == [PART["function"], ROME["function"]]


def test_older_and_unusual_streams_are_joined() -> None:
    parts = [{"function_call": {"name": "pay"}}, {"function_call": {"arguments": "{}"}}]
    texts = [{"content": [{"type": "text", "text": text}]} for text in ("It ", "rains.")]
    document = joined_chat([{"choices": [{"delta": delta}]} for delta in (*parts, *texts)]).document
    message = document["choices"][0]["message"]
    assert message["tool_calls"][0]["function"] == {"name": "pay", "arguments": "{}"}
    assert message["content"] == "It rains."
