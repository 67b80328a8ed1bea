"""What a model is offered of a suite's tools, and the tools that its provider runs itself."""

from __future__ import annotations

from typing import Any

import pytest
from builders import tool

from pytest_tooleval.engine.model_under_test import model_request
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.tools.hosted import hosted_tools, refusal, with_secrets
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.errors import ModelError
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

MCP: dict[str, Any] = {"type": "mcp", "server_label": "shop", "authorization": "SHOP_TOKEN"}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
OWN: dict[str, Any] = {"openai": [{"type": "tool_search"}, MCP], "anthropic": [REGEX]}
SQL = {"type": "custom", "custom": {"name": "sql"}}


def case(**fields: Any) -> ResolvedCase:
    data = {
        "name": "s",
        "namespaces": {"crm": "Customers."},
        "tools": [{**tool("find"), "namespace": "crm"}, SQL],
        "test_cases": [{"prompt": "Go", "expected_tool": "*"}],
        **fields,
    }
    suite = Suite.model_validate(data)
    return resolve(suite, suite.test_cases[0])


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("openai/gpt-5.5", OWN["openai"]),
        ("anthropic/claude-opus-4-6", OWN["anthropic"]),
        ("gemini/gemini-3-flash-preview", ()),
        ("groq/x", ()),
        ("builtin/lexical", ()),
    ],
)
def test_a_provider_gets_its_own(model: str, sent: Any) -> None:
    assert hosted_tools(case(provider_tools=OWN), HttpModel("m", model=model)) == sent


def test_what_a_model_is_offered() -> None:
    choice = {"allowed_tools": ["crm.find", "sql"], "mode": "required"}
    made = case(provider_tools={"openai": [{"type": "tool_search"}]}, tool_choice=choice)
    request = model_request(made, HttpModel("m", model="openai/gpt-5.5"), {}, (), Toolbox(made))
    find, sql, search = request.tools
    assert find["namespace"] == {"name": "crm", "description": "Customers."}
    assert (sql, search) == (SQL, {"type": "tool_search"})
    tools = [
        {"type": "function", "function": {"name": "find"}, "namespace": {"name": "crm"}},
        {"type": "custom", "custom": {"name": "sql"}},
    ]
    assert request.tool_choice == {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": tools},
    }


@pytest.mark.parametrize(
    ("own", "allowed", "refused"),
    [
        ([{"type": "tool_search"}, {"type": "programmatic_tool_calling"}], (), ""),
        ([{"type": "code_interpreter", "container": {"type": "auto"}}], (), ""),
        ([{"type": "code_interpreter", "container": {"network_policy": None}}], (), ""),
        (
            [{"type": "code_interpreter", "container": "cntr_1"}],
            (),
            "provider_tools: code_interpreter acts",
        ),
        ([MCP], (), "provider_tools: shop acts"),
        ([MCP], ("shop",), ""),
        ([MCP], ("mcp",), ""),
        ([MCP], ("*",), "provider_tools: shop acts"),
        ([{"type": "web_search"}, {"type": "shell"}], ("web_search",), "provider_tools: shell acts"),
        (
            [{"type": "code_interpreter", "container": {"network_policy": {"type": "allowlist"}}}],
            (),
            "provider_tools: code_interpreter acts",
        ),
    ],
)
def test_what_acts_on_the_world_needs_a_word(
    own: list[dict[str, Any]], allowed: tuple[str, ...], refused: str
) -> None:
    made = case(provider_tools={"openai": own})
    found = refusal(made, HttpModel("m", model="openai/gpt-5.5"), allowed)
    assert found.startswith(refused)
    assert bool(found) == bool(refused)
    assert refusal(made, HttpModel("m", model="groq/x"), ()) == ""


def test_secrets_are_named_by_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    tools: list[dict[str, Any]] = [MCP, {"type": "mcp", "headers": {"x-key": "SHOP_KEY"}}]
    with pytest.raises(ModelError, match="variable SHOP_TOKEN, which provider_tools names, is not set"):
        with_secrets(tools)
    monkeypatch.setenv("SHOP_TOKEN", "hush")
    monkeypatch.setenv("SHOP_KEY", "hush too")
    assert with_secrets(tools) == [
        {**MCP, "authorization": "hush"},
        {"type": "mcp", "headers": {"x-key": "hush too"}},
    ]
