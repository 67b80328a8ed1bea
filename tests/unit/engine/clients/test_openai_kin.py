"""What providers with OpenAI's chat API want otherwise, as it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.engine.clients.openai_kin import adapt_body, base_of
from pytest_tooleval.engine.models.spec import HttpModel

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "assistant", "content": "One.", "reasoning_content": "Hm."},
]
FILLED = [ASKED[0], {**ASKED[1], "reasoning_content": " "}, *ASKED[2:]]


@pytest.mark.parametrize(
    ("model", "given", "sent"),
    [
        ("groq/m", {"seed": 1, "reasoning_effort": "none"}, {}),
        ("fireworks_ai/kimi-k2p5", {}, {"model": "accounts/fireworks/models/kimi-k2p5"}),
        ("fireworks_ai/accounts/me/models/m", {}, {}),
        ("mistral/mistral-large-latest", {"seed": 7}, {"seed": None, "random_seed": 7}),
        ("deepseek/deepseek-chat", {"reasoning_effort": None}, {"reasoning_effort": None}),
        (
            "deepseek/deepseek-reasoner",
            {"reasoning_effort": "high"},
            {"thinking": {"type": "enabled"}, "messages": FILLED},
        ),
        (
            "deepseek/deepseek-reasoner",
            {"reasoning_effort": "none"},
            {"thinking": {"type": "disabled"}, "reasoning_effort": None},
        ),
        (
            "deepseek/deepseek-reasoner",
            {"thinking": {"type": "enabled", "budget_tokens": 9}},
            {"thinking": {"type": "enabled"}, "messages": FILLED},
        ),
        ("moonshot/kimi-k2.5", {}, {"messages": FILLED}),
        ("moonshot/moonshot-v1-8k", {}, {}),
    ],
)
def test_a_request_as_its_provider_wants_it(
    model: str, given: dict[str, Any], sent: dict[str, Any]
) -> None:
    spec = HttpModel("m", model=model)
    body = {"model": model.partition("/")[2], "messages": ASKED, **given}
    wanted = {**body, **sent}
    if model.startswith("mistral/"):
        wanted["messages"] = [*ASKED[:3], {"role": "assistant", "content": "One."}]
    got = adapt_body(body, spec)
    assert {name: value for name, value in got.items() if value is not None} == {
        name: value for name, value in wanted.items() if value is not None
    }
    assert body == {"model": model.partition("/")[2], "messages": ASKED, **given}  # it is not changed


@pytest.mark.parametrize(
    ("model", "base", "address"),
    [
        ("ollama/m", "http://localhost:11434", "http://localhost:11434/v1"),
        ("ollama_chat/m", "http://h:1/", "http://h:1/v1"),
        ("ollama/m", "http://h:1/v1", "http://h:1/v1"),
        ("groq/m", "http://h:1", "http://h:1"),
    ],
)
def test_where_ollama_has_its_chat_completions(model: str, base: str, address: str) -> None:
    assert base_of(base, HttpModel("m", model=model)) == address
