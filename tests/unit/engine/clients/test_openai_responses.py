"""our own client over OpenAI's Responses API: which models take it, what is sent, what goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mock_server import MockServer

from pytest_tooleval.engine.clients.base import ChatAnswer
from pytest_tooleval.engine.clients.base import ChatRequest
from pytest_tooleval.engine.clients.openai_chat import OpenAIClient
from pytest_tooleval.engine.clients.openai_responses import ITEMS
from pytest_tooleval.engine.clients.openai_responses import responses_body
from pytest_tooleval.engine.conversation import converse
from pytest_tooleval.engine.models.spec import ModelSpec
from pytest_tooleval.engine.models.traits import needs_responses
from pytest_tooleval.engine.reply import read_reply
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.transcript import Reply

from ..fakes import WEATHER
from ..fakes import call
from ..fakes import case_of
from ..fakes import tool

THOUGHT = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I should search."}],
    "encrypted_content": "gAAAA-secret",
    "status": None,
}
TEXT = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
}
NEEDS = (
    "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. "
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)
ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."


def function_call(name: str, arguments: str = '{"city": "Paris"}') -> dict[str, Any]:
    return {
        "id": f"fc_{name}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{name}",
        "name": name,
        "arguments": arguments,
    }


def answer(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": list(items),
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 90,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 140,
        },
        **more,
    }


class Provider:
    """Serves `/responses`; refuses `/chat/completions` in these words, if any."""

    def __init__(self, *answers: dict[str, Any], refusal: str = "") -> None:
        self.answers = list(answers)
        self.refusal = refusal
        self.paths: list[str] = []

    def __call__(self, path: str, request: dict[str, Any]) -> tuple[int, object]:
        self.paths.append(path)
        if path.endswith("/chat/completions"):
            return 400, {"error": {"message": self.refusal, "type": "invalid_request_error"}}
        return 200, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def ask(spec: ModelSpec, *messages: dict[str, Any], times: int = 1, **sampling: Any) -> ChatAnswer:
    client = OpenAIClient(spec)
    question = ChatRequest(
        messages or [{"role": "user", "content": "?"}], [WEATHER], "required", sampling
    )
    try:
        for _ in range(times):
            found = await client.complete(question, 60.0)
    finally:
        await client.close()
    return found


def spec_of(server: MockServer, model: str = "openai/responses/gpt-x") -> ModelSpec:
    return ModelSpec("m", model=model, api_base=server.base_url)


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        ("gpt-4o", False),
        ("gpt-5", False),
        ("gpt-5.1", False),
        ("o4-mini", False),
        ("gpt-5.4", True),
        ("gpt-5.6-2027-01-01", True),
        ("gpt-6-sol", True),
        ("gpt-7", True),
        ("gpt-5-codex", True),
        ("o3-pro", True),
        ("computer-use-preview", True),
        ("gpt-oss-120b", False),
    ],
)
def test_which_models_openai_serves_there_alone(model: str, needed: bool) -> None:
    assert needs_responses(model) is needed


@pytest.mark.parametrize("model", ["openai/responses/gpt-x", "responses/gpt-x"])
async def test_a_name_may_ask_for_it(model: str) -> None:
    provider = Provider(answer(THOUGHT, function_call("get_weather")))
    with MockServer(respond=provider) as server:
        found = await ask(
            spec_of(server, model), temperature=0.0, max_tokens=100, reasoning_effort="low"
        )
    assert provider.paths == ["/v1/responses"]
    (body,) = server.bodies
    assert body == {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "model": "gpt-x",
        "input": [{"role": "user", "content": "?"}],
        "temperature": 0.0,
        "max_output_tokens": 100,
        "reasoning": {"effort": "low"},
        "tools": [{"type": "function", "strict": False, **WEATHER["function"]}],
        "tool_choice": "required",
    }
    assert found.message["tool_calls"] == [call("get_weather", '{"city": "Paris"}', "call_get_weather")]
    assert found.message["content"] is None
    assert found.message["reasoning_content"] == "I should search."
    assert found.finish_reason == "tool_calls"
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (50, 90, 64)


@pytest.mark.parametrize("refusal", [NEEDS, ONLY])
async def test_a_refusal_by_chat_completions_is_learned_once(refusal: str) -> None:
    provider = Provider(answer(TEXT), refusal=refusal)
    with MockServer(respond=provider) as server:
        await ask(spec_of(server, "openai/gpt-x"), times=2)
    assert provider.paths == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


async def test_any_other_refusal_is_an_error() -> None:
    provider = Provider(refusal="max_tokens is too large")
    with MockServer(respond=provider) as server, pytest.raises(ModelError, match="max_tokens is too"):
        await ask(spec_of(server, "openai/gpt-x"))
    assert provider.paths == ["/v1/chat/completions"]


async def test_a_model_that_does_not_reason_is_asked_for_no_reasoning() -> None:
    def respond(path: str, request: dict[str, Any]) -> tuple[int, object]:
        if "include" in request:
            text = "Encrypted content is not supported with this model."
            return 400, {"error": {"message": text, "param": "include"}}
        return 200, answer(TEXT)

    with MockServer(respond=respond) as server:
        await ask(spec_of(server), times=2)
        assert ["include" in body for body in server.bodies] == [True, False, False]
        await ask(spec_of(server, "openai/responses/gpt-4o"))
        assert len(server.bodies) == 4


async def test_items_go_back_as_they_came() -> None:
    first: list[dict[str, Any]] = [
        THOUGHT,
        TEXT,
        function_call("search"),
        {"type": "of tomorrow", "id": "x"},
    ]
    provider = Provider(answer(*first), answer(function_call("get_weather")))
    case = case_of(
        WEATHER, tool("search"), multi_turn=True, tool_choice="auto", mock_responses={"search": "x"}
    )
    with MockServer(respond=provider) as server:
        client = OpenAIClient(spec_of(server))

        async def ask(request: ChatRequest) -> Reply:
            found = await client.complete(request, 60.0)
            return read_reply(found, request, cached=False)

        transcript = await converse(case, ask, {})
        await client.close()
    assert [made.name for made in transcript.calls] == ["search", "get_weather"]
    thought = {name: value for name, value in THOUGHT.items() if value is not None}
    assert server.bodies[1]["input"] == [
        {"role": "user", "content": case.messages[0]["content"]},
        thought,
        *first[1:],
        {"type": "function_call_output", "call_id": "call_search", "output": "x"},
    ]


def test_a_message_that_was_changed_goes_back_as_it_is_now() -> None:
    made = call("search", '{"city": "Rome"}', "a")
    message = {"role": "assistant", "content": "Hm.", "tool_calls": [made], ITEMS: [THOUGHT, TEXT]}
    body = responses_body({"messages": [message]}, encrypted=True)
    assert body["input"] == [
        {"role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "a", "name": "search", "arguments": '{"city": "Rome"}'},
    ]


def test_reasoning_that_nobody_kept_does_not_go_back() -> None:
    items = [{**THOUGHT, "encrypted_content": None}, function_call("search")]
    calls = [call("search", '{"city": "Paris"}', "call_search")]
    message = {"role": "assistant", "content": None, "tool_calls": calls, ITEMS: items}
    assert responses_body({"messages": [message]}, encrypted=True)["input"] == items[1:]


def test_a_prompt_that_holds_calls_and_pictures() -> None:
    parts = [
        {"type": "text", "text": "This?"},
        {"type": "image_url", "image_url": {"url": "https://x/y"}},
    ]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": parts},
        {"role": "assistant", "tool_calls": [call("search", id="a")]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "sunny"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}]},
    ]
    assert responses_body({"messages": messages}, encrypted=False)["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "This?"},
                {"type": "input_image", "image_url": "https://x/y", "detail": "auto"},
            ],
        },
        {"type": "function_call", "call_id": "a", "name": "search", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "sunny"}],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]},
    ]


def test_parameters_that_lie_in_objects_here() -> None:
    chat = {"reasoning_effort": "low", "reasoning": {"summary": "auto"}, "verbosity": "low"}
    for order in (chat, dict(reversed(chat.items()))):
        body = responses_body(order, encrypted=False)
        assert body["reasoning"] == {"effort": "low", "summary": "auto"}
        assert body["text"] == {"verbosity": "low"}


REFUSED = {**TEXT, "content": [{"type": "refusal", "refusal": "I can't help with that."}]}


async def test_refusals_and_ends() -> None:
    with MockServer(respond=Provider(answer(REFUSED))) as server:
        found = await ask(spec_of(server))
        assert (found.message["content"], found.message["refusal"]) == (None, "I can't help with that.")
    for reason, finish in (("max_output_tokens", "length"), ("content_filter", "content_filter")):
        cut = answer(THOUGHT, status="incomplete", incomplete_details={"reason": reason})
        with MockServer(respond=Provider(cut)) as server:
            assert (await ask(spec_of(server))).finish_reason == finish


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("server_error", "server", True),
        ("rate_limit_exceeded", "rate_limit", True),
        ("invalid_prompt", "bad_request", False),
    ],
)
async def test_a_failure_in_a_200(code: str, kind: str, retryable: bool) -> None:
    failed = answer(status="failed", error={"code": code, "message": "It broke."})
    with (
        MockServer(respond=Provider(failed)) as server,
        pytest.raises(ModelError, match="It broke") as raised,
    ):
        await ask(spec_of(server))
    assert (raised.value.kind, raised.value.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    "document", [{}, {"output": None}, {"output": 5}, {"error": "no", "output": []}]
)
async def test_what_is_no_answer(document: dict[str, Any]) -> None:
    with MockServer(respond=lambda path, body: (200, document)) as server, pytest.raises(ModelError):
        await ask(spec_of(server))


async def test_an_answer_of_any_shape_is_read() -> None:
    odd = [
        None,
        3,
        {},
        {"type": "message", "content": 5},
        {"type": "function_call"},
        {"type": "reasoning"},
    ]
    with MockServer(respond=lambda path, body: (200, {"output": odd, "usage": 3})) as server:
        found = await ask(spec_of(server))
    json.dumps(found.message)
    assert read_reply(found, ChatRequest([], [tool("f")]), cached=False).calls[0].name == ""


@pytest.mark.parametrize(
    ("model", "given", "lean"),
    [
        ("azure/gpt-5.6", {"api_key_env": "MY_API_KEY"}, True),
        ("azure/responses/mine", {"api_key_env": "MY_API_KEY"}, True),
        ("azure/gpt-5.6", {}, False),  # litellm logs in
        ("azure/gpt-4o", {"api_key_env": "MY_API_KEY"}, False),
        ("azure/gpt-5.6", {"api_key_env": "MY_API_KEY", "extra": {"api_version": "x"}}, True),
        ("azure/gpt-5.6", {"api_key_env": "MY_API_KEY", "extra": {"organization": "x"}}, False),
    ],
)
def test_which_of_azures_models_take_this_lane(model: str, given: dict[str, Any], lean: bool) -> None:
    assert ModelSpec("m", model=model, **given).protocol is ("openai" if lean else None)


@pytest.mark.parametrize("ending", ["", "/", "/openai", "/openai/v1/"])
@pytest.mark.parametrize("model", ["azure/gpt-5.6", "azure/responses/gpt-5.6"])
async def test_azure(monkeypatch: pytest.MonkeyPatch, model: str, ending: str) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "sk-mine-123456")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    provider = Provider(answer(TEXT))
    with MockServer(respond=provider) as server:
        monkeypatch.setenv("AZURE_API_BASE", server.base_url.removesuffix("/v1") + ending)
        found = await ask(ModelSpec("m", model=model), api_version="2024-10-21")
    assert provider.paths == ["/openai/v1/responses"]
    assert server.bodies[0]["model"] == "gpt-5.6"
    assert "api_version" not in server.bodies[0]
    assert server.headers[0]["authorization"] == "Bearer sk-mine-123456"
    assert "openai-organization" not in server.headers[0]
    assert found.cost_usd


async def test_azure_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_API_BASE", raising=False)
    monkeypatch.setenv("AZURE_API_KEY", "sk-mine-123456")
    with pytest.raises(ModelError, match="AZURE_API_BASE: expected an address"):
        await ask(ModelSpec("m", model="azure/gpt-5.6"))
