"""Calls of tools that the provider runs itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.chats import chat_messages
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.hosted import hosted_tool, listed_names
from pytest_tooleval.scoring.trial import score_messages, score_trial
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import resolve

from .cases import NAMES, call, live, tool

RAN = structs.replace(call("code_interpreter", code="1"), hosted=True)
A = call("a")
CHAIN = {"expected_tool": "a", "multi_turn": True, "optimal_hops": 1}
LISTED = {
    "openai": [{"type": "code_interpreter", "container": {"type": "auto"}}],
    "anthropic": [{"type": "web_search_20250305", "name": "web_search"}],
}
NOTHING: dict[str, Any] = {"expected_tool": None}
CODE = {"expected_tool": "code_interpreter", "expected_params": {"code": "1"}}


def suite_of(listed: dict[str, Any], **case: Any) -> Any:
    test = {"id": "one", "prompt": "?", **case}
    tools = [tool(name, {"type": "object", "properties": {}}) for name in NAMES if name != "web_search"]
    made = {"name": "s", "tools": tools, "provider_tools": listed, "test_cases": [test]}
    return parse_suite(json.dumps(made))


@pytest.mark.parametrize(
    ("replies", "case", "listed", "unlisted"),
    [
        ([[RAN]], NOTHING, None, "unexpected_call"),
        ([[RAN, A]], {"expected_tool": "a"}, None, "surplus_call"),
        ([[RAN, RAN, A]], {"expected_calls": [{"tool": "a"}]}, None, "surplus_call"),
        ([[RAN, A]], {"expected_tool": "a", "thresholds": {"max_calls": 1}}, None, "surplus_call"),
        ([[RAN, A, A]], {"expected_tool": "a"}, "surplus_call", "surplus_call"),
        ([[RAN, call("a", x=1)]], {"expected_tool": "a"}, "unexpected_argument", "surplus_call"),
        ([[RAN], [A]], CHAIN, None, "inefficient_chain"),
        ([[RAN]], CHAIN, "missing_call", "unfinished_chain"),
        ([[call("code_interpreter"), A]], {"expected_tool": "a"}, *["hallucinated_tool"] * 2),
        ([[structs.replace(A, hosted=True)]], {"expected_tool": "a"}, None, None),
        ([[structs.replace(A, hosted=True)]], NOTHING, *["unexpected_call"] * 2),
    ],
)
def test_a_listed_tool_is_free_and_another_one_is_surplus(
    replies: list[list[ToolCall]], case: dict[str, Any], listed: str | None, unlisted: str | None
) -> None:
    for tools, failure in ((LISTED, listed), ({}, unlisted)):
        suite = suite_of(tools, **case)
        found = score_trial(resolve(suite, suite.test_cases[0]), live(*replies)).explain()
        assert found.failure == failure
        assert found.transcript is not None
        assert len(found.transcript.calls) == sum(map(len, replies))


ACTION = {"type": "search", "query": "x", "sources": [{"url": "https://x.example"}]}
SEARCH = {"type": "web_search_call", "id": "w", "action": ACTION}
INTERPRETER = {"type": "code_interpreter_call", "id": "i", "code": "1", "outputs": [{"logs": "2"}]}
PYTHON = {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {"code": "1"}}
BASH = {"type": "server_tool_use", "id": "s", "name": "bash_code_execution", "input": {"command": "1"}}
GOOGLE = {"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"text": "Done."}]}
SAYS = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def of_claude(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": [block, {"type": "text", "text": "Done."}]}]


RUNS = [[INTERPRETER, SAYS], of_claude(PYTHON), of_claude(BASH), [GOOGLE]]


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize(
    ("case", "failure"),
    [
        (NOTHING, None),
        ({**NOTHING, "forbidden_calls": ["code_interpreter"]}, "forbidden_call"),
        ({**NOTHING, "forbidden_calls": "*"}, "forbidden_call"),
        (CODE, None),
        ({"expected_tool": "code_interpreter", "expected_params": {"code": "2"}}, "wrong_value"),
        ({**NOTHING, "policies": [{"tool": "code_interpreter", "at_most": 0}]}, "broken_policy"),
        ({**NOTHING, "policies": [{"tool": "code_interpreter", "at_most": 1}]}, None),
        ({"expected_tool": "*"}, "missing_call"),
    ],
)
def test_the_listed_name_is_that_of_every_providers_calls(
    run: list[dict[str, Any]], case: dict[str, Any], failure: str | None
) -> None:
    messages = chat_messages([{"role": "user", "content": "?"}, *run])
    assert score_messages(suite_of(LISTED, **case), "one", messages).failure == failure


@pytest.mark.parametrize("run", [*RUNS, [SEARCH, SAYS]], ids=str)
def test_one_that_the_suite_does_not_list_is_surplus(run: list[dict[str, Any]]) -> None:
    messages = chat_messages([{"role": "user", "content": "?"}, *run])
    found = score_messages(suite_of({}, **NOTHING), "one", messages)
    assert found.failure == "unexpected_call"


def test_what_a_search_found_is_none_of_its_arguments() -> None:
    messages = chat_messages([{"role": "user", "content": "?"}, SEARCH, SAYS])
    expected = [{"tool": "web_search", "params": {"query": "x", "sources": {"$absent": True}}}]
    assert score_messages(suite_of(LISTED, expected_calls=expected), "one", messages).passed


def test_programs_of_the_suites_own_tools_are_free() -> None:
    own = tool("a", {"type": "object", "properties": {}})
    own["function"]["allowed_callers"] = ["programmatic"]
    suite = suite_of({}, **NOTHING, tools=[own])
    messages = chat_messages([{"role": "user", "content": "?"}, *of_claude(PYTHON)])
    assert score_messages(suite, "one", messages).passed


def test_a_call_on_a_listed_mcp_server_is_free() -> None:
    call_of_mcp = {"type": "mcp_call", "id": "m", "name": "find", "arguments": "{}", "server_label": "s"}
    messages = chat_messages([{"role": "user", "content": "?"}, call_of_mcp, SAYS])
    server = {"type": "mcp", "server_label": "s", "server_url": "https://x.example"}
    listed = {"openai": [{**server, "allowed_tools": ["find"]}]}
    assert score_messages(suite_of(listed, **NOTHING), "one", messages).passed
    assert score_messages(suite_of(listed, expected_tool="find"), "one", messages).passed
    assert not score_messages(suite_of({}, **NOTHING), "one", messages).passed


@pytest.mark.parametrize(
    ("case", "listed", "message"),
    [
        ({"expected_tool": "web_search"}, {}, "is a provider's own; list it in provider_tools"),
        ({**NOTHING, "forbidden_calls": ["web_search"]}, {}, "list it in provider_tools"),
        ({"expected_tool": "code_execution"}, LISTED, "list it in provider_tools"),
        ({"expected_tool": "web_serch"}, LISTED, "is not defined in the suite"),
    ],
)
def test_a_name_that_is_not_listed_is_a_problem(
    case: dict[str, Any], listed: dict[str, Any], message: str
) -> None:
    with pytest.raises(SuiteError, match=message):
        suite_of(listed, **case)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("web_search_preview_2025_03_11", "web_search"),
        ("web_search_call", "web_search"),
        ("Google_Search_Web", "web_search"),
        ("bash_code_execution", "code_execution"),
        ("code_execution_20250825", "code_execution"),
        ("computer_use_preview", "computer"),
        ("find", ""),
        ("my_web_search", ""),
    ],
)
def test_names_of_hosted_tools(name: str, meant: str) -> None:
    assert hosted_tool(name) == meant


def test_names_in_a_list() -> None:
    assert list(listed_names({"type": "web_search_preview"})) == ["web_search"]
    assert list(listed_names({"type": "mcp", "allowed_tools": {"tool_names": ["find"]}})) == ["find"]
