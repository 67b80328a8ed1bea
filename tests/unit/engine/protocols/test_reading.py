"""Calls, searches and programs in the items, blocks and parts of the providers' own libraries."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from anthropic.types import ContentBlock
from google.genai import types as gemini
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter
from steps import growth

from pytest_tooleval.engine.protocols.reading import read_messages
from pytest_tooleval.imports.chats import chat_messages
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.scoring.trial import score_calls
from pytest_tooleval.suite.load import parse_suite

Item = dict[str, Any]

PROGRAM = {"type": "program", "caller_id": "p1"}
DONE = {"status": "completed"}
FOUND = {"type": "function", "name": "pay", "parameters": {}, "strict": False, "defer_loading": True}
CRM = {
    "type": "namespace",
    "name": "crm",
    "description": "Customers.",
    "tools": [{**FOUND, "name": "find"}],
}
ITEMS: dict[str, Item] = {
    "function": {"type": "function_call", "call_id": "c", "name": "pay", "arguments": '{"sum": 5}'},
    "in a namespace": {
        "type": "function_call", "call_id": "c", "name": "find", "namespace": "crm", "arguments": "{}",
    },
    "from a program": {
        "type": "function_call", "call_id": "c", "name": "pay", "arguments": "{}", "caller": PROGRAM,
    },
    "custom": {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"},
    "MCP": {"type": "mcp_call", "id": "m", "name": "pay", "arguments": "{}", "server_label": "s"},
    "shell": {"type": "shell_call", "id": "s", "call_id": "c", "action": {"commands": ["ls"]}, **DONE},
    "hosted shell": {
        "type": "shell_call", "id": "s", "call_id": "c", "action": {"commands": ["ls"]}, **DONE,
        "environment": {"type": "container_reference", "container_id": "o"},
    },
    "local shell": {
        "type": "local_shell_call", "id": "s", "call_id": "c", **DONE,
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "patch": {
        "type": "apply_patch_call", "id": "a", "call_id": "c", **DONE,
        "operation": {"type": "delete_file", "path": "a.py"},
    },
    "web search": {
        "type": "web_search_call", "id": "w", **DONE, "action": {"type": "search", "query": "x"},
    },
    "code": {
        "type": "code_interpreter_call", "id": "i", "container_id": "o", "code": "1",
        "outputs": None, **DONE,
    },
}  # fmt: skip
CALLS: dict[str, tuple[str, object]] = {
    "function": ("pay", {"sum": 5}),
    "in a namespace": ("find", {}),
    "from a program": ("pay", {}),
    "custom": ("sql", {"input": "SELECT 1"}),
    "MCP": ("pay", {}),
    "shell": ("shell", {"commands": ["ls"]}),
    "hosted shell": ("shell", {"commands": ["ls"]}),
    "local shell": ("local_shell", {"type": "exec", "command": ["ls"], "env": {}}),
    "patch": ("apply_patch", {"type": "delete_file", "path": "a.py"}),
    "web search": ("web_search", {"query": "x"}),
    "code": ("code_interpreter", {"code": "1"}),
}


EDIT = {"command": "view", "path": "a.py"}


def item(value: Item) -> Item:
    """The item, which OpenAI's library can read."""
    TypeAdapter[object](ResponseOutputItem).validate_python(value)
    return value


def block(value: Item) -> Item:
    """The block, which Anthropic's library can read."""
    TypeAdapter[object](ContentBlock).validate_python(value)
    return value


def part(value: Item) -> Item:
    """The part, which Google's library can read."""
    gemini.Part.model_validate(value)
    return value


def replies(*values: Item) -> tuple[Reply, ...]:
    return transcript_of(read_messages([{"role": "user", "content": "Hi"}, *values]).messages).replies


def answer_of(*blocks: Item) -> Item:
    return {"role": "assistant", "content": list(map(block, blocks))}


@pytest.mark.parametrize("name", ITEMS)
def test_whatever_calls_is_a_call(name: str) -> None:
    (reply, *_) = replies(item(ITEMS[name]))
    (call,) = reply.calls
    assert (call.name, call.arguments) == CALLS[name]
    assert call.caller == (PROGRAM if name == "from a program" else None)
    assert call.hosted == (name in ("MCP", "web search", "code", "hosted shell"))


def test_a_search_is_no_call_and_a_program_goes_on_over_several_answers() -> None:
    first, second, last = replies(
        item(
            {
                "type": "tool_search_call",
                "id": "t",
                "arguments": {"query": "pay"},
                "execution": "server",
                **DONE,
            }
        ),
        item(
            {
                "type": "tool_search_output",
                "id": "o",
                "tools": [FOUND, CRM],
                "execution": "server",
                **DONE,
            }
        ),
        item({"type": "program", "id": "p", "call_id": "p1", "code": "await pay()", "fingerprint": "f"}),
        item(ITEMS["from a program"]),
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
        item({**ITEMS["from a program"], "call_id": "d", "name": "refund"}),
        {"type": "function_call_output", "call_id": "d", "output": "ok"},
        item({"type": "program_output", "id": "q", "call_id": "p1", "result": "paid", **DONE}),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    )
    (search,) = first.searches
    assert (search.arguments, search.tools) == ({"query": "pay"}, ("pay", "crm.find"))
    assert first.message["programs"] == [{"id": "p1", "code": "await pay()", "result": "paid"}]
    assert [[(call.name, call.caller) for call in each.calls] for each in (first, second, last)] == [
        [("pay", PROGRAM)],
        [("refund", PROGRAM)],
        [],
    ]


def test_the_answer_joins_the_searches_before_it() -> None:
    (reply,) = replies(
        {"type": "tool_search_call", "id": "t", "arguments": {}},
        {"type": "tool_search_output", "id": "o", "tools": []},
        {"role": "assistant", "content": "Nothing found."},
    )
    assert (reply.text, [each.tools for each in reply.searches]) == ("Nothing found.", [()])


def test_blocks_of_anthropic() -> None:
    caller = {"type": "code_execution_20990101", "tool_id": "e"}  # newer than any library
    reference = {"type": "tool_reference", "tool_name": "pay"}
    first, last = replies(
        {
            "role": "assistant",
            "stop_reason": "tool_use",
            "content": [
                block({"type": "text", "text": "I look."}),
                block(
                    {
                        "type": "server_tool_use",
                        "id": "t",
                        "name": "tool_search_tool_bm25",
                        "input": {"query": "p"},
                    }
                ),
                block(
                    {
                        "type": "tool_search_tool_result",
                        "tool_use_id": "t",
                        "content": {
                            "type": "tool_search_tool_search_result",
                            "tool_references": [reference],
                        },
                    }
                ),
                block(
                    {
                        "type": "server_tool_use",
                        "id": "e",
                        "name": "code_execution",
                        "input": {"code": "pay()"},
                    }
                ),
                {"type": "tool_use", "id": "c", "name": "pay", "input": {"sum": 5}, "caller": caller},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}],
        },
        answer_of(
            {
                "type": "code_execution_tool_result",
                "tool_use_id": "e",
                "content": {
                    "type": "code_execution_result",
                    "stdout": "no",
                    "stderr": "",
                    "return_code": 0,
                    "content": [],
                },
            },
            {"type": "text", "text": "Refused."},
        ),
    )
    (call,) = first.calls
    assert (call.name, call.arguments, call.caller) == ("pay", {"sum": 5}, caller)
    assert [each.tools for each in first.searches] == [("pay",)]
    assert first.message["programs"] == [{"id": "e", "code": "pay()", "result": "no"}]
    assert (first.text, first.statuses, first.finish_reason) == ("I look.", ("error",), "tool_use")
    assert (last.text, last.calls) == ("Refused.", ())


def test_what_anthropic_runs_itself_is_a_call_with_its_answer() -> None:
    use = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}}
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    result = {"type": "web_search_tool_result", "tool_use_id": "w", "content": error}
    reply, last = replies(answer_of(use, result, {"type": "text", "text": "Down."}))
    assert ([call.name for call in reply.calls], reply.statuses) == (["web_search"], ("error",))
    assert (reply.to_answer, last.text) == ((), "Down.")


@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("code_execution", {"code": "1"}, "1"),
        ("bash_code_execution", {"command": "ls"}, "ls"),
        ("text_editor_code_execution", EDIT, EDIT),
    ],
)
def test_what_anthropic_runs_in_a_container_is_a_program(tool: str, given: Item, code: object) -> None:
    use = {"type": "server_tool_use", "id": "w", "name": tool, "input": given}
    result = {"type": f"{tool}_tool_result", "tool_use_id": "w", "content": {"stdout": "out"}}
    (reply,) = replies({"role": "assistant", "content": [block(use), result]})
    assert (reply.calls, reply.message["programs"]) == ((), [{"id": "w", "code": code, "result": "out"}])


@pytest.mark.parametrize("snake", [False, True])
def test_parts_of_gemini(snake: bool) -> None:
    def named(field: str) -> str:
        return (
            "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in field)
            if snake
            else field
        )

    parts: list[Item] = [
        {"text": "Hm.", "thought": True},
        {named("executableCode"): {"language": "PYTHON", "code": "1 + 1"}},
        {named("codeExecutionResult"): {"outcome": "OUTCOME_OK", "output": "2"}},
        {named("functionCall"): {"name": "pay", "args": {"sum": 2}}, named("thoughtSignature"): "Zm9v"},
        {named("toolCall"): {"id": "u", named("toolType"): "URL_CONTEXT", "args": {"url": "x"}}},
    ]
    answer = {named("functionResponse"): {"name": "pay", "response": {"ok": 1}}}
    (reply, last) = replies(
        {"role": "model", "parts": list(map(part, parts))},
        {"role": "user", "parts": [part(answer)]},
        {"role": "model", "parts": [part({"text": "Paid."})]},
    )
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("pay", {"sum": 2}),
        ("url_context", {"url": "x"}),
    ]
    assert reply.message["programs"] == [{"id": None, "code": "1 + 1", "result": "2"}]
    assert ([each["content"] for each in reply.tool_answers], last.text) == (['{"ok": 1}'], "Paid.")


def kinds_of(union: object) -> list[str]:
    """The types of the items in a union of a library."""
    members = get_args(get_args(union)[0])
    return sorted(get_args(member.model_fields["type"].annotation)[0] for member in members)


@pytest.mark.parametrize("kind", [kind for kind in kinds_of(ResponseOutputItem) if kind != "message"])
def test_no_item_of_openai_is_unknown(kind: str) -> None:
    assert unknown([{"type": kind, "id": "x"}]) == []


def unknown(messages: list[Any]) -> list[str]:
    """The types of items that are not known. That an answer's call is missing is another matter."""
    kept = [item for message in read_messages(messages).messages for item in message.get("unread", ())]
    return [item["type"] for item in kept if item["type"] != "tool result without its call"]


@pytest.mark.parametrize("kind", kinds_of(ContentBlock))
def test_no_block_of_anthropic_is_unknown(kind: str) -> None:
    # A known one beside it, as plain text alone needs no reading.
    message = {"role": "assistant", "content": [{"type": kind, "id": "x"}, {"type": "thinking"}]}
    assert unknown([message]) == []


def test_a_forbidden_call_in_a_namespace_is_forbidden() -> None:
    suite = parse_suite(
        json.dumps(
            {
                "name": "s",
                "tools": [{"type": "function", "function": {"name": "find"}}],
                "test_cases": [{"prompt": "Hi", "expected_tool": None, "forbidden_calls": ["find"]}],
            }
        )
    )
    messages = chat_messages([{"role": "user", "content": "Hi"}, ITEMS["in a namespace"]])
    assert messages[1]["tool_calls"][0]["namespace"] == "crm"
    result = score_calls(suite, suite.test_cases[0], transcript_of(messages).calls)
    assert result.failure == "forbidden_call"


def test_an_answer_that_is_cut_off_after_a_tool_of_the_provider_says_so() -> None:
    use = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "w", "content": []}
    reply, *_ = replies({**answer_of(use, result), "stop_reason": "max_tokens"})
    assert reply.finish_reason == "max_tokens"


def test_many_calls_of_one_answer_take_no_longer_each() -> None:
    def read(size: int) -> None:
        read_messages([{**ITEMS["function"], "call_id": str(number)} for number in range(size)])

    assert growth(read) < 2.5


RIDDLE = {"type": "riddle", "x": 1}


@pytest.mark.parametrize(
    "values",
    [
        [RIDDLE, {"role": "assistant", "content": "Hi."}],
        [
            answer_of({"type": "thinking", "thinking": "", "signature": ""})
            | {"content": [{"type": "thinking"}, RIDDLE]}
        ],
        [{"role": "model", "parts": [{"text": "Hi."}, {"riddle": {"x": 1}}]}],
    ],
)
def test_what_nobody_knows_is_kept(values: list[Item]) -> None:
    kept = [each for message in read_messages(values).messages for each in message.get("unread", ())]
    assert kept in ([RIDDLE], [{"riddle": {"x": 1}}])


def test_an_unknown_item_that_calls_is_a_call() -> None:
    (reply,) = replies({"type": "rocket_call", "call_id": "c", "action": {"to": "moon"}})
    assert [(call.name, call.arguments) for call in reply.calls] == [("rocket", {"to": "moon"})]


@pytest.mark.parametrize("id", [["t"], {"of": "t"}, 5, None])
def test_ids_may_be_anything(id: object) -> None:
    (reply,) = replies(
        {"type": "tool_search_call", "id": id, "arguments": {}},
        {"type": "tool_search_output", "id": id, "tools": [FOUND]},
        {"type": "program", "id": id, "code": "1"},
        {"type": "program_output", "id": id, "result": "1"},
    )
    assert [each.tools for each in reply.searches] == [("pay",)]
    assert [each["result"] for each in reply.message["programs"]] == ["1"]
