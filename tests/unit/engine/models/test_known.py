"""What is known of models with litellm and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tooleval.engine.models.names import newest_of
from pytest_tooleval.errors import ConfigError

TESTS = Path(__file__).parents[3]
# Prints what a run would do with each known model, from its request to its cost.
DOES = """
import json, sys

if sys.argv[1] == "without":
    import without_litellm

from pytest_tooleval.engine.asking.fallbacks import Fallbacks
from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.models.known import known_models, known_entry
from pytest_tooleval.engine.models.names import why_no_provider
from pytest_tooleval.engine.models.prices import cost_usd, usual_usd
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.models.traits import reasons, searches_tools

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
USAGE = {
    "prompt_tokens": 300_000,
    "completion_tokens": 900,
    "prompt_tokens_details": {"cached_tokens": 100, "cache_creation_tokens": 50},
    "completion_tokens_details": {"reasoning_tokens": 300},
}
told = {}
for name, entry in known_models().items():
    provider = entry["litellm_provider"]
    model = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
    spec = HttpModel("m", model=model, api_base="http://h/v1")
    request = ChatRequest(
        messages=({"role": "user", "content": "hi"},),
        tools=(TOOL,),
        tool_choice="required",
        sampling={"temperature": 0.0, "reasoning_effort": "low"},
    )
    sent, instead = Fallbacks(spec).apply(request, {})
    client = make_client(spec)
    body = client._body(sent).decode() if spec.protocol else type(client).__name__
    costs = [cost_usd(known_entry(model), USAGE, tier) for tier in (None, "flex", "priority", "scale")]
    told[model] = [
        body, instead, costs, usual_usd(spec, 9, 9, 9), reasons(model), searches_tools(model),
        why_no_provider(model), str(key_of(question_of(spec, request))),
    ]
print(json.dumps(told))
"""


def test_a_run_is_the_same_without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    told = []
    for way in ("with", "without"):
        done = subprocess.run(
            [sys.executable, "-c", DOES, way], capture_output=True, text=True, check=True, timeout=300
        )
        told.append(json.loads(done.stdout))
    assert len(told[0]) > 1000
    assert told[0] == told[1]


MODELS = {
    name: {"litellm_provider": provider}
    for provider, names in {
        "anthropic": "claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-4-5-20250929 claude-haiku-5",
        "mistral": "mistral/big-latest mistral/big-4 mistral/big-2512 mistral/mini-3-preview",
        "openai": "gpt-6-sol gpt-6-luna gpt-6-luna-2026-09-01 o3",
        "groq": "groq/claude-sonnet-9",
    }.items()
    for name in names.split()
}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-sonnet", "anthropic/claude-sonnet-5"),
        ("claude-sonnet-4", "anthropic/claude-sonnet-4-6"),
        ("claude-sonnet-5", None),  # a model's own name
        ("big", "mistral/big-4"),
        ("mini", "mistral/mini-3-preview"),
        ("gpt-6-luna", None),
        ("anthropic/claude", None),
        ("claude-s", None),
        ("claude-3", None),
        ("", None),
    ],
)
def test_the_newest_of_a_family(name: str, model: str | None) -> None:
    assert newest_of(name, MODELS) == model


def test_several_families_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"'gpt-6'.*openai/gpt-6-sol, openai/gpt-6-luna-2026-09-01$"):
        newest_of("gpt-6", MODELS)
