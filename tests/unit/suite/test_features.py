"""Deferred, namespaced and custom tools, a provider's own, and a `tool_choice` of tools."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from builders import call, tool

from pytest_tooleval import score_calls, score_messages
from pytest_tooleval.engine.tools.toolbox import Toolbox
from pytest_tooleval.errors import SuiteError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.secrets import redact, scrub, secret_values
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_document, parse_suite
from pytest_tooleval.suite.resolved import resolve

SQL: dict[str, Any] = {"type": "custom", "custom": {"name": "sql"}}
FIND = {**tool("find", defer_loading=True), "namespace": "crm"}
SEARCH = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
_A = {"$ref": "#/$defs/a"}
LOOP = {"type": "object", "properties": {"a": _A}, "$defs": {"a": {"type": "array", "items": _A}}}
PROGRAM = ["direct", "programmatic"]


def suite(*tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    case = {"prompt": "Go", "expected_tool": "*"}
    data = {"name": "s", "tools": [tool("pay"), *tools], "test_cases": [case]}
    return {**data, "namespaces": {"crm": "Customers."}, **fields}


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        (
            suite(FIND, tool("a", input_examples=[{"city": "Rome"}])),
            "tools[2].function.input_examples",
            "Anthropic refuses examples beside deferred tools; its models get no examples",
        ),
        (
            suite(tool("a", strict=True, allowed_callers=PROGRAM)),
            "tools[1].function.strict",
            "programs cannot call a strict tool; models call it directly",
        ),
        (
            suite(tool("a", LOOP, allowed_callers=PROGRAM)),
            "tools[1].function.parameters.properties.a.$ref",
            "programs cannot call a tool whose schema refers to itself; models call it directly",
        ),
    ],
)
def test_what_one_provider_refuses_is_a_warning(data: dict[str, Any], field: str, message: str) -> None:
    suite, document = parse_document(json.dumps(data, indent=1))
    assert message in [each.message for each in lint_suite(suite, document) if each.field == field]


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        (
            suite(FIND, provider_tools={"anthropic": [{**SEARCH, "defer_loading": True}]}),
            "provider_tools.anthropic[0].defer_loading",
            "Anthropic refuses a search that is itself deferred",
        ),
        (suite(FIND, namespaces={}), "tools[1].namespace", 'add "namespaces": {"crm": "..."}'),
        (suite(FIND, FIND), "tools[2].function.name", 'the tool "crm.find" is already defined'),
        (suite({**FIND, "namespace": "a b"}), "tools[1].namespace", "a name of letters, digits"),
        (
            suite(tool("a", allowed_callers=["robots"])),
            "tools[1].function.allowed_callers[0]",
            'expected "direct" or "programmatic", got the string "robots"',
        ),
        (
            suite(tool("a", output_schema={"type": "strnig"})),
            "tools[1].function.output_schema.type",
            "not a valid JSON Schema",
        ),
        (suite({"type": "custom", "name": "a"}), "tools[1]", "custom is missing; write it as"),
        (suite({"type": "function", **SQL, "function": {}}), "tools[1]", "has both function and custom"),
        (
            suite({"type": "custom", "custom": {"name": "a", "format": {"type": "grammar"}}}),
            "tools[1].custom.format",
            'expected {"type": "text"}, or {"type": "grammar"',
        ),
        (
            suite(tool_choice={"tool": "pya"}),
            "tool_choice.tool",
            'the tool "pya" is not defined',
        ),
        (
            suite(tool_choice={"allowed_tools": ["pay", "find"]}),
            "tool_choice.allowed_tools[1]",
            'the tool "find" is not defined',
        ),
        (
            suite(tool_choice="any"),
            "tool_choice",
            'expected "required", "auto", "none", {"tool": "pay"}',
        ),
        (
            suite(provider_tools={"openai": [{"type": "mcp", "authorization": "Bearer abc.def"}]}),
            "provider_tools.openai[0].authorization",
            "expected the name of an environment variable, such as MY_TOKEN, got another text",
        ),
        (
            suite(provider_tools={"anthropic": [{"name": "web_search"}]}),
            "provider_tools.anthropic[0]",
            'missing "type"',
        ),
        (
            suite(provider_tools={"openai": [{"type": "mcp", "server_label": ["shop"]}]}),
            "provider_tools.openai[0].server_label",
            "expected a text, got ",
        ),
        (
            suite(provider_tools={"openai": [{"type": "code_interpreter", "container": 5}]}),
            "provider_tools.openai[0].container",
            'expected an object such as {"type": "auto"}, or an id, got ',
        ),
        (
            suite(
                provider_tools={
                    "openai": [{"type": "shell", "container": {"network_policy": "disabled"}}]
                }
            ),
            "provider_tools.openai[0].container.network_policy",
            'expected an object such as {"type": "disabled"}, got ',
        ),
        (
            suite(provider_tools={"google": []}),
            "provider_tools.google",
            "unknown field; expected one of openai, anthropic",
        ),
    ],
)
def test_what_is_refused(data: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(SuiteError) as error:
        parse_suite(json.dumps(data, indent=1))
    ((found, text),) = ((each.field, each.message) for each in error.value.problems)
    assert found == field
    assert message in text
    assert error.value.problems[0].line > 1


def test_what_provider_tools_name_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LOGIN", "hush-hush-4711-abc")
    monkeypatch.setenv("SHOP_VISITOR", "who-goes-there-99")
    named = {"authorization": "SHOP_LOGIN", "headers": {"x-visitor": "SHOP_VISITOR"}}
    own = {"openai": [{"type": "mcp", "server_label": "shop", **named}]}
    parse_suite(json.dumps(suite(provider_tools=own)))
    echoed = "401: hush-hush-4711-abc of who-goes-there-99"
    assert scrub(echoed, secret_values()) == "401: [secret] of [secret]"
    assert "hush" not in redact(echoed)


def test_the_text_of_a_custom_tool_is_an_argument() -> None:
    case = {"prompt": "Go", "expected_tool": "sql", "expected_params": {"input": {"$contains": "from"}}}
    made = parse_suite(json.dumps(suite(SQL, test_cases=[case])))
    for text, passes in (("select a FROM b", True), ("drop b", False)):
        call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": text}}
        assert score_calls(made, made.test_cases[0], [call]).passed == passes


OTHER = {**FIND, "namespace": "erp"}


@pytest.mark.parametrize(
    ("tools", "called", "passes"),
    [
        ([FIND], {"name": "find", "namespace": "crm"}, True),
        ([FIND], {"name": "find"}, True),
        ([FIND], {"name": "crm_find"}, True),
        ([FIND], {"name": "crm.find"}, True),
        ([FIND], {"name": "Find"}, True),
        ([FIND], {"name": "CRM_Find"}, True),
        ([FIND], {"name": "Find", "namespace": "CRM"}, True),
        ([FIND], {"name": "Pay", "namespace": "functions"}, False),
        ([FIND, tool("FIND")], {"name": "find"}, True),
        ([FIND, tool("FIND")], {"name": "Find"}, False),
        ([FIND], {"name": "find", "namespace": "erp"}, False),
        ([FIND, OTHER], {"name": "find"}, False),
        ([FIND, OTHER], {"name": "find", "namespace": "erp"}, False),
        ([FIND, OTHER], {"name": "crm_find"}, True),
    ],
)
def test_a_tool_is_its_namespace_and_name(
    tools: list[dict[str, Any]], called: dict[str, Any], passes: bool
) -> None:
    case = {"prompt": "Go", "expected_tool": "crm.find"}
    spaces = {"crm": "Customers.", "erp": "Stock."}
    made = parse_suite(json.dumps(suite(*tools, namespaces=spaces, test_cases=[case])))
    assert score_calls(made, made.test_cases[0], [{**called, "arguments": {}}]).passed == passes
    record = {**call(called["name"]), **{k: v for k, v in called.items() if k == "namespace"}}
    message = {"role": "assistant", "tool_calls": [record]}
    assert score_messages(made, made.test_cases[0], [message]).passed == passes


@pytest.mark.parametrize("name", ["crm.find", "CRM.FIND", "find", "Find", "CRM_find"])
def test_a_forbidden_tool_is_forbidden_by_each_of_its_names(name: str) -> None:
    case = {"prompt": "Go", "expected_tool": "*", "forbidden_calls": ["crm.find"]}
    thresholds = {"arguments_valid": None}
    made = parse_suite(json.dumps(suite(FIND, test_cases=[{**case, "thresholds": thresholds}])))
    result = score_calls(made, made.test_cases[0], [{"name": name, "arguments": {}}])
    assert result.failure == "forbidden_call"
    toolbox = Toolbox(resolve(made, made.test_cases[0]))
    assert asyncio.run(toolbox.forbids([ToolCall(name, {})]))


def test_a_forbidden_tool_of_a_suite_without_namespaces_is_found_in_any() -> None:
    case = {"prompt": "Go", "expected_tool": "pay", "forbidden_calls": ["find"]}
    made = parse_suite(json.dumps(suite(tool("find"), test_cases=[case])))
    calls = [call("pay", "{}", "c1"), {**call("find", "{}", "c2"), "namespace": "crm"}]
    result = score_messages(made, made.test_cases[0], [{"role": "assistant", "tool_calls": calls}])
    assert result.failure == "forbidden_call"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"tool": "pay"}, "tool pay"),
        ({"allowed_tools": ["pay"]}, "auto of pay"),
        ({"allowed_tools": ["pay"], "mode": "required"}, "required of pay"),
    ],
)
def test_a_choice_in_words(choice: Any, words: str) -> None:
    made = parse_suite(json.dumps(suite(tool_choice=choice)))
    assert str(resolve(made, made.test_cases[0]).tool_choice) == words
