"""litellm itself: providers of other kinds, silence, and a clean end."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from builders import tool
from mock_server import MockServer, http

from pytest_tooleval.engine.clients.litellm_client import LitellmClient, load_litellm
from pytest_tooleval.engine.clients.litellm_connections import guard_connections
from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.clients.transport import BODY_BYTES
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ErrorKind, ModelError
from pytest_tooleval.record.transcript import Reply

from ..fakes import WEATHER, case_of, held
from .asking import KEY, REQUEST, ask

pytestmark = pytest.mark.slow


def spec_of(model: str, server: MockServer, api: str | None = "litellm") -> HttpModel:
    base = f"http://127.0.0.1:{server.port}"
    return HttpModel("m", model=model, api=api, api_base=base, api_key_env="MY_API_KEY")


@pytest.fixture(params=[None, "litellm"], ids=["by itself", "litellm"])
def api(request: pytest.FixtureRequest) -> str | None:
    """Anthropic and Google are asked by our own clients, unless litellm is meant."""
    chosen: str | None = request.param
    return chosen


def anthropic(type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message}}


def google(status: int, message: str, quota: str = "") -> dict[str, Any]:
    details = [{"quotaId": quota}] if quota else []
    return {"error": {"code": status, "message": message, "status": "X", "details": details}}


CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.0-flash"
QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("status", "type", "message", "kind", "retryable"),
    [
        (429, "rate_limit_error", "50 requests per minute", "rate_limit", True),
        (529, "overloaded_error", "Overloaded", "rate_limit", True),
        (500, "api_error", "Internal", "server", True),
        (401, "authentication_error", f"invalid x-api-key {KEY}", "credentials", False),
        (403, "permission_error", "no permission", "credentials", False),
        (404, "not_found_error", "model: claude-x", "bad_request", False),
        (400, "invalid_request_error", "Your credit balance is too low", "quota", False),
        (400, "invalid_request_error", "messages: bad", "bad_request", False),
    ],
)
async def test_anthropic(
    api: str | None, status: int, type: str, message: str, kind: ErrorKind, retryable: bool
) -> None:
    await fails(
        CLAUDE, api, status, anthropic(type, message), kind, retryable, message.removesuffix(KEY)
    )


@pytest.mark.parametrize(
    ("status", "message", "quota", "kind", "retryable"),
    [
        (429, QUOTA, "GenerateRequestsPerMinutePerProjectPerModel", "rate_limit", True),
        (429, QUOTA, "GenerateRequestsPerDayPerProjectPerModel", "quota", False),
        (503, "The model is overloaded.", "", "rate_limit", True),
        (400, "API key not valid. Please pass a valid API key.", "", "credentials", False),
        (400, 'Unknown name "default"', "", "bad_request", False),
    ],
)
async def test_google(
    api: str | None, status: int, message: str, quota: str, kind: ErrorKind, retryable: bool
) -> None:
    await fails(GEMINI, api, status, google(status, message, quota), kind, retryable, message)


async def fails(
    model: str, api: str | None, status: int, body: object, kind: ErrorKind, retryable: bool, text: str
) -> None:
    with MockServer(respond=lambda path, request: (status, body), retry_after="3") as server:
        with pytest.raises(ModelError) as raised:
            await ask(spec_of(model, server, api))
        assert server.requests == 1
    error = raised.value
    assert (error.kind, error.retryable) == (kind, retryable)
    assert text in error.message
    assert KEY not in error.message
    assert "{" not in error.message
    assert error.retry_after == (3.0 if status == 429 else None)


def gemini(**candidate: Any) -> dict[str, Any]:
    usage = {"promptTokenCount": 5, "totalTokenCount": 5}
    return {"candidates": [{"index": 0, **candidate}], "usageMetadata": usage}


def claude(reason: str, **more: Any) -> dict[str, Any]:
    shape = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": []}
    return {**shape, "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}, **more}


def routed(**choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": ""}
    return {"id": "x", "object": "chat.completion", "choices": [{"message": message, **choice}]}


BLOCK = {"promptFeedback": {"blockReason": "SAFETY"}}


@pytest.mark.parametrize(
    ("model", "document", "ended"),
    [
        (GEMINI, gemini(finishReason="SAFETY"), ("SAFETY", "")),
        (GEMINI, BLOCK, ("SAFETY", "the prompt was blocked")),
        (
            GEMINI,
            gemini(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed call"),
            ("MALFORMED_FUNCTION_CALL", "Malformed call"),
        ),
        (GEMINI, gemini(finishReason="MAX_TOKENS", content={"role": "model"}), ("MAX_TOKENS", "")),
        (CLAUDE, claude("refusal", stop_details={"explanation": "No."}), ("refusal", "No.")),
        (CLAUDE, claude("model_context_window_exceeded"), ("model_context_window_exceeded", "")),
        (
            "openrouter/google/gemini-2.5-pro",
            routed(finish_reason="error", native_finish_reason="MALFORMED_FUNCTION_CALL"),
            ("MALFORMED_FUNCTION_CALL", ""),
        ),
    ],
    ids=str,
)
async def test_the_providers_own_reason(
    api: str | None, model: str, document: dict[str, Any], ended: tuple[str, str]
) -> None:
    """litellm makes `stop` or `content_filter` of these."""
    with MockServer(respond=lambda path, request: (200, document)) as server:
        answer = await ask(spec_of(model, server, api))
    assert (answer.finish_reason, answer.finish_message) == ended
    assert answer.message["content"] is None or not answer.message["content"]


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        (CLAUDE, "ANTHROPIC_API_KEY"),
        ("claude-sonnet-5", "ANTHROPIC_API_KEY"),
        (GEMINI, "GEMINI_API_KEY"),
        ("together_ai/m", "TOGETHERAI_API_KEY"),
    ],
)
async def test_a_missing_key_is_told_by_its_variable_before_litellm_is_asked(
    model: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(load_litellm(), "acompletion", None)
    mine = LitellmClient(HttpModel("m", model=model))
    with pytest.raises(ModelError, match=f"the environment variable {variable} is not set") as raised:
        await mine.complete(REQUEST, 60.0)
    assert (raised.value.kind, raised.value.fatal) == ("credentials", True)


async def test_another_variable_of_the_provider_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setattr(load_litellm(), "acompletion", _answers)
    answer = await LitellmClient(HttpModel("m", model=GEMINI)).complete(REQUEST, 60.0)
    assert answer.message["content"] == "Hello"


async def _answers(**arguments: Any) -> Any:
    return load_litellm().mock_completion(model="m", messages=[], mock_response="Hello")


@pytest.mark.parametrize(
    ("failure", "kind", "fatal", "message"),
    [
        (
            ModuleNotFoundError("No module named 'google'", name="google.auth"),
            "bad_request",
            True,
            r"No module named 'google'; pip install 'litellm\[google\]'",
        ),
        (
            ValueError("no x"),
            "bad_request",
            False,
            "litellm failed: ValueError: no x$",
        ),
        (
            PermissionError("Unable to load vertex credentials"),
            "credentials",
            True,
            "missing or wrong credentials for vertex_ai/m: litellm failed",
        ),
    ],
)
async def test_a_failure_of_litellm_itself_is_not_retried(
    failure: Exception, kind: str, fatal: bool, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm = load_litellm()

    async def failing(**arguments: Any) -> None:
        try:
            raise failure
        except Exception as error:
            text = f"{error}\nTraceback (most recent call last):\n  File ..."
            raise litellm.APIConnectionError(text, "vertex_ai", "m") from error

    monkeypatch.setattr(litellm, "acompletion", failing)
    with pytest.raises(ModelError, match=message) as raised:
        await LitellmClient(HttpModel("m", model="vertex_ai/m")).complete(REQUEST, 60.0)
    error = raised.value
    assert (error.kind, error.retryable, error.fatal) == (kind, False, fatal)
    assert "Traceback" not in error.message


# What litellm reads from the environment for each of these, were it given no key.
PROVIDERS = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "custom_openai/m": "OPENAI_API_KEY",
    "litellm_proxy/m": "LITELLM_PROXY_API_KEY",
    "xinference/m": "XINFERENCE_API_KEY",
    "hosted_vllm/m": "HOSTED_VLLM_API_KEY",
    "deepseek/deepseek-chat": "DEEPSEEK_API_KEY",
    "groq/m": "GROQ_API_KEY",
    "mistral/m": "MISTRAL_API_KEY",
    "together_ai/m": "TOGETHERAI_API_KEY",
    "openrouter/m": "OPENROUTER_API_KEY",
    "ollama_chat/m": "OLLAMA_API_KEY",
    "databricks/m": "DATABRICKS_API_KEY",
    "huggingface/m": "HF_TOKEN",
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0": "AWS_BEARER_TOKEN_BEDROCK",
    "amazon_nova/m": "AMAZON_NOVA_API_KEY",
    CLAUDE: "ANTHROPIC_API_KEY",
    "anthropic/claude-opus-4-1": "ANTHROPIC_AUTH_TOKEN",
    GEMINI: "GEMINI_API_KEY",
}


@pytest.mark.parametrize("model", PROVIDERS)
async def test_no_key_of_a_provider_travels_to_another_host(
    monkeypatch: pytest.MonkeyPatch, model: str, api: str | None
) -> None:
    for name in PROVIDERS.values():
        monkeypatch.setenv(name, f"planted-{name}")
    paths: list[str] = []
    with MockServer(respond=lambda path, request: paths.append(path)) as server:
        spec = HttpModel("m", model=model, api=api, api_base=server.base_url)
        with contextlib.suppress(ModelError):  # what comes back is of OpenAI's kind
            await ask(spec, ChatRequest(REQUEST.messages))
    assert paths
    assert "planted" not in str(server.headers) + str(server.bodies) + str(paths)


@pytest.mark.parametrize(
    "table",
    [
        {"model": "gigachat/GigaChat"},
        {"model": "watsonx/ibm/granite"},
        {"model": "vertex_ai/gemini-2.0-flash"},
        {"model": "azure/gpt-4o"},
        {"model": "gemini-2.5-pro"},
        {"model": "openai/m", "extra": {"custom_llm_provider": "gigachat"}},
    ],
    ids=str,
)
async def test_no_login_on_this_machine_is_used_for_another_host(
    monkeypatch: pytest.MonkeyPatch, table: dict[str, Any]
) -> None:
    monkeypatch.setenv("GIGACHAT_ACCESS_TOKEN", "planted")
    with MockServer() as server:
        mine = LitellmClient(HttpModel("m", api_base=server.base_url, **table))
        with pytest.raises(ModelError, match="api_key_env") as raised:
            await mine.complete(REQUEST, 60.0)
        assert server.requests == 0
    assert (raised.value.kind, raised.value.fatal) == ("credentials", True)


# The ways that litellm has to a provider: the openai library, handlers of its own, threads.
REDIRECTED = [
    *PROVIDERS,
    "azure/gpt-4o",
    "azure_ai/m",
    "bedrock/invoke/anthropic.claude-3-5-sonnet-20240620-v1:0",
    "cohere_chat/m",
    "fireworks_ai/m",
    "maritalk/m",
    "ollama/m",
    "snowflake/m",
    "text-completion-openai/m",
    "xai/m",
]


@pytest.mark.parametrize("disabled", ["False", "True"])
@pytest.mark.parametrize("model", REDIRECTED)
async def test_no_redirect_is_followed(
    monkeypatch: pytest.MonkeyPatch, model: str, disabled: str
) -> None:
    # Without aiohttp litellm lets httpx make the connections.
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", disabled)
    load_litellm().in_memory_llm_clients_cache.flush_cache()
    with MockServer() as other:
        location = f"Location: http://localhost:{other.port}/v1"
        with MockServer(raw=http(b"", 307, location)) as server:
            spec = spec_of(model, server)
            with pytest.raises(ModelError, match="redirects to http://localhost") as raised:
                await ask(spec, ChatRequest(REQUEST.messages))
        assert other.requests == 0
    assert (raised.value.kind, raised.value.fatal) == ("bad_request", True)
    assert KEY not in raised.value.message


@pytest.mark.parametrize("model", ["openai/m", CLAUDE, "amazon_nova/m"])
async def test_a_body_beyond_all_measure_is_not_read(model: str) -> None:
    with (
        MockServer(raw=http(b" " * (BODY_BYTES + 1))) as server,
        pytest.raises(ModelError, match="the answer is longer than 32 MiB") as raised,
    ):
        await ask(spec_of(model, server))
    assert (raised.value.kind, raised.value.retryable) == ("bad_response", False)


async def test_litellms_own_aiohttp_is_not_used() -> None:
    mine = LitellmClient(HttpModel("m", model="aiohttp_openai/m", api_base="http://127.0.0.1:1"))
    with pytest.raises(ModelError, match="use openai/NAME") as raised:
        await mine.complete(REQUEST, 60.0)
    assert raised.value.fatal


@pytest.mark.parametrize("packing", ["gzip", "br"])
@pytest.mark.parametrize("model", [CLAUDE, "amazon_nova/m"])
async def test_a_packing_that_was_not_asked_for_is_not_opened(model: str, packing: str) -> None:
    with (
        MockServer(raw=http(b"x", 200, f"Content-Encoding: {packing}")) as server,
        pytest.raises(ModelError, match="an encoding that was not requested") as raised,
    ):
        await ask(spec_of(model, server))
    assert raised.value.kind == "bad_response"


async def test_a_proxy_where_httpx_makes_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    paths: list[str] = []
    with MockServer(respond=lambda path, body: paths.append(path)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        load_litellm().in_memory_llm_clients_cache.flush_cache()
        mine = LitellmClient(HttpModel("m", model="openai/m", api_base="http://model.invalid/v1"))
        await mine.complete(REQUEST, 60.0)
        await mine.close()
    load_litellm().in_memory_llm_clients_cache.flush_cache()
    assert paths == ["http://model.invalid/v1/chat/completions"]


def test_a_litellm_of_another_build_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = load_litellm()
    from litellm.llms.custom_httpx import http_handler

    monkeypatch.setattr(litellm, "in_memory_llm_clients_cache", litellm.in_memory_llm_clients_cache)
    unguarded = http_handler.AsyncHTTPHandler()
    monkeypatch.setattr(http_handler, "get_async_httpx_client", lambda provider: unguarded)
    with pytest.raises(ModelError, match="install another one") as raised:
        guard_connections(litellm)
    assert raised.value.fatal


async def test_broken_arguments_in_a_chain_are_the_models_failure() -> None:
    """litellm cannot send arguments to Claude that are not JSON; a chain must not end as an error."""

    async def broken(role: str, request: ChatRequest) -> Reply:
        if len(request.messages) > 1:
            answer = await mine.complete(request, 60.0)
            return read_reply(answer, request, cached=False)
        call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{broken"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return read_reply(ChatAnswer(message), request, cached=False)

    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Sorry."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    with MockServer(respond=lambda path, request: (200, body)) as server:
        mine = make_client(spec_of(CLAUDE, server))
        case = case_of(WEATHER, tool("search"), multi_turn=True, max_tokens=9)
        transcript = await held(case, broken)
        await mine.close()
    assert transcript.calls[0].raw_arguments == "{broken"
    assert server.bodies[0]["messages"][1]["content"][0]["input"] == {"invalid_arguments": "{broken"}


def test_a_process_is_silent_and_ends_at_once() -> None:
    """Nothing is printed, warned of or left open, and no key is told, whatever a server does."""
    done = subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("litellm_process.py")],
        capture_output=True, text=True, timeout=600, check=False,
        env={"PATH": "", "HOME": "/nonexistent", "MY_API_KEY": KEY, "MY_LOGIN": KEY},
    )  # fmt: skip
    silent, _, logged = done.stderr.partition("LOGGING\n")
    assert silent == ""
    errors, ended = done.stdout.splitlines()
    assert time.time() - float(ended) < 60.0
    assert "the key in MY_API_KEY was refused" in errors
    assert KEY not in done.stdout + done.stderr
    # Only a handler of the user's own writes what litellm logs, and to it the model gives no orders.
    assert "finish_reason" in logged
    assert "\x1b" not in logged
    assert "\n::" not in logged


@pytest.mark.nightly
def test_all_faults_at_once() -> None:
    """All are answered, nothing is asked twice once answered, nor `required` for ever once refused."""
    from ..faults import answers_under

    faults = {
        "429": 7,
        "500": 11,
        "503": 9,
        "reset": 13,
        "garbage": 71,  # a second one would be given up
        "half": 19,
        "hang": 23,
        "refuse-required": 5,
    }
    outcome = answers_under(faults, count=60, api="litellm")
    assert outcome.errors == []
    assert (outcome.answered, outcome.repeats) == (60, 0)
    assert json.dumps(sorted(outcome.choices)) == '["auto", "required"]'


async def test_a_package_that_litellm_lacks_for_responses_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def lacking(**arguments: Any) -> None:
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    monkeypatch.setattr(load_litellm(), "acompletion", lacking)
    mine = LitellmClient(HttpModel("m", model="azure/gpt-5.6"))
    with pytest.raises(ModelError, match=r"pip install 'pytest-tooleval\[mcp\]'") as raised:
        await mine.complete(REQUEST, 60.0)
    assert (raised.value.fatal, raised.value.retryable) == (True, False)


async def test_a_deployment_that_wants_another_api_is_told_its_name() -> None:
    text = "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    body = {"error": {"message": text, "code": "unsupported_value"}}
    with (
        MockServer(respond=lambda path, request: (400, body)) as server,
        pytest.raises(ModelError, match='model = "azure/responses/mine" asks there') as raised,
    ):
        await ask(spec_of("azure/mine", server))
    assert (raised.value.kind, raised.value.fatal) == ("bad_request", True)
