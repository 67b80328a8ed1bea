"""Our own clients for Anthropic and Google: what they send, where to, and what they read.

Whether the providers take it is seen in `tests/contracts`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import call, tool
from mock_server import MockServer

from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ModelError

from ..fakes import WEATHER
from .asking import CLAUDE, GEMINI, RESPONSES, USER, Document, answered, ask, talk


def claude(*content: Document, **more: Any) -> Document:
    return {"model": "claude-x", "content": [*content], "stop_reason": "end_turn", **more}


def gemini(*parts: Document, **more: Any) -> Document:
    content = {"role": "model", "parts": [*parts]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}], **more}


def used(name: str = "get_weather", **arguments: Any) -> Document:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def called(name: str = "get_weather", **arguments: Any) -> Document:
    return {"functionCall": {"name": name, "args": arguments}}


# Where to, and with which key.


async def test_a_token_in_place_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-123456")
    with MockServer(respond=lambda path, body: (200, claude())) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.port}")
        await ask(HttpModel("m", model=CLAUDE))
    assert server.headers[0]["authorization"] == "Bearer token-123456"
    assert "x-api-key" not in server.headers[0]


def test_a_login_is_left_to_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "rule-1")
    assert HttpModel("m", model=CLAUDE).protocol is None
    assert HttpModel("m", model=CLAUDE, api_key_env="MY_KEY").protocol == "anthropic"


# What goes back as it came.

THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "s"}


@pytest.mark.parametrize(
    "content",
    [
        [THOUGHT, {"type": "text", "text": "I look."}, used()],
        [{"type": "redacted_thinking", "data": "xyz"}, used(city="Paris")],
        [{"type": "text", "text": "First."}, {**THOUGHT, "thinking": ""}, used()],
        [used(), {"type": "text", "text": "And this."}],
    ],
)
async def test_claudes_blocks_go_back_in_their_order(content: list[Document]) -> None:
    answer, _ = await talk(CLAUDE, claude(*content))
    _, body = await talk(CLAUDE, claude(), *answered(answer))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == content


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "I look."}, {**called(city="Paris"), "thoughtSignature": "c2ln"}, called(city="Rome")],
        [{"text": "Hm", "thought": True}, {"text": "I look.", "thoughtSignature": "c2ln"}, called()],
        [
            {
                "functionCall": {"name": "get_weather", "id": "fc-1", "args": {}},
                "thoughtSignature": "c2ln",
            }
        ],
    ],
)
async def test_geminis_parts_go_back_in_their_order(parts: list[Document]) -> None:
    answer, _ = await talk(GEMINI, gemini(*parts))
    _, body = await talk(GEMINI, gemini(), *answered(answer))
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    unsigned = {"thoughtSignature": body["contents"][1]["parts"][-1].get("thoughtSignature")}
    assert body["contents"][1]["parts"] in (parts, [*parts[:-1], {**parts[-1], **unsigned}])
    results = [part["functionResponse"] for part in body["contents"][2]["parts"]]
    ids = [part["functionCall"].get("id") for part in parts if "functionCall" in part]
    assert [(one["name"], one.get("id")) for one in results] == [("get_weather", id) for id in ids]


async def test_items_of_responses_go_back_without_nulls() -> None:
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}
    made = {"type": "function_call", "call_id": "a", "name": "get_weather", "arguments": "{}"}
    items = [thought, text, made, {"type": "of tomorrow", "id": "x"}]
    answer, _ = await talk(RESPONSES, {"output": [{**thought, "status": None}, *items[1:]]})
    _, body = await talk(RESPONSES, {"output": []}, *answered(answer))
    result = {"type": "function_call_output", "call_id": "a", "output": "rain"}
    assert body["input"] == [USER, *items, result]


async def test_the_blocks_of_one_provider_mean_nothing_to_another() -> None:
    answer, _ = await talk(CLAUDE, claude(used(), {"type": "text", "text": "And this."}))
    assert "anthropic_content" in answer.message
    _, body = await talk("openai/mock", {"choices": [{"message": {"content": "Hi"}}]}, *answered(answer))
    assert "anthropic_content" not in body["messages"][1]


# What is sent.


async def test_names_that_anthropic_does_not_take() -> None:
    tools = [tool("get.weather"), tool("get_weather"), tool("a" * 130), tool("a" * 131)]
    answer, body = await talk(CLAUDE, claude(used("get_weather_2")), tools=tools)
    names = [one["name"] for one in body["tools"]]
    assert names == ["get_weather_2", "get_weather", "a" * 128, "a" * 120 + "_2"]
    assert answer.message["tool_calls"][0]["function"]["name"] == "get.weather"
    _, body = await talk(CLAUDE, claude(), *answered(answer), tools=tools)
    assert body["messages"][1]["content"][0]["name"] == "get_weather_2"


async def test_what_the_system_says_later_stands_where_it_was_said() -> None:
    messages: list[Document] = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call("get_weather", id="call:1")]},
        {"role": "system", "content": "It is late."},
        {"role": "tool", "tool_call_id": "call:1", "content": "rain"},
    ]
    _, body = await talk(CLAUDE, claude(), *messages)
    assert [block["text"] for block in body["system"]] == ["Be brief.", "Be kind."]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"},
        {"type": "text", "text": "It is late."},
    ]


@pytest.mark.parametrize(("model", "field"), [(CLAUDE, "system"), (GEMINI, "systemInstruction")])
async def test_an_empty_system_prompt_is_none(model: str, field: str) -> None:
    answer = claude() if model == CLAUDE else gemini()
    _, body = await talk(model, answer, {"role": "system", "content": " "}, USER)
    assert field not in body


async def test_calls_in_the_prompt_of_a_case_without_tools() -> None:
    answer, _ = await talk(CLAUDE, claude(used()))
    _, body = await talk(CLAUDE, claude(), *answered(answer), tools=())
    assert [one["name"] for one in body["tools"]] == ["get_weather"]
    assert body["tool_choice"] == {"type": "none"}


IMAGE = "data:image/png;base64,aGk="
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk="}}


async def test_images_and_files() -> None:
    linked = {"type": "image_url", "image_url": "https://x/y.png"}
    content = [{"type": "image_url", "image_url": {"url": IMAGE}}, linked, FILE]
    message = {"role": "user", "content": content}
    _, body = await talk(CLAUDE, claude(), message)
    data = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert body["messages"][0]["content"] == [
        {"type": "image", "source": data},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "document", "source": {**data, "media_type": "application/pdf"}},
    ]
    _, body = await talk(GEMINI, gemini(), message)
    assert body["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"fileUri": "https://x/y.png"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
    ]
    audio = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk="}}]}
    for model in (CLAUDE, GEMINI):
        with pytest.raises(ModelError, match="'input_audio' cannot be sent"):
            await talk(model, {}, audio)


@pytest.mark.parametrize(
    ("model", "sampling", "sent"),
    [
        ("claude-haiku-4-5", {}, {"max_tokens": 64000}),
        ("claude-of-tomorrow", {"max_tokens": 7}, {"max_tokens": 7}),
        ("claude-of-tomorrow", {}, {"max_tokens": 4096}),
        (
            "claude-haiku-4-5",
            {"reasoning_effort": "low"},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 5120},
        ),
        (
            "claude-sonnet-5",
            {"reasoning_effort": "minimal"},
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
            },
        ),
        (
            "claude-sonnet-5",
            {"thinking": {"type": "enabled", "budget_tokens": 5000}},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        (
            "claude-haiku-4-5",
            {"parallel_tool_calls": False},
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
        ("claude-haiku-4-5", {"stop": "x", "top_k": 3}, {"stop_sequences": ["x"], "top_k": 3}),
        ("claude-haiku-4-5", {"seed": 3, "extra_body": {"a": 1}}, {"seed": 3, "a": 1}),
    ],
)
async def test_parameters_of_claude(model: str, sampling: Document, sent: Document) -> None:
    _, body = await talk(f"anthropic/{model}", claude(), **sampling)
    assert {name: body.get(name) for name in sent} == sent
    assert "stop" not in body
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(
    ("model", "sampling", "config"),
    [
        ("gemini-2.5-pro", {"temperature": 0.0, "seed": 1}, {"temperature": 0.0, "seed": 1}),
        (
            "gemini-2.5-pro",
            {"max_tokens": 9, "top_p": 0.5, "stop": ["x"]},
            {"maxOutputTokens": 9, "topP": 0.5, "stopSequences": ["x"]},
        ),
        (
            "gemini-2.5-pro",
            {"reasoning_effort": "low"},
            {"thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": True}},
        ),
        (
            "gemini-2.5-pro",
            {"temperature": 0.0, "extra_body": {"generationConfig": {"candidateCount": 1}}},
            {"temperature": 0.0, "candidateCount": 1},
        ),
        (
            "gemini-3-pro",
            {"reasoning_effort": "none"},
            {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": False}},
        ),
        (
            "gemini-2.5-pro",
            {"thinking": {"type": "enabled", "budget_tokens": 7}},
            {"thinkingConfig": {"thinkingBudget": 7, "includeThoughts": True}},
        ),
    ],
)
async def test_parameters_of_gemini(model: str, sampling: Document, config: Document) -> None:
    _, body = await talk(f"gemini/{model}", gemini(), **sampling)
    assert body["generationConfig"] == config
    declared = body["tools"][0]["functionDeclarations"][0]
    assert declared["parametersJsonSchema"] == WEATHER["function"]["parameters"]


# What is read.


async def test_claudes_cache_has_its_prices() -> None:
    usage = {
        "input_tokens": 1000,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 1000,
        "output_tokens": 1000,
    }
    answer, _ = await talk(CLAUDE, claude({"type": "text", "text": "Hi"}, usage=usage))
    assert (answer.prompt_tokens, answer.completion_tokens, answer.reasoning_tokens) == (3000, 1000, 0)
    assert answer.cost_usd == pytest.approx(0.001 + 0.00125 + 0.0001 + 0.005)


ODD: list[Any] = [
    None,
    3,
    {},
    {"type": "text"},
    {"type": "text", "text": 4},
    {"type": "tool_use"},
    {"x": []},
]


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, RESPONSES])
async def test_an_answer_of_any_shape_is_read(model: str) -> None:
    odd = [*ODD, {"functionCall": {}}, {"functionCall": 5}, {"type": "tool_use", "id": 4, "input": "x"}]
    odd += [{"type": "message", "content": 5}, {"type": "function_call"}, {"type": "reasoning"}]
    documents = {CLAUDE: claude(*odd), GEMINI: gemini(*odd), RESPONSES: {"output": odd}}
    answer, _ = await talk(model, {**documents[model], "usage": 3, "usageMetadata": 3})
    json.dumps(answer.message)
    calls = read_reply(answer, ChatRequest([], [WEATHER]), cached=False).calls
    assert calls
    assert not any(call.name for call in calls)


async def test_a_call_that_did_not_come_is_no_abstention() -> None:
    answer, _ = await talk(CLAUDE, {**claude(), "stop_reason": "tool_use"})
    found = read_reply(answer, ChatRequest([], [WEATHER]), cached=False).no_answer
    assert found is not None
    assert found.category == "malformed_call"


async def test_code_that_gemini_runs_itself_is_no_answer() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    answer, _ = await talk(GEMINI, gemini({"thought": True, "text": "Hm."}, code))
    found = read_reply(answer, ChatRequest([], [WEATHER]), cached=False).no_answer
    assert found is not None
    assert found.category == "empty_answer"


@pytest.mark.parametrize("model", [CLAUDE, GEMINI, RESPONSES])
@pytest.mark.parametrize(
    "document",
    [
        *({}, [], 5, {"content": 5}, {"candidates": 5}, {"candidates": []}),
        {"candidates": [], "promptFeedback": {"safetyRatings": []}},
        {"error": {"message": "no"}, "content": []},
        *({"output": None}, {"output": 5}, {"error": "no", "output": []}),
    ],
)
async def test_what_is_no_answer(model: str, document: object) -> None:
    with pytest.raises(ModelError):
        await talk(model, document)
