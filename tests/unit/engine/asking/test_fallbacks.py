from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.engine.asking.fallbacks import Fallbacks
from pytest_tooleval.engine.clients.refused_parameter import refused_parameter
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.errors import ParameterRefused
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ModelError

from ..fakes import WEATHER

SENT = {"temperature": 0.0, "max_tokens": 100, "seed": 5, "top_p": 0.9, "tool_choice": "required"}
REFUSALS = [
    (400, "tool_choice 'required' is not supported by this model", "tool_choice"),
    (400, "Thinking may not be enabled when tool_choice forces tool use.", "tool_choice"),
    (400, "deepseek-reasoner does not support this tool_choice", "tool_choice"),
    (
        400,
        "The tool_choice parameter does not support being set to required in thinking mode",
        "tool_choice",
    ),
    (400, "This model doesn't support the toolConfig.toolChoice.any field.", "tool_choice"),
    (404, "No endpoints found that support the provided 'tool_choice' value", "tool_choice"),
    (422, "unsupported value for tool choice", "tool_choice"),
    (None, "ollama does not support parameters: ['tool_choice']", "tool_choice"),
    (400, "claude-x does not support forced tool use (tool_choice='required')", "tool_choice"),
    (
        400,
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) "
        "value is supported.",
        "temperature",
    ),
    (400, "`temperature` is deprecated for this model.", "temperature"),
    (400, "`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
    (400, "`temperature` and `top_p` cannot both be specified for this model.", "temperature"),
    (
        None,
        "gpt-5 models don't support temperature=0.0. Only temperature=1 is supported.",
        "temperature",
    ),
    (
        400,
        "claude-sonnet-5 does not support temperature=0.0. Only temperature=1 is supported",
        "temperature",
    ),
    (None, "x does not support parameters: ['temperature'], for model=y", "temperature"),
    (422, "`temperature` must be strictly positive", "temperature"),
    (
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "max_tokens",
    ),
    (400, "Unrecognized request argument supplied: seed", "seed"),
    (422, "seed: Extra inputs are not permitted", "seed"),
]


@pytest.mark.parametrize(("status", "message", "parameter"), REFUSALS)
def test_refusals_in_providers_own_words(status: int | None, message: str, parameter: str) -> None:
    assert refused_parameter(status, message, SENT) == parameter


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "Invalid schema for response_format 'sky': 'additionalProperties' is required to be supplied",
        "Invalid schema for text.format 'sky': In context=(), 'required' is required to be supplied",
        "This response_format type is unavailable now",
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false",
        "output_format: Extra inputs are not permitted",
        "Function calling with a response mime type: 'application/json' is unsupported",
        "ollama does not support parameters: ['response_format'], for model=m",
        "claude-3-haiku does not support structured outputs",
    ],
)
def test_a_refused_form_is_never_left_out(message: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "sky", "schema": {}}}
    request = ChatRequest((), sampling={**SENT, "response_format": form})
    assert refused_parameter(400, message, request.sampling) == "response_format"
    assert refused_parameter(400, message, SENT) != "response_format"
    fallbacks, set_by = Fallbacks(HttpModel("m", model="openai/m")), {"response_format": "the case"}
    refusal = ParameterRefused(message, "response_format", form)
    with pytest.raises(ModelError, match=r"\(response_format is set by the case: remove it there\)$"):
        fallbacks.learn(refusal, set_by, set())
    assert fallbacks.apply(request, set_by)[0].sampling["response_format"] == form


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503])
def test_other_failures_are_never_a_refusal(status: int) -> None:
    assert refused_parameter(status, "tool_choice, temperature: not supported", SENT) is None


@pytest.mark.parametrize(("status", "message", "parameter"), REFUSALS)
def test_only_what_was_sent_is_refused(status: int | None, message: str, parameter: str) -> None:
    sent = {name: value for name, value in SENT.items() if name not in (parameter, "top_p")}
    assert refused_parameter(status, message, sent) is None


@pytest.mark.parametrize(
    "message",
    [
        "Tool choice is required, but model did not call a tool",
        '{"error": {"code": "tool_use_failed", "message": "tool choice ..."}}',
        "messages.0.content: expected a string",
        "Invalid schema for function 'set': In context=('properties', 'temperature') ...",
        "tools[0].parameters.temperature: unsupported type",
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
    ],
)
def test_what_is_about_something_else(message: str) -> None:
    assert refused_parameter(400, message, SENT) is None


def replaced(
    model: str, choice: str = "required", set_by: dict[str, str] | None = None, **more: Any
) -> Any:
    request = ChatRequest([], [WEATHER], choice, {"temperature": 0.0, **more})
    return Fallbacks(HttpModel("m", model=model)).apply(request, set_by or {})[1]


@pytest.mark.parametrize(
    ("model", "more", "instead"),
    [
        ("anthropic/claude-haiku-4-5", {}, {}),
        ("anthropic/claude-sonnet-5", {}, {"temperature": None}),
        ("anthropic/claude-opus-5-5", {}, {"temperature": None, "tool_choice": "auto"}),
        ("ollama_chat/llama3.1", {}, {"tool_choice": "auto"}),
        ("ollama_chat/llama3.1", {"choice": "none"}, {"tool_choice": "auto"}),
        ("ollama_chat/llama3.1", {"choice": "auto"}, {}),
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", {}, {}),
        (
            "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"tool_choice": "auto"},
        ),
    ],
)
def test_what_is_known_beforehand(
    model: str, more: dict[str, Any], instead: dict[str, str | None]
) -> None:
    assert replaced(model, **more) == instead


def test_what_the_user_set_is_sent_whatever_a_list_says() -> None:
    assert replaced("anthropic/claude-sonnet-5", set_by={"temperature": "the case"}) == {}


@pytest.mark.parametrize("place", ["the case", "the suite", "--tooleval-tool-choice"])
def test_the_word_required_falls_back_wherever_it_is_set(place: str) -> None:
    assert replaced("ollama_chat/llama3.1", set_by={"tool_choice": place}) == {"tool_choice": "auto"}


def test_a_named_tool_that_is_refused_is_an_error() -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    refusal = ParameterRefused("no forced tools", "tool_choice", named)
    with pytest.raises(ModelError, match=r"no forced tools .*set by the case: remove it there"):
        Fallbacks(HttpModel("m", model="m")).learn(refusal, {"tool_choice": "the case"}, set())
