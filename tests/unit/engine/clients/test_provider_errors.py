"""What providers say, in their own words, and what it means."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.clients.provider_errors import (
    one_line,
    provider_error,
    redirect_error,
    refused_answer,
    spoken_text,
)
from pytest_tooleval.engine.exchange.chat import ChatAnswer
from pytest_tooleval.engine.exchange.errors import ParameterRefused
from pytest_tooleval.engine.models.spec import DeployedAgent, HttpModel
from pytest_tooleval.errors import ErrorKind

SPEC = HttpModel("m", model="openai/m", api_key_env="MY_KEY")
GEMINI_LIMIT = json.dumps(
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "details": [
                {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
            ],
        }
    }
)

AZURE_FILTER = json.dumps(
    {
        "error": {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
            "management policy.",
            "code": "content_filter",
            "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        }
    }
)


def refused(text: str, status: int = 400) -> ChatAnswer | None:
    return refused_answer(status, text, text, 0.5, [])


@pytest.mark.parametrize(
    ("status", "text", "kind", "retryable", "fatal"),
    [
        (429, "Rate limit reached for gpt-4o: Limit 10000 tokens per min", "rate_limit", True, False),
        (429, "would exceed your organization's rate limit", "rate_limit", True, False),
        (429, GEMINI_LIMIT, "rate_limit", True, False),
        (429, GEMINI_LIMIT.replace("PerMinute", "PerDay"), "quota", False, True),
        (429, "Rate limit reached on requests per day (RPD)", "quota", False, True),
        (429, '{"error": {"code": "insufficient_quota"}}', "quota", False, True),
        (402, "This request requires more credits", "quota", False, True),
        (402, "Insufficient Balance", "quota", False, True),
        (400, "Your credit balance is too low to access the Anthropic API.", "quota", False, True),
        (401, "Incorrect API key provided", "credentials", False, True),
        (400, "API key not valid. Please pass a valid API key.", "credentials", False, True),
        (500, "Missing Gemini API key. Set the GEMINI_API_KEY variable.", "credentials", False, True),
        (500, "Missing credentials. Please pass an `api_key`", "credentials", False, True),
        (403, "Your API key does not have permission", "credentials", False, True),
        (403, "requires moderation, and your input was flagged", "bad_request", False, False),
        (404, "The model `gpt-x` does not exist", "bad_request", False, True),
        (400, "messages.0: expected a string", "bad_request", False, False),
        (413, "request too large", "bad_request", False, False),
        (408, "timed out", "server", True, False),
        (409, "conflict", "server", True, False),
        (500, "oops", "server", True, False),
        (503, "The model is overloaded.", "rate_limit", True, False),
        (529, "Too many", "rate_limit", True, False),
        (503, "server busy, please try again", "rate_limit", True, False),
        (503, "Bedrock is unable to process your request.", "rate_limit", True, False),
        (503, "Service unavailable", "server", True, False),
        (500, '{"type": "overloaded_error", "message": "Overloaded"}', "rate_limit", True, False),
        (None, "Unable to locate credentials", "credentials", False, True),
        (None, "DefaultCredentialsError: File x was not found.", "credentials", False, True),
        (None, "some parameter is not supported", "bad_request", False, False),
    ],
)
def test_kinds(status: int | None, text: str, kind: ErrorKind, retryable: bool, fatal: bool) -> None:
    error = provider_error(SPEC, status, text, sent={"tool_choice": "required"})
    assert (error.kind, error.retryable, error.fatal) == (kind, retryable, fatal)
    assert spoken_text(text) in error.message


def test_a_refused_parameter_is_its_own_error() -> None:
    error = provider_error(SPEC, 400, "seed is not supported", sent={"seed": 5})
    assert isinstance(error, ParameterRefused)
    assert (error.parameter, error.value) == ("seed", 5)
    assert not isinstance(provider_error(SPEC, 400, "seed is not supported"), ParameterRefused)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (GEMINI_LIMIT, 34.0),
        ("Please retry in 34.07s.", 34.07),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 6m0s.", None),
        ("Please retry in 99999999s.", None),
        ("Slow down", None),
    ],
)
def test_a_wait_is_read_from_the_text(text: str, seconds: float | None) -> None:
    assert provider_error(SPEC, 429, text).retry_after == seconds
    assert provider_error(SPEC, 429, text, retry_after=5.0).retry_after == 5.0


def test_a_refused_key_names_the_variable() -> None:
    assert "the key in MY_KEY was refused" in provider_error(SPEC, 401, "no").message
    error = provider_error(HttpModel("m", model="anthropic/m"), 401, "no")
    assert "the key in ANTHROPIC_API_KEY was refused" in error.message
    error = provider_error(HttpModel("m", model="openai/m", api_base="http://h/v1"), 401, "no")
    assert "names its variable with api_key_env" in error.message
    error = provider_error(DeployedAgent("m", "http://h/ask", {}, "chat"), 401, "no")
    assert error.message == "missing or wrong credentials for http://h/ask: no"


def test_only_the_sentence_of_a_body_is_shown() -> None:
    text = 'GroqException - {"error": {"message": "No such tool", "type": "x"}} and more'
    assert spoken_text(text) == "No such tool"
    assert provider_error(SPEC, 400, text).message == "the provider refused the request: No such tool"


def test_what_openrouter_passes_on_is_the_reason() -> None:
    raw = json.dumps({"error": {"message": "`seed` is unsupported"}})
    metadata = {"raw": raw, "provider_name": "Anthropic"}
    text = json.dumps({"error": {"message": "Provider returned error", "metadata": metadata}})
    assert spoken_text(text) == "Anthropic: `seed` is unsupported"
    assert isinstance(provider_error(SPEC, 400, text, sent={"seed": 5}), ParameterRefused)


def test_a_long_text_is_cut() -> None:
    assert len(provider_error(SPEC, 400, "x" * 100_000).message) < 600


def test_a_failed_generation_is_an_answer() -> None:
    error = {"message": "m", "code": "tool_use_failed", "failed_generation": "<function=f>{}</function>"}
    answer = refused("x - " + json.dumps({"error": error}))
    assert answer is not None
    assert answer.message["content"] == "<function=f>{}</function>"
    assert (answer.finish_reason, answer.finish_message) == ("tool_use_failed", "m")
    nothing = refused(json.dumps({"error": {"code": "tool_use_failed"}}))
    assert nothing is not None
    assert nothing.message["content"] == ""
    assert refused(json.dumps({"error": {"code": "other"}})) is None


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, AZURE_FILTER),
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
        (400, "Output blocked by content filtering policy"),
        (403, "openai/gpt-4o requires moderation on OpenAI. Your input was flagged for: violence"),
        (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE"),
    ],
)
def test_what_a_filter_stopped_is_an_answer(status: int, text: str) -> None:
    answer = refused(text, status)
    assert answer is not None
    assert (answer.finish_reason, answer.finish_message) == ("content_filter", spoken_text(text))
    assert answer.message == {"role": "assistant", "content": None}


@pytest.mark.parametrize("text", ["safety_identifier is not supported", "Invalid 'content' of messages"])
def test_other_refusals_are_errors(text: str) -> None:
    assert refused(text) is None


@given(st.none() | st.integers(100, 999), st.text() | st.just("{" * 100_000) | st.just('{"error": 5}'))
def test_any_text_is_survived(status: int | None, text: str) -> None:
    provider_error(SPEC, status, text, sent={"tool_choice": "required"})
    refused_answer(status, text, text, 0.0, [])


def test_a_text_of_megabytes_is_read_in_no_time() -> None:
    """It took minutes: from each of these words the rest of the text was searched."""
    error = provider_error(SPEC, 400, "api_key " * 130_000)
    assert error.kind == "bad_request"
    assert len(error.message) < 1000
    assert one_line("x" * 2**20) == "a text of 1024 KiB"


def test_a_key_that_json_hides_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-planted/0123456789")
    for text in (r"sk-planted\/0123456789", r"sk-pl\u0061nted\/0123456789"):
        error = provider_error(SPEC, 401, f'{{"error": {{"message": "Incorrect key: {text}"}}}}')
        assert "Incorrect key: [secret]" in error.message


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://other.example/v2/chat?code=hidden", "to https://other.example/v2/chat,"),
        ("http://user:hidden@other.example/", "to http://[secret]@other.example/,"),
        ("/elsewhere", "to http://h/elsewhere,"),
        ("http://[::1", "to http://[::1,"),
    ],
)
def test_where_a_redirect_leads(location: str, shown: str) -> None:
    error = redirect_error("http://h/v1/chat/completions?key=hidden", location)
    assert shown in error.message
    assert "hidden" not in error.message
    assert "set api_base to the final address" in error.message
    assert error.fatal
