"""What the documents of each provider say of their end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.replies.endings import Ending, ending_of, no_answer

from ..test_secrets import json_values

Document = dict[str, Any]


def chat(finish: str, message: Document | None = None, **choice: Any) -> Document:
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message or {}, **choice}]}


def gemini(reason: str, **candidate: Any) -> Document:
    return {"candidates": [{"finishReason": reason, **candidate}]}


def anthropic(reason: str, **more: Any) -> Document:
    return {"type": "message", "content": [], "stop_reason": reason, **more}


BLOCKED_PROMPT = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "Not this."}
FILTERED = {"hate": {"filtered": True, "severity": "high"}, "violence": {"filtered": False}}

ENDINGS: dict[str, tuple[Document, str, str]] = {
    "OpenAI refusal": (
        chat("stop", {"content": None, "refusal": "I can't help with that."}),
        "refused",
        "I can't help with that.",
    ),
    "refusal through litellm": (
        chat("stop", {"provider_specific_fields": {"refusal": "No."}}),
        "refused",
        "No.",
    ),
    "OpenAI length": (chat("length"), "cut_off", "length"),
    "OpenAI filter": (chat("content_filter"), "blocked", "content_filter"),
    "Azure filter": (
        chat("content_filter", content_filter_results=FILTERED),
        "blocked",
        "content_filter: hate high",
    ),
    "native reason of litellm": (
        chat("stop", provider_specific_fields={"native_finish_reason": "UNEXPECTED_TOOL_CALL"}),
        "malformed_call",
        "UNEXPECTED_TOOL_CALL",
    ),
    "Gemini behind OpenRouter": (
        chat("error", native_finish_reason="MALFORMED_FUNCTION_CALL"),
        "malformed_call",
        "MALFORMED_FUNCTION_CALL",
    ),
    "Anthropic refusal": (
        anthropic("refusal", stop_details={"type": "refusal", "explanation": "Against policy."}),
        "refused",
        "Against policy.",
    ),
    "Anthropic cut off": (anthropic("max_tokens"), "cut_off", "max_tokens"),
    "Anthropic context": (
        anthropic("model_context_window_exceeded"),
        "cut_off",
        "model_context_window_exceeded",
    ),
    "Gemini blocked prompt": (
        {"promptFeedback": BLOCKED_PROMPT},
        "blocked",
        "PROHIBITED_CONTENT: the prompt was blocked: Not this.",
    ),
    "Gemini new block reason": (
        {"promptFeedback": {"blockReason": "NEW"}},
        "blocked",
        "content_filter: the prompt was blocked: NEW",
    ),
    "Gemini safety": (gemini("SAFETY"), "blocked", "SAFETY"),
    "Gemini recitation": (gemini("RECITATION"), "blocked", "RECITATION"),
    "Gemini cut off": (gemini("MAX_TOKENS"), "cut_off", "MAX_TOKENS"),
    "Gemini malformed": (
        gemini("MALFORMED_FUNCTION_CALL", finishMessage="Malformed:\n print(default_api.f("),
        "malformed_call",
        "MALFORMED_FUNCTION_CALL: Malformed: print(default_api.f(",
    ),
    "Gemini unexpected call": (
        gemini("UNEXPECTED_TOOL_CALL"),
        "malformed_call",
        "UNEXPECTED_TOOL_CALL",
    ),
    "Bedrock guardrail": ({"stopReason": "guardrail_intervened"}, "blocked", "guardrail_intervened"),
    "Bedrock malformed": ({"stopReason": "malformed_tool_use"}, "malformed_call", "malformed_tool_use"),
    "Cohere": ({"finish_reason": "MAX_TOKENS"}, "cut_off", "MAX_TOKENS"),
    "Ollama": ({"done": True, "done_reason": "length"}, "cut_off", "length"),
}


@pytest.mark.parametrize(("document", "category", "reason"), ENDINGS.values(), ids=list(ENDINGS))
def test_no_usable_answer(document: Document, category: str, reason: str) -> None:
    ending = ending_of(document)
    assert ending is not None
    found = no_answer([], "", ending.reason, ending.message)
    assert found is not None
    assert (found.category, found.reason) == (category, reason)


@pytest.mark.parametrize(
    "document",
    [
        chat("stop", {"content": "Hello", "refusal": None}),
        chat("tool_calls", native_finish_reason="completed"),
        chat("eos"),
        anthropic("end_turn"),
        anthropic("tool_use", stop_details=None),
        gemini("STOP"),
        {"stopReason": "tool_use"},
        {"done_reason": "stop"},
        None,
        [],
    ],
)
def test_an_answer_that_ended_as_it_should(document: object) -> None:
    assert ending_of(document) is None


@pytest.mark.parametrize(
    "document",
    [
        chat("error", error={"code": 502, "message": "Upstream failed."}),
        chat("stop", provider_specific_fields={"native_finish_reason": "error"}),
        chat("network_error"),
        chat("insufficient_system_resource"),
        chat("abort"),
        {"finish_reason": "ERROR"},
    ],
)
def test_a_failure_of_the_provider_is_retried(document: Document) -> None:
    with pytest.raises(ModelError, match="the provider ended the answer with") as raised:
        ending_of(document)
    assert (raised.value.kind, raised.value.retryable) == ("server", True)


def test_the_failure_is_told() -> None:
    with pytest.raises(ModelError, match=r"with error: Upstream failed\."):
        ending_of(chat("error", error={"code": 502, "message": "Upstream\n failed."}))


def test_a_later_document_is_read_where_the_first_says_nothing() -> None:
    assert ending_of(None, chat("length")) == Ending("length")
    assert ending_of(gemini("MAX_TOKENS"), chat("length")) == Ending("MAX_TOKENS")


WHOLE = ToolCall.parse("get_weather", '{"city": "Paris"}')
CUT = ToolCall.parse("get_weather", '{"city": "Par')
EMPTY = ToolCall.parse("get_weather", "{}")


@pytest.mark.parametrize(
    ("calls", "reason", "usable"),
    [
        ([WHOLE], "length", True),
        ([WHOLE, CUT], "length", False),
        ([CUT], "max_tokens", False),
        ([EMPTY], "max_tokens", False),
        ([EMPTY], "tool_use_failed", True),
        ([CUT], "tool_use_failed", False),
        ([WHOLE], "refusal", False),
        ([WHOLE], "SAFETY", False),
        ([CUT], "tool_calls", True),
        ([], "stop", False),
        ([], None, False),
    ],
)
def test_when_calls_are_judged(calls: list[ToolCall], reason: str | None, usable: bool) -> None:
    assert (no_answer(calls, "", reason, None) is None) is usable


@pytest.mark.parametrize(
    ("text", "reason", "category"),
    [
        ("", "stop", "empty_answer"),
        (" \n", None, "empty_answer"),
        ("", "tool_calls", "malformed_call"),
        ("", "TOOL_USE", "malformed_call"),
        ("Hi.", "tool_calls", None),
        ("Hi.", None, None),
        (None, "stop", None),
    ],
)
def test_an_answer_has_a_text_or_a_call(
    text: str | None, reason: str | None, category: str | None
) -> None:
    found = no_answer([], text, reason, None)
    assert (found and found.category) == category


def test_a_long_text_is_cut() -> None:
    found = no_answer([], "", "refusal", "x" * 10_000)
    assert found is not None
    assert len(found.reason) < 600


@given(json_values)
def test_any_document_is_survived(document: Any) -> None:
    assert (
        ending_of(document, {"choices": [document]}, {"object": "response", "output": document}) is None
    )
