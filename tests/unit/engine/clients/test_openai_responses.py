"""our own client over OpenAI's Responses API: which models take it, what is sent, what goes back."""

from __future__ import annotations

from typing import Any

import pytest
from builders import call
from mock_server import MockServer

from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.clients.openai_responses import responses_body
from pytest_tooleval.engine.exchange.chat import ITEMS, ChatRequest
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.models.traits import needs_responses
from pytest_tooleval.errors import ModelError

from ..fakes import WEATHER
from .asking import REQUEST, USER, ask

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


def spec_of(server: MockServer, model: str = "openai/responses/gpt-x") -> HttpModel:
    return HttpModel("m", model=model, api_base=server.base_url)


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


async def test_a_name_may_ask_for_it() -> None:
    provider = Provider(answer(THOUGHT, function_call("get_weather")))
    with MockServer(respond=provider) as server:
        sampling = {"temperature": 0.0, "max_tokens": 100, "reasoning_effort": "low"}
        found = await ask(spec_of(server), ChatRequest([USER], [WEATHER], "required", sampling))
    assert provider.paths == ["/v1/responses"]
    (body,) = server.bodies
    assert body == {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "model": "gpt-x",
        "input": [USER],
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
        client = make_client(spec_of(server, "openai/gpt-x"))
        for _ in range(2):
            await client.complete(REQUEST, 60.0)
        await client.close()
    assert provider.paths == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


async def test_a_model_that_does_not_reason_is_asked_for_no_reasoning() -> None:
    def respond(path: str, request: dict[str, Any]) -> tuple[int, object]:
        if "include" in request:
            text = "Encrypted content is not supported with this model."
            return 400, {"error": {"message": text, "param": "include"}}
        return 200, answer(TEXT)

    with MockServer(respond=respond) as server:
        client = make_client(spec_of(server))
        for _ in range(2):
            await client.complete(REQUEST, 60.0)
        await client.close()
        assert ["include" in body for body in server.bodies] == [True, False, False]
        await ask(spec_of(server, "openai/responses/gpt-4o"))
        assert len(server.bodies) == 4


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


async def test_a_limit_has_the_name_that_it_has_in_chat() -> None:
    cut = answer(THOUGHT, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    with MockServer(respond=Provider(cut)) as server:
        assert (await ask(spec_of(server))).finish_reason == "length"


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
