from __future__ import annotations

import json
from typing import Any

import pytest
from builders import recorded_answers
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.imports.chats import RecordedAnswer
from pytest_tooleval.imports.openai_tools import (
    OfferedTools,
    looks_like_a_tool,
    tool_definition,
    tool_definitions,
)
from pytest_tooleval.imports.records import UnusableError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA},
}
FLAT = {"type": "function", "name": "weather", "description": "The weather.", "parameters": SCHEMA}
USER = {"role": "user", "content": "Paris?"}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHOICES = {"object": "chat.completion", "choices": [{"index": 0, "message": CALLED}]}
REQUEST = {"model": "gpt-4o", "messages": [USER], "tools": [TOOL], "tool_choice": "auto"}
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "S"}}]}
RESPONSE = {
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
    ],
}

SHAPES: dict[str, Any] = {
    "request and response": {"request": REQUEST, "response": CHOICES},
    "a stored completion with its messages": {**REQUEST, **CHOICES},
    "messages beside the response": {**REQUEST, "response": CHOICES, "metadata": {"user_api_key": "x"}},
    "bodies": {"request": {"body": REQUEST}, "response": {"status_code": 200, "body": CHOICES}},
    "json in json": {"request": json.dumps(REQUEST), "response": json.dumps(CHOICES)},
    "litellm": {
        "messages": [USER],
        "response": CHOICES,
        "model_parameters": {"tools": [TOOL], "tool_choice": "auto"},
        "hidden_params": {"api_key": "sk-1"},
    },
    "langfuse": {"type": "GENERATION", "input": REQUEST, "output": CALLED},
    "langfuse with texts": {"input": json.dumps(REQUEST), "output": json.dumps(CALLED)},
    "an event of langfuse": {"type": "generation-create", "body": {"input": REQUEST, "output": CALLED}},
    "a cassette of vcr": {
        "request": {"headers": {"authorization": ["Bearer x"]}, "body": json.dumps(REQUEST)},
        "response": {"body": {"string": json.dumps(CHOICES)}},
    },
    "fine-tuning": {**REQUEST, "messages": [USER, CALLED]},
    "functions": {
        "messages": [USER],
        "functions": [TOOL["function"]],
        "function_call": "auto",
        "response": {"choices": [{"message": {"role": "assistant", "function_call": CALL["function"]}}]},
    },
    "responses": {
        "request": {"input": "Paris?", "tools": [FLAT], "tool_choice": "auto"},
        "response": RESPONSE,
    },
    "responses with items": {
        "request": {
            "input": [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Paris?"}],
                }
            ],
            "tools": [FLAT],
            "tool_choice": "auto",
        },
        "response": RESPONSE,
    },
}

# The same call in the events that each API streams.
PIECES = [json.dumps({"city": "Paris"})[:5], json.dumps({"city": "Paris"})[5:]]
STREAMS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, **CALL, "function": function}]}}]}
        for function in ({"name": "weather", "arguments": PIECES[0]}, {"arguments": PIECES[1]})
    ]
    + [{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, {"choices": [], "usage": {}}],
    "responses": [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
        {"type": "response.function_call_arguments.delta", "delta": PIECES[0]},
        {"type": "response.completed", "response": RESPONSE},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
        },
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in PIECES
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ],
}


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS)
def test_a_stream_says_the_same(events: list[dict[str, Any]]) -> None:
    text = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    in_cassette = {"request": {"body": json.dumps(REQUEST)}, "response": {"body": {"string": text}}}
    for record in ({**REQUEST, "response": events}, {**REQUEST, "response": text}, in_cassette):
        assert one(record) == one(SHAPES["request and response"])


def one(record: object) -> RecordedAnswer:
    (answer,), reasons = recorded_answers(record)
    assert reasons == []
    return answer


def reason(record: object) -> str:
    try:
        answers, (why,) = recorded_answers(record)
    except UnusableError as error:
        return str(error)
    assert answers == []
    return why


@pytest.mark.parametrize("record", SHAPES.values(), ids=SHAPES)
def test_every_shape_says_the_same(record: object) -> None:
    assert one(record) == RecordedAnswer(
        [USER], OfferedTools([TOOL]), "auto", [("weather", {"city": "Paris"})]
    )


def test_only_what_the_chat_api_takes_is_kept() -> None:
    prompt = {
        "role": "user",
        "name": "ann",
        "content": "Paris?",
        "metadata": {"authorization": "Bearer x"},
        "cache_control": {"type": "ephemeral"},
    }
    before: dict[str, Any] = {
        **CALLED,
        "annotations": [],
        "reasoning_content": "hm",
        "provider_specific_fields": {},
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": {"sun": True}, "name": "weather"}
    record = {**REQUEST, "messages": [prompt, before, result], "response": CHOICES}
    assert one(record).messages == [
        {"role": "user", "content": "Paris?", "name": "ann"},
        CALLED,
        {"role": "tool", "content": '{"sun": true}', "tool_call_id": "c1"},
    ]


def test_every_message_of_the_assistant_in_a_conversation_is_an_answer() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "sun"}
    messages = [
        {"role": "assistant", "content": "Hello!"},
        USER,
        CALLED,
        result,
        {"role": "assistant", "content": "Not this.", "weight": 0},
        {"role": "assistant", "content": "Sun."},
    ]
    answers, reasons = recorded_answers({**REQUEST, "messages": messages})
    assert reasons == ["no message from the user before the answer"]
    assert [len(answer.messages) for answer in answers] == [2, 5]
    assert [bool(answer.calls) for answer in answers] == [True, False]
    assert all("weight" not in message for answer in answers for message in answer.messages)


def test_the_items_of_a_responses_request_become_messages() -> None:
    items = [
        {"role": "developer", "content": "Be brief."},
        USER,
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "sun"},
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.org/a.png"}]},
    ]
    request = {"input": items, "instructions": "You are kind.", "tools": [FLAT]}
    messages = one({"request": request, "response": RESPONSE}).messages
    assert [message["role"] for message in messages] == [
        "system", "developer", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert messages[3]["content"] == "I look."
    assert [call["id"] for call in messages[3]["tool_calls"]] == ["a", "b"]
    assert messages[4] == {"role": "tool", "tool_call_id": "a", "content": "sun"}
    assert messages[5]["content"] == [{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}]


def test_old_functions_in_the_prompt_become_tools() -> None:
    messages = [
        USER,
        {"role": "assistant", "content": None, "function_call": CALL["function"]},
        {"role": "function", "name": "weather", "content": "sun"},
    ]
    record = {"messages": messages, "functions": [TOOL["function"]], "response": CHOICES}
    _, called, result = one(record).messages
    assert called["tool_calls"][0]["id"] == result["tool_call_id"]
    assert result["role"] == "tool"


@pytest.mark.parametrize(
    ("choice", "names", "expected"),
    [
        ("required", ["weather", "news"], "required"),
        ("any", ["weather", "news"], "required"),
        ("none", ["weather", "news"], "none"),
        ("nonsense", ["weather", "news"], None),
        (None, ["weather", "news"], "auto"),
        ({"type": "function", "function": {"name": "weather"}}, ["weather"], "required"),
        ({"type": "function", "name": "weather"}, ["weather"], "required"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [FLAT]}, ["weather"], "auto"),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [TOOL]}},
            ["weather"],
            "required",
        ),
    ],
)
def test_a_choice_of_named_tools_leaves_these(
    choice: object, names: list[str], expected: str | None
) -> None:
    news = {"type": "function", "function": {"name": "news"}}
    answer = one({**REQUEST, "tools": [TOOL, news], "tool_choice": choice, "response": CHOICES})
    assert [tool["function"]["name"] for tool in answer.tools or []] == names
    assert answer.tool_choice == expected


def test_a_choice_without_recorded_tools_is_unknown() -> None:
    assert one({"messages": [USER], "response": CHOICES}).tool_choice is None


def test_several_choices_and_several_calls() -> None:
    twice = {"message": {**CALLED, "tool_calls": [CALL, CALL]}}
    text = {"message": {"role": "assistant", "content": "Sun."}}
    answers, _ = recorded_answers({**REQUEST, "response": {"choices": [twice, text]}})
    assert [len(answer.calls) for answer in answers] == [2, 0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
    ],
)
def test_arguments(arguments: object, expected: dict[str, Any]) -> None:
    call = {"function": {"name": "weather", "arguments": arguments}}
    message = {"role": "assistant", "tool_calls": [call]}
    assert one({**REQUEST, "output": message}).calls == [("weather", expected)]


TWICE = '{"x": 1, "x": 2}'


@pytest.mark.parametrize("arguments", ["{", "[1]", "3", '{"a": NaN}', "[" * 100_000, 7])
def test_arguments_that_are_no_object(arguments: object) -> None:
    call = {"function": {"name": "weather", "arguments": arguments}}
    answers, reasons = recorded_answers(
        {**REQUEST, "output": {"role": "assistant", "tool_calls": [call]}}
    )
    assert answers == []
    assert reasons[0].startswith('a call of "weather": the arguments are not a JSON object: ')
    assert len(reasons[0]) < 200


def test_a_key_that_appears_twice_says_nothing_of_what_is_right() -> None:
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": TWICE}}]}
    answers, reasons = recorded_answers({**REQUEST, "output": message})
    assert answers == []
    assert reasons == [f'a call of "a": the key "x" appears twice: {json.dumps(TWICE)}']


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ([], "expected an object with messages"),
        ({}, "no messages"),
        ({"messages": []}, "no messages"),
        (CHOICES, "no messages"),
        ({"messages": [7]}, "messages[0]: expected object, got int"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role: invalid enum value 'robot'"),
        ({"messages": [{"role": "\ud800"}]}, "messages[0].role: invalid enum value '?'"),
        (REQUEST, "no answer is recorded"),
        ({**REQUEST, "response": None}, "no answer is recorded"),
        ({**REQUEST, "response": "data: {}\n\n"}, "a stream of a kind that is not known"),
        ({**REQUEST, "response": "data: {"}, "a stream with data that is no JSON"),
        ({**REQUEST, "response": [CHUNK, CHUNK]}, "a stream that breaks off"),
        ({**REQUEST, "response": STREAMS["responses"][:1]}, "a stream that breaks off"),
        ({**REQUEST, "response": STREAMS["anthropic"][:-1]}, "a stream that breaks off"),
        ({**REQUEST, "response": [{"choices": [{"index": 1, "delta": {}}]}]}, "several answers"),
        (
            {**REQUEST, "response": [CHUNK, {"error": {"message": "sk-secret"}}]},
            "the answer is an error",
        ),
        (CHUNK, "a chunk of a stream, without its request"),
        ({**REQUEST, "response": {"error": {"message": "sk-secret"}}}, "the answer is an error"),
        (
            {**REQUEST, "response": {"choices": [{"message": CALLED, "finish_reason": "length"}]}},
            'the answer is not complete: its finish_reason is "length"',
        ),
        (
            {"input": "Hi", "response": {**RESPONSE, "status": "in_progress"}},
            'the answer is not complete: its status is "in_progress"',
        ),
        ({**REQUEST, "previous_response_id": "resp_1", "response": RESPONSE}, "stored by the provider"),
        ({**REQUEST, "tools": {"a": 1}, "response": CHOICES}, "expected a list of tools"),
        (
            {**REQUEST, "tools": [TOOL, {"type": "riddle"}], "response": CHOICES},
            'a tool of the type "riddle", which only its provider can run',
        ),
        (
            {"input": [USER, {"type": "riddle"}], "response": RESPONSE},
            'the prompt has a part of the type "riddle", which is not known here',
        ),
        (
            {**REQUEST, "messages": [{"role": "user", "content": [{"type": "tool_use"}]}, CALLED]},
            'the prompt has a part of the type "tool_use", which is not known here',
        ),
        (
            {**REQUEST, "messages": [{"role": "assistant", "tool_calls": [{"type": "custom"}]}]},
            "messages: a call of neither a function nor a custom tool",
        ),
    ],
)
def test_records_that_cannot_be_used_say_why(record: object, expected: str) -> None:
    text = reason(record)
    assert expected in text
    assert "sk-secret" not in text


@pytest.mark.parametrize("tool", [TOOL, FLAT, TOOL["function"], {**TOOL, "extra": 1}])
def test_forms_of_tools(tool: dict[str, Any]) -> None:
    assert looks_like_a_tool(tool)
    assert tool_definition(tool) == TOOL


def test_tools_once_each() -> None:
    assert tool_definitions([TOOL, FLAT]) == [TOOL]
    with pytest.raises(UnusableError, match='two different tools named "weather"'):
        tool_definitions([TOOL, {**FLAT, "description": "Another."}])


WORDS = (
    "messages role content tool_calls function name arguments type tools response choices message "
    "output input request body tool_choice object status id delta error text parameters"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS) | st.text(max_size=3),
            inner
            | st.sampled_from(["user", "assistant", "tool", "function", "function_call", "message"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)


def read(record: object) -> list[RecordedAnswer]:
    try:
        return recorded_answers(record)[0]
    except UnusableError:
        return []


@given(JSON)
def test_no_record_breaks_the_reader(record: object) -> None:
    answers = read(record)
    json.dumps([(answer.messages, answer.tools, answer.calls) for answer in answers])


@pytest.mark.parametrize("shape", ["request and response", "responses with items", "fine-tuning"])
@given(data=st.data())
def test_no_damage_to_a_record_breaks_the_reader(shape: str, data: st.DataObject) -> None:
    record = json.loads(json.dumps(SHAPES[shape]))
    holder = data.draw(st.sampled_from([holder for holder in _holders(record) if holder]))
    key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = data.draw(JSON)
    assert all(isinstance(arguments, dict) for answer in read(record) for _, arguments in answer.calls)


def _holders(value: Any) -> list[Any]:
    if not isinstance(value, (dict, list)):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(holder for member in inner for holder in _holders(member))]


def test_a_field_called_system_is_no_system_prompt_of_openai() -> None:
    assert one({**REQUEST, "system": "production", "response": CHOICES}).messages == [USER]


def test_an_answer_of_the_responses_api_repeats_the_tools() -> None:
    answer = one({"input": "Hi", "response": {**RESPONSE, "tools": [TOOL]}})
    assert answer.tools == one({"input": "Hi", "tools": [TOOL], "response": RESPONSE}).tools
    assert answer.tools
