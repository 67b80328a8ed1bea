"""Deferred, namespaced, custom and programmatic tools: what a provider is sent, and what goes back.

Each request is checked by the types of the provider's own library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from anthropic.types import ContentBlock
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from builders import CITY
from contracts.shapes import problem
from msgspec import structs
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import ResponseOutputItem
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.clients import anthropic_messages, gemini, openai_responses
from pytest_tooleval.engine.clients.lexical import lexical_message
from pytest_tooleval.engine.clients.transport import read_chat, tool_arguments
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.tools import choice_text
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.engine.tools.features import fit_request
from pytest_tooleval.errors import ModelError

Document = dict[str, Any]

USER = {"role": "user", "content": "Find Ana, and pay her 5."}
FIND: Document = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find a customer.",
        "parameters": CITY,
        "defer_loading": True,
        "output_schema": {"type": "object"},
        "input_examples": [{"city": "Rome"}],
    },
    "namespace": {"name": "crm", "description": "Customers."},
}
PAY = {
    "type": "function",
    "function": {"name": "pay", "parameters": CITY, "allowed_callers": ["direct", "programmatic"]},
}
GRAMMAR = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}
SQL = {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL.", "format": GRAMMAR}}
TOOLS = [FIND, PAY, SQL]
GPT, CLAUDE, GEMINI = "openai/gpt-5.5", "anthropic/claude-opus-4-6", "gemini/gemini-3-flash-preview"


def request_to(
    model: str, *messages: Mapping[str, Any], **fields: Any
) -> tuple[Document, Mapping[str, str]]:
    """The chat API's request as the client of a model gets it, and what the model got instead."""
    request = ChatRequest(messages or (USER,), fields.pop("tools", TOOLS), **fields)
    plain, instead = fit_request(request, HttpModel("m", model=model))
    return {"messages": list(plain.messages), **tool_arguments(plain)}, instead


def to_openai(*messages: Mapping[str, Any], **fields: Any) -> Document:
    chat, _ = request_to(GPT, *messages, **fields)
    body = openai_responses.responses_body({"model": "m", **chat}, encrypted=False)
    typed = {
        **body,
        "tools": [{"strict": None, **tool} if "parameters" in tool else tool for tool in body["tools"]],
    }
    assert problem(typed, ResponseCreateParamsNonStreaming) is None
    return body


def to_claude(*messages: Mapping[str, Any], **fields: Any) -> Document:
    chat, _ = request_to(CLAUDE, *messages, **fields)
    body = {"model": "m", **anthropic_messages.messages_body(chat, None)}
    assert problem(body, MessageCreateParamsNonStreaming) is None
    return body


def test_openai_gets_all_of_it() -> None:
    space, pay, sql, *hosted = to_openai()["tools"]
    (find,) = space["tools"]
    assert (space["type"], space["name"], space["description"]) == ("namespace", "crm", "Customers.")
    assert (find["name"], find["defer_loading"], find["output_schema"]) == (
        "find",
        True,
        {"type": "object"},
    )
    assert "input_examples" not in find
    assert pay["allowed_callers"] == ["direct", "programmatic"]
    assert sql["format"] == {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    assert hosted == [{"type": "tool_search"}, {"type": "programmatic_tool_calling"}]


def test_anthropic_gets_its_own_words() -> None:
    find, pay, sql, search, code = to_claude()["tools"]
    assert (find["name"], find["defer_loading"]) == ("find", True)
    assert "output_schema" not in find
    assert pay["allowed_callers"] == ["direct", code["type"]]
    assert sql["input_schema"]["required"] == ["input"]
    assert (search["name"], code["name"]) == ("tool_search_tool_bm25", "code_execution")


def test_combinations_that_a_provider_refuses_come_apart() -> None:
    function: Document = {"name": "charge", "parameters": CITY, "strict": True}
    strict = {"type": "function", "function": {**function, "allowed_callers": ["programmatic"]}}
    chat, instead = request_to(CLAUDE, tools=[FIND, PAY, strict])
    find, pay, charge = (tool["function"] for tool in chat["tools"][:3])
    assert "input_examples" not in find
    assert ("allowed_callers" in pay, "allowed_callers" in charge) == (True, False)
    assert "Anthropic refuses them beside deferred tools" in instead["tools.input_examples"]
    assert instead["tools.allowed_callers"].startswith("only direct calls of charge, because programs")
    # Nothing is deferred to a model that cannot search, so it keeps the examples.
    chat, instead = request_to("anthropic/claude-3-5-haiku-20241022")
    assert chat["tools"][0]["function"]["input_examples"] == [{"city": "Rome"}]
    assert "tools.input_examples" not in instead


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "groq/x", "ollama/x", "anthropic/claude-3-5-haiku-20241022"]
)
def test_a_model_that_cannot_search_gets_the_whole_list_and_says_so(model: str) -> None:
    chat, instead = request_to(model)
    functions = [tool.get("function", tool.get("custom")) for tool in chat["tools"]]
    assert [each["name"] for each in functions] == ["find", "pay", "sql"]
    assert not any(field in each for each in functions for field in ("defer_loading", "allowed_callers"))
    assert {"tools.defer_loading", "tools.allowed_callers", "tools.namespace"} <= set(instead)
    assert ("tools.custom" in instead) == (model != "openai/gpt-4o")


def test_what_litellm_loses_is_an_error() -> None:
    request = ChatRequest([USER], TOOLS)
    with pytest.raises(ModelError, match='remove api = "litellm" from'):
        fit_request(request, HttpModel("m", model=CLAUDE, api="litellm"))


def test_names_without_their_namespace_stay_apart() -> None:
    other = {**FIND, "function": {**FIND["function"], "name": "find"}, "namespace": {"name": "erp"}}
    chat, _ = request_to("groq/x", tools=[FIND, other])
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["crm_find", "erp_find"]


def test_a_search_that_the_suite_names_is_the_only_one() -> None:
    regex = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    kinds = [tool.get("type") for tool in to_claude(tools=[FIND, regex])["tools"]]
    assert kinds == [None, regex["type"]]


ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "pay"}}]},
}
ONE = {"type": "function", "function": {"name": "pay"}}


def test_a_choice_of_tools() -> None:
    assert to_openai(tool_choice=ONE)["tool_choice"] == {"type": "function", "name": "pay"}
    chosen = to_openai(tool_choice=ALLOWED)["tool_choice"]
    assert chosen == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "pay"}],
    }
    assert to_claude(tools=[PAY], tool_choice=ONE)["tool_choice"] == {"type": "tool", "name": "pay"}
    assert [tool["name"] for tool in to_claude(tool_choice=ALLOWED)["tools"]][:1] == ["pay"]
    chat, _ = request_to(GEMINI, tools=[PAY], tool_choice=ALLOWED)
    calling = gemini.generate_body(chat, "gemini-3")["toolConfig"]["functionCallingConfig"]
    assert calling == {"mode": "VALIDATED", "allowedFunctionNames": ["pay"]}
    chat, _ = request_to("openai/gpt-4o", tools=[PAY], tool_choice=ALLOWED)
    assert problem({"model": "m", **chat}, CompletionCreateParamsNonStreaming) is None


SHOP = {**FIND, "namespace": {"name": "shop"}}
FIND_OF_CRM = {"type": "function", "function": {"name": "find"}, "namespace": {"name": "crm"}}
ONE_SQL = {"type": "custom", "custom": {"name": "sql"}}


@pytest.mark.parametrize("model", [GPT, "openai/gpt-4o", CLAUDE, GEMINI, "groq/x", "builtin/lexical"])
@pytest.mark.parametrize(
    ("chosen", "sent"), [(FIND_OF_CRM, {"name": "crm_find"}), (ONE_SQL, {"name": "sql"})]
)
def test_a_choice_names_a_tool_as_it_is_sent(model: str, chosen: Document, sent: Document) -> None:
    tools = [SHOP, FIND, SQL]
    chat, _ = request_to(model, tools=tools, tool_choice=chosen)
    assert chat["tool_choice"][chat["tool_choice"]["type"]] == sent
    assert chat["tool_choice"]["type"] in [tool["type"] for tool in chat["tools"] if sent in named(tool)]
    several = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [chosen]}}
    chat, _ = request_to(model, tools=tools, tool_choice=several)
    choice = chat["tool_choice"]
    allowed = chat["tools"] if choice == "required" else choice["allowed_tools"]["tools"]
    assert [each for tool in allowed for each in named(tool)] == [sent]


def named(tool: Document) -> list[Document]:
    return [{"name": tool[kind]["name"]} for kind in ("function", "custom") if kind in tool]


def test_a_choice_in_words() -> None:
    several = {"mode": "auto", "tools": [FIND_OF_CRM, ONE_SQL]}
    assert choice_text({"type": "allowed_tools", "allowed_tools": several}) == "auto of crm.find, sql"
    assert choice_text(FIND_OF_CRM) == "tool crm.find"


SERVED = {"execution": "server", "status": "completed", "call_id": None}
PROGRAM = {"type": "program", "caller_id": "p1"}
CODE = {"type": "code_execution_20260120", "tool_id": "s1"}
RAN = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}
FOUND = {
    "type": "tool_search_tool_search_result",
    "tool_references": [{"type": "tool_reference", "tool_name": "find"}],
}
OPENAI_ROUNDS: list[list[Document]] = [
    [
        {"type": "tool_search_call", "id": "t", "arguments": {}, **SERVED},
        {"type": "tool_search_output", "id": "o", "tools": [], **SERVED},
        {"type": "program", "id": "p", "call_id": "p1", "code": "await find()", "fingerprint": "f1"},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "find",
            "namespace": "crm",
            "arguments": "{}",
            "caller": PROGRAM,
        },
    ],
    [
        {"type": "program_output", "id": "q", "call_id": "p1", "result": "1", "status": "completed"},
        {"type": "custom_tool_call", "id": "y", "call_id": "c2", "name": "sql", "input": "SELECT 1"},
    ],
]
CLAUDE_ROUNDS: list[list[Document]] = [
    [
        {"type": "text", "text": "I look."},
        {
            "type": "server_tool_use",
            "id": "s0",
            "name": "tool_search_tool_bm25",
            "input": {"query": "x"},
        },
        {"type": "tool_search_tool_result", "tool_use_id": "s0", "content": FOUND},
        {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "find()"}},
        {"type": "tool_use", "id": "c1", "name": "find", "input": {}, "caller": CODE},
    ],
    [
        {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": RAN},
        {"type": "tool_use", "id": "c2", "name": "sql", "input": {"input": "SELECT 1"}},
    ],
]


def results_of(message: Document) -> list[Document]:
    """The message, and an answer to each of its calls."""
    answers = (
        {"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in message["tool_calls"]
    )
    return [message, *answers]


def test_a_program_goes_on_over_two_rounds_of_openai() -> None:
    messages: list[Document] = [USER]
    for items in OPENAI_ROUNDS:
        TypeAdapter[object](list[ResponseOutputItem]).validate_python(items)
        chat = openai_responses.chat_document({"model": "m", "status": "completed", "output": items})
        messages += results_of(chat["choices"][0]["message"])
    items = to_openai(*messages)["input"]
    first = [
        {name: value for name, value in item.items() if value is not None} for item in OPENAI_ROUNDS[0]
    ]
    assert items[1:5] == first
    assert items[5] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "ok",
        "caller": PROGRAM,
    }
    assert items[6:] == [
        *OPENAI_ROUNDS[1],
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
    ]


def test_a_program_goes_on_over_two_rounds_of_anthropic() -> None:
    messages: list[Document] = [USER]
    for blocks in CLAUDE_ROUNDS:
        TypeAdapter[object](list[ContentBlock]).validate_python(blocks)
        document = {"model": "m", "content": blocks, "stop_reason": "tool_use", "container": {"id": "k"}}
        chat = anthropic_messages.chat_document(document, {"find": "find"})
        messages += results_of(chat["choices"][0]["message"])
        assert read_chat(chat, document, None, 1.0).is_cost_partial, "a container takes time"
    body = to_claude(*messages)
    assert body["container"] == "k"
    assert [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"] == CLAUDE_ROUNDS


def test_a_search_names_tools_as_the_suite_does() -> None:
    blocks = CLAUDE_ROUNDS[0][1:3]
    document = {"content": blocks, "stop_reason": "end_turn"}
    message = anthropic_messages.chat_document(document, {"crm/find": "find"})["choices"][0]["message"]
    assert message["tool_searches"][0]["tools"] == ["crm/find"]


def test_ids_that_a_provider_draws_do_not_change_the_key() -> None:
    def key(drawn: str, code: str = "find()") -> str:
        first, *_ = CLAUDE_ROUNDS
        caller = {"type": "code_execution_20260120", "tool_id": f"s{drawn}"}
        blocks = [
            first[0],
            {**first[3], "id": f"s{drawn}", "input": {"code": code}},
            {**first[4], "id": f"c{drawn}", "caller": caller},
        ]
        document = {"content": blocks, "stop_reason": "tool_use", "container": {"id": f"k{drawn}"}}
        message = anthropic_messages.chat_document(document, {})["choices"][0]["message"]
        return key_of(
            question_of(HttpModel("m", model=CLAUDE), ChatRequest([USER, *results_of(message)], TOOLS))
        )

    assert key("1") == key("2")
    assert key("1") != key("1", "pay()")


def test_the_baseline_searches() -> None:
    stamp = {"type": "function", "function": {"name": "buy_stamps", "defer_loading": True}}
    message = lexical_message(
        [{"role": "user", "content": "Find the customer Ana."}], [stamp, FIND, PAY], "required"
    )
    (search,) = message["tool_searches"]
    assert search["tools"] == ["find"]
    assert message["tool_calls"][0]["function"]["name"] == "find"
    (call,) = lexical_message([{"role": "user", "content": "Run this SQL"}], [SQL], "auto")["tool_calls"]
    assert call["custom"] == {"name": "sql", "input": "Run this SQL"}


def test_a_request_without_any_of_it_stays_as_it_is() -> None:
    request = ChatRequest([USER], [{"type": "function", "function": {"name": "pay"}}], "required")
    for model in (GPT, CLAUDE, "groq/x"):
        assert fit_request(request, HttpModel("m", model=model)) == (request, {})
    assert fit_request(structs.replace(request, tools=()), HttpModel("m", model=GPT))[1] == {}


@pytest.mark.parametrize("model", [GPT, "openai/gpt-4o", CLAUDE, "mistral/mistral-large"])
def test_what_every_model_does_is_not_asked_for(model: str) -> None:
    plain = {"defer_loading": False, "allowed_callers": ["direct"], "output_schema": None}
    chat, instead = request_to(model, tools=[{"type": "function", "function": {"name": "pay", **plain}}])
    assert chat["tools"] == [{"type": "function", "function": {"name": "pay"}}]
    assert instead == {}
