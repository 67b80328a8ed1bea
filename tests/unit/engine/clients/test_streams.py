"""Streams of events as servers send them: their grammar, their pieces, their errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import recorded_answers
from mock_server import MockServer

from pytest_tooleval.engine.clients.anthropic_messages import chat_document as of_messages
from pytest_tooleval.engine.clients.event_streams import events, is_stream
from pytest_tooleval.engine.clients.joined_streams import (
    joined_chat,
    joined_messages,
    joined_responses,
)
from pytest_tooleval.engine.clients.openai_responses import chat_document as of_responses
from pytest_tooleval.engine.clients.provider_errors import status_of_error
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ModelError
from pytest_tooleval.imports.records import UnusableError
from pytest_tooleval.record.names import ANY_TOOLS
from pytest_tooleval.record.transcript import Reply, text_of
from pytest_tooleval.replies.messages import read_message

from ..fakes import WEATHER
from .asking import USER, ask

PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'
CALLED = [("get_weather", {"city": "Paris"})]
BOTH = [*CALLED, ("get_weather", {"city": "Rome"})]


def delta(*parts: dict[str, Any], end: str | None = None, **more: Any) -> dict[str, Any]:
    held = {"tool_calls": list(parts)} if parts else {}
    return {"choices": [{"index": 0, "delta": {**held, **more}, "finish_reason": end}]}


def part(arguments: Any = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    given = {"name": name, "arguments": arguments}
    return {**fields, "function": {key: value for key, value in given.items() if value is not None}}


CHUNKS = [delta(part(PARIS, "get_weather", index=0, id="a")), delta(end="tool_calls")]
DATA = "".join(f"data: {json.dumps(each)}\n\n" for each in CHUNKS)
BODIES = {
    "plain": DATA,
    "a comment": f": OPENROUTER PROCESSING\n\n{DATA}",
    "a bare colon": f":\n\n{DATA}",
    "a name": f"event: chunk\n{DATA}",
    "an id": f"id: 1\n{DATA}",
    "a bare id": f"id\n{DATA}",
    "retry": f"retry: 3000\n\n{DATA}",
    "a byte-order mark": f"\ufeff{DATA}",
    "blank lines": f"\r\n\n {DATA}",
    "CRLF": DATA.replace("\n", "\r\n"),
    "CR": DATA.replace("\n", "\r"),
    "no spaces": DATA.replace("data: ", "data:"),
    "another field": f"x-trace: 7\nping\n{DATA}",
    "no blank lines": DATA.replace("\n\n", "\n"),
    "no end of line": DATA.rstrip(),
    "empty data": f"data:\n\n{DATA}data: \n\n",
    "data in lines": DATA.replace('"choices": ', '\ndata: "choices": '),
    "an end": f"{DATA}data: [DONE]\n\n",
}
REQUEST = {"messages": [USER], "tools": [WEATHER]}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_stream_is_known_by_its_lines(body: str) -> None:
    assert is_stream(body)
    assert list(events(body)) == CHUNKS
    answers, reasons = recorded_answers({**REQUEST, "response": body})
    assert ([answer.calls for answer in answers], reasons) == ([CALLED], [])


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("name", ["a comment", "a byte-order mark", "CRLF"])
async def test_no_content_type_decides(name: str, kind: str) -> None:
    with MockServer(raw=http(BODIES[name], kind)) as server:
        answer = await ask(model(server))
    reply = read_reply(answer, ChatRequest([USER], [WEATHER]), cached=False)
    assert [(call.name, call.arguments) for call in reply.calls] == CALLED


@pytest.mark.parametrize(
    "body",
    [
        f"Here you are:\n{DATA}",
        DATA.replace("data", "  data"),
        "data: {\n\n",
        ": hello\n\ndata: nothing\n\n",
        "data: 5",
        "event: error\ndata: too busy\n\n",
        'data: {"error": {"message": "x"}}\n\n',
        DATA[: DATA.index("\n")],
        f'{DATA}{{"error": {{"message": "gateway"}}}}\n',
    ],
)
def test_a_body_with_data_is_no_text(body: str) -> None:
    try:
        answers, reasons = recorded_answers({**REQUEST, "response": body})
    except UnusableError as error:
        answers, reasons = [], [str(error)]
    assert [answer.calls for answer in answers] == [CALLED] * len(answers)
    assert answers or "stream" in reasons[0] or "an error from the provider" in reasons[0]


@pytest.mark.parametrize("text", ["The data: 5", "metadata: {}", "Hello.", "", "-data: {}"])
def test_a_text_is_no_stream(text: str) -> None:
    assert not is_stream(text)


def http(body: str, kind: str = "text/event-stream") -> bytes:
    data = body.encode()
    return (
        f"HTTP/1.1 200 X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
    )


def model(server: MockServer, name: str = "openai/x") -> HttpModel:
    return HttpModel("m", model=name, api_base=f"http://127.0.0.1:{server.port}/v1", stream=True)


def read(message: dict[str, Any]) -> tuple[list[tuple[str, Any]], bool]:
    """The calls of a message as they are scored, and whether a part of it is unread."""
    found: Reply = read_message(message, text_of(message), ANY_TOOLS, "stop")
    assert all(each.owner == "other" for each in found.unread)
    return [(call.name, call.arguments or call.raw_arguments) for call in found.calls], bool(
        found.unread
    )


def of_chat(*parts: list[dict[str, Any]]) -> tuple[list[tuple[str, Any]], bool]:
    joined = joined_chat([*(delta(*each) for each in parts), delta(end="tool_calls")])
    return read(joined.document["choices"][0]["message"])


NAME = "get_weather"
PLACED: dict[str, list[list[dict[str, Any]]]] = {
    "as the API": [
        [part("", NAME, index=0, id="a")],
        [part('{"city":', index=0)],
        [part(' "Paris"}', index=0)],
    ],
    "name again": [
        [part('{"city":', NAME, index=0, id="a")],
        [part(' "Paris"}', NAME, index=0, id="a")],
    ],
    "name again, no id": [[part('{"city":', NAME, index=0)], [part(' "Paris"}', NAME, index=0)]],
    "name in pieces": [[part("", "get_", index=0, id="a")], [part(PARIS, "weather", index=0)]],
    "cumulative name": [[part("", "get_", index=0, id="a")], [part(PARIS, NAME, index=0)]],
    "whole again": [[part(PARIS, NAME, index=0, id="a")], [part(PARIS, NAME, index=0, id="a")]],
    "arguments again": [[part(PARIS, NAME, index=0, id="a")], [part('{"city":"Paris"}', index=0)]],
    "whole at last": [
        [part('{"city":', NAME, index=0, id="a")],
        [part(' "Paris"}', index=0)],
        [part(PARIS, NAME, index=0, id="a")],
    ],
    "an object": [[part({"city": "Paris"}, NAME, index=0, id="a")]],
    "an object after none": [[part({}, NAME, index=0, id="a")], [part({"city": "Paris"}, index=0)]],
    "growing objects": [
        [part({"city": "P"}, NAME, index=0, id="a")],
        [part({"city": "Paris"}, index=0)],
    ],
    "cumulative": [
        [part('{"ci', NAME, index=0, id="a")],
        [part('{"city": "P', index=0)],
        [part(PARIS, NAME, index=0, id="a")],
    ],
    "index as text": [[part('{"city":', NAME, index="0", id="a")], [part(' "Paris"}', index="0")]],
    "no index": [[part('{"city":', NAME, id="a")], [part(' "Paris"}')]],
    "another index": [[part('{"city":', NAME, index=0, id="a")], [part(' "Paris"}', index=1)]],
    "new ids": [[part('{"city":', NAME, index=0, id="a")], [part(' "Paris"}', index=0, id="b")]],
    "new ids and indexes": [
        [part('{"city":', NAME, index=0, id="a")],
        [part(' "Paris"}', index=1, id="b")],
    ],
    "new ids and names": [
        [part('{"city":', NAME, index=0, id="a")],
        [part(' "Paris"}', NAME, index=0, id="b")],
    ],
    "name last": [[part("", index=0, id="a")], [part(PARIS, NAME, index=0)]],
    "flat": [[{"index": 0, "id": "a", "name": NAME, "arguments": PARIS}]],
}
TWO: dict[str, list[list[dict[str, Any]]]] = {
    "as the API": [[part(PARIS, NAME, index=0, id="a")], [part(ROME, NAME, index=1, id="b")]],
    "never counted": [[part(PARIS, NAME, index=0, id="a")], [part(ROME, NAME, index=0, id="b")]],
    "one id": [[part(PARIS, NAME, index=0, id="a")], [part(ROME, NAME, index=1, id="a")]],
    "neither index nor id": [[part(PARIS, NAME)], [part(ROME, NAME)]],
    "in one delta": [[part(PARIS, NAME), part(ROME, NAME)]],
    "in turns": [
        [part('{"city":', NAME, index=0, id="a"), part('{"city":', NAME, index=1, id="b")],
        [part(' "Paris"}', index=0), part(' "Rome"}', index=1)],
    ],
    "in turns by id": [
        [part('{"city":', NAME, id="a"), part('{"city":', NAME, id="b")],
        [part(' "Rome"}', id="b")],
        [part(' "Paris"}', id="a")],
    ],
}


@pytest.mark.parametrize("parts", PLACED.values(), ids=PLACED)
def test_pieces_of_a_call_are_joined(parts: list[list[dict[str, Any]]]) -> None:
    assert of_chat(*parts) == (CALLED, False)


@pytest.mark.parametrize("parts", TWO.values(), ids=TWO)
def test_two_calls_stay_apart(parts: list[list[dict[str, Any]]]) -> None:
    assert of_chat(*parts) == (BOTH, False)


@pytest.mark.parametrize(
    "parts",
    [
        [[part(PARIS, index=0)]],
        [[part(PARIS, NAME, index=0, id="a")], [part(ROME, index=1)]],
        [[part(PARIS, NAME, index=0, id="a")], [part(ROME, index=0)]],
        [[part(PARIS, NAME, index=0, id="a")], [part(ROME, NAME, index=0, id="a")]],
        [[part(PARIS, NAME)], [part(PARIS, NAME)]],
        [[part("", NAME, index=0, id="a")], [part("", NAME, index=0, id="b")]],
        [["pay"]],
        [
            [part(PARIS, NAME, index=0, id="a")],
            [part('{"city"', "pay", index=0)],
            [part("", "x", index=0)],
        ],
    ],
    ids=str,
)
def test_a_piece_that_fits_nowhere_is_the_servers_error(parts: list[list[dict[str, Any]]]) -> None:
    assert of_chat(*parts)[1]


def test_what_the_model_wrote_wrongly_stays_its_own() -> None:
    pieces = ['{"city"', ': "Paris"', "}}"]
    parts = [[part(each, NAME if each is pieces[0] else None, index=0)] for each in pieces]
    assert of_chat(*parts) == ([(NAME, "".join(pieces))], False)


def test_an_unknown_field_of_a_delta_is_not_lost() -> None:
    chunks = [
        delta(toolCalls=[{"name": "pay", "arguments": {"a": 1}}]),
        delta(content="Done.", end="stop"),
    ]
    assert read(joined_chat(chunks).document["choices"][0]["message"]) == ([], True)


def test_a_custom_tool_keeps_its_text() -> None:
    parts = [
        {"index": 0, "id": "a", "custom": {"name": "run", "input": "aa"}},
        {"index": 0, "custom": {"input": "aab"}},
    ]
    assert of_chat([parts[0]], [parts[1]]) == ([("run", {"input": "aaaab"})], False)


ITEM = {"type": "function_call", "id": "f", "call_id": "c", "name": NAME, "arguments": PARIS}
BEGUN = {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "arguments": ""}}
DONE = {"type": "response.output_item.done", "output_index": 0, "item": ITEM}
ADDS: dict[str, Any] = {
    "type": "response.function_call_arguments.delta",
    "output_index": 0,
    "item_id": "f",
}
GIVES = {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "f"}
SAID = {"type": "response.output_text.done", "output_index": 0, "text": "Hello."}
MESSAGE = {"type": "message", "content": []}


def ended(*output: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"status": status, "output": list(output)}}


@pytest.mark.parametrize(
    "chunks",
    [
        [BEGUN, {**ADDS, "delta": PARIS}, DONE, ended(ITEM)],
        [DONE, ended()],
        [BEGUN, DONE, ended()],
        [DONE, ended(MESSAGE)],
        [DONE, ended({**ITEM, "id": "g", "call_id": "d"})],
        [BEGUN, {**ADDS, "delta": '{"city"'}, {**ADDS, "delta": ': "Paris"}'}, ended()],
        [
            BEGUN,
            {**ADDS, "delta": "{"},
            {**GIVES, "arguments": PARIS},
            ended(),
        ],
        [BEGUN, {**ADDS, "delta": PARIS}, ended(ITEM)],
        [{**ADDS, "delta": PARIS}, ended(ITEM)],
    ],
)
def test_items_of_a_responses_stream_count(chunks: list[dict[str, Any]]) -> None:
    joined = joined_responses(chunks)
    assert joined.is_whole
    assert read(of_responses(joined.document)["choices"][0]["message"]) == (CALLED, False)


def test_other_items_of_a_responses_stream() -> None:
    two = [{**DONE, "item": {**ITEM, "arguments": ROME, "id": "g", "call_id": "d"}}]
    both = joined_responses([DONE, *two, ended()]).document
    assert read(of_responses(both)["choices"][0]["message"]) == (BOTH, False)
    lost = joined_responses([{**ADDS, "delta": PARIS}, ended()]).document
    assert read(of_responses(lost)["choices"][0]["message"])[1]
    begun = {"type": "response.output_item.added", "output_index": 0, "item": MESSAGE}
    said = joined_responses([begun, SAID, ended()]).document
    assert of_responses(said)["choices"][0]["message"]["content"] == "Hello."
    assert not joined_responses([DONE]).is_whole


USE = {"type": "tool_use", "id": "t", "name": NAME, "input": {}}
STARTED = {"type": "content_block_start", "index": 0, "content_block": USE}
ENDED = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}


def adds(text: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "content_block_delta",
        **fields,
        "delta": {"type": "input_json_delta", "partial_json": text},
    }


@pytest.mark.parametrize(
    "chunks",
    [
        [STARTED, adds('{"city":', index=0), adds(' "Paris"}', index=0)],
        [STARTED, adds("", index=0), adds({"city": "Paris"}, index=0)],
        [STARTED, adds('{"city":', index="0"), adds(' "Paris"}', index="0")],
        [STARTED, adds('{"city":'), adds(' "Paris"}')],
        [STARTED, adds('{"city":', index=1), adds(' "Paris"}', index=1)],
        [STARTED, adds('{"ci', index=0), adds(PARIS, index=0)],
        [{**STARTED, "content_block": {**USE, "input": {"city": "Paris"}}}, adds(PARIS, index=0)],
        [STARTED, adds(PARIS, index=0), STARTED],
        [{"type": "message", "content": [{**USE, "input": {"city": "Paris"}}]}],
    ],
)
def test_blocks_of_a_messages_stream_are_joined(chunks: list[dict[str, Any]]) -> None:
    joined = joined_messages([{"type": "message_start", "message": {}}, *chunks, ENDED])
    assert joined.is_whole
    assert read(of_messages(joined.document, {})["choices"][0]["message"]) == (CALLED, False)


@pytest.mark.parametrize(
    "chunks", [[adds(PARIS, index=0)], [STARTED, adds(PARIS, index=0), adds(ROME, index=1)]]
)
def test_a_block_that_fits_nowhere_is_the_servers_error(chunks: list[dict[str, Any]]) -> None:
    document = joined_messages([*chunks, ENDED]).document
    assert read(of_messages(document, {})["choices"][0]["message"])[1]


FIRST = DATA.split("\n")[0]
ERRORS: dict[str, tuple[str, str]] = {
    "overloaded": (
        'data: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}',
        "rate_limit",
    ),
    "429 in words": ('data: {"error": {"type": "rate_limit_error", "message": "slow"}}', "rate_limit"),
    "502 of OpenRouter": (
        f'{FIRST}\n\ndata: {{"error": {{"code": 502, "message": "x"}}, "choices": []}}',
        "server",
    ),
    "a status as text": ('data: {"error": {"code": "503", "message": "x"}}', "server"),
    "of Google": ('data: {"error": {"status": "UNAVAILABLE", "message": "x"}}', "server"),
    "by the event": ('event: error\ndata: {"type": "api_error", "message": "x"}', "server"),
    "a busy server": ("event: error\ndata: the server is busy", "rate_limit"),
    "flat": ('data: {"type": "error", "code": "rate_limit_exceeded", "message": "x"}', "rate_limit"),
    "of a gateway": (f'{FIRST}\n\n{{"error": {{"code": 504, "message": "x"}}}}', "server"),
    "breaks off": (FIRST, "bad_response"),
    "nothing": (": ping\n\ndata: [DONE]", "bad_response"),
}


@pytest.mark.parametrize(("body", "kind"), ERRORS.values(), ids=ERRORS)
async def test_an_error_inside_a_stream_is_retried(body: str, kind: str) -> None:
    with MockServer(raw=http(f"{body}\n\n")) as server, pytest.raises(ModelError) as raised:
        await ask(model(server))
    assert (raised.value.kind, raised.value.retryable) == (kind, True)


@pytest.mark.parametrize("name", ["openai/responses/x", "anthropic/x"])
async def test_every_protocol_reads_an_error_in_a_stream(name: str) -> None:
    body = f"event: error\n{ERRORS['overloaded'][0]}\n\n"
    with MockServer(raw=http(body)) as server, pytest.raises(ModelError) as raised:
        await ask(HttpModel("m", model=name, api_base=f"http://127.0.0.1:{server.port}"))
    assert (raised.value.kind, raised.value.retryable) == ("rate_limit", True)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429}, 429),
        ({"code": "server_error", "type": "server_error"}, 500),
        ({"code": None, "type": "authentication_error"}, 401),
        ({"type": "BadRequestError", "code": 400}, 400),
        ({"error_type": "overloaded"}, 529),
        ({"message": "Overloaded"}, 529),
        ({"code": True, "message": "x"}, 422),
        ({"code": 1302, "type": ["x"]}, 422),
        ("no", 422),
    ],
)
def test_the_status_of_an_error_without_one(error: object, status: int) -> None:
    assert status_of_error(error) == status
