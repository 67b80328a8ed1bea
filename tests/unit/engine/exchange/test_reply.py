"""Reading messages that may hold anything."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import call, tool
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_replies, read_reply
from pytest_tooleval.record.transcript import Reply

from ...test_secrets import json_values
from ..fakes import says

NAMES = ["get_weather", "search"]


def read(message: dict[str, Any], tool_choice: str = "required") -> Reply:
    request = ChatRequest([], [tool(name) for name in NAMES], tool_choice)
    return read_reply(ChatAnswer(message), request, cached=False)


def test_figures_are_passed_on() -> None:
    answer = ChatAnswer(
        says(),
        "stop",
        prompt_tokens=50,
        completion_tokens=10,
        cost_usd=0.5,
        latency_s=1.5,
        fallbacks={"tool_choice": "auto"},
    )
    request = ChatRequest([], [tool("search")], "required")
    reply = read_reply(answer, request, cached=True)
    assert reply.fallbacks == {"tool_choice": "auto"}
    assert (reply.finish_reason, reply.prompt_tokens, reply.completion_tokens) == ("stop", 50, 10)
    assert (reply.cost_usd, reply.latency_s, reply.tool_choice, reply.cached) == (0.5, 1.5, "auto", True)


def test_native_calls_in_order() -> None:
    first, second = call("get_weather", '{"city": "Paris"}', "a"), call("search", {"q": 1}, "b")
    reply = read(says(first, second))
    assert [(c.name, c.arguments, c.id) for c in reply.calls] == [
        ("get_weather", {"city": "Paris"}, "a"),
        ("search", {"q": 1}, "b"),
    ]
    assert reply.format == "native"


def test_the_message_stays_as_it_came() -> None:
    message = says(call("get_weather", "{", 5), "junk", thinking_blocks=[{"signature": "s"}])
    assert read(message).message == message


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "NaN", 5, [], "[" * 100_000])
def test_arguments_that_are_no_object_are_kept_as_text(arguments: object) -> None:
    (made,) = read(says(call("get_weather", arguments))).calls
    assert made.arguments is None
    assert isinstance(made.raw_arguments, str)


@pytest.mark.parametrize("id", [None, "", 5, ["x"], {}])
def test_an_id_that_is_no_text_is_none(id: object) -> None:
    assert read(says(call("get_weather", "{}", id))).calls[0].id is None


@pytest.mark.parametrize(
    "member", ["get_weather", None, 5, [], {}, {"function": None}, {"function": {"name": ["x"]}}]
)
def test_a_call_without_a_name_is_a_call_of_nothing(member: object) -> None:
    (made,) = read(says(member)).calls
    assert made.name == ""
    assert made.arguments is None


@pytest.mark.parametrize("tool_calls", ["x", 5, {"name": "get_weather"}])
def test_tool_calls_that_are_no_list_are_one(tool_calls: object) -> None:
    reply = read({"role": "assistant", "content": "Hello", "tool_calls": tool_calls})
    assert len(reply.calls) == 1


@pytest.mark.parametrize("tool_calls", [None, [], {}, ""])
def test_empty_tool_calls_are_none(tool_calls: object) -> None:
    reply = read({"role": "assistant", "content": "Hello", "tool_calls": tool_calls})
    assert reply.calls == ()


def test_the_older_function_call() -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    reply = read({"role": "assistant", "content": None, "function_call": function})
    assert [(c.name, c.arguments) for c in reply.calls] == [("get_weather", {"city": "Paris"})]


WRITTEN = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'


@pytest.mark.parametrize("content", [WRITTEN, [{"type": "text", "text": WRITTEN}]])
def test_a_call_written_as_text_is_recovered(content: object) -> None:
    reply = read(says(content=content))
    assert [(c.name, c.arguments) for c in reply.calls] == [("get_weather", {"city": "Paris"})]
    assert reply.format == "recovered"


def test_a_call_that_an_agent_returns_as_text_did_not_run_unless_a_tool_answered_it() -> None:
    answered = {"role": "tool", "tool_call_id": "c", "content": "rain"}
    replies = [
        ChatAnswer(says(content=WRITTEN)),
        ChatAnswer(says(content=WRITTEN), tool_answers=(answered,)),
    ]
    run = ChatAnswer(says(content="Done."), earlier=tuple(replies))
    read = read_replies(run, ChatRequest([], [tool("get_weather")]), cached=False)
    assert [each.statuses for each in read.all] == [("refused",), (), ()]


def test_nothing_is_recovered_where_nothing_may_be_called() -> None:
    assert read(says(content=WRITTEN), tool_choice="none").calls == ()


def test_a_whole_call_inside_the_name_is_repaired() -> None:
    reply = read(says(call('{"name": "search", "arguments": {"q": "x"}}', "{}")))
    assert [(c.name, c.arguments, c.id) for c in reply.calls] == [("search", {"q": "x"}, "call_1")]
    assert reply.format == "recovered"


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"content": ""},
        {"content": None, "reasoning_content": "No tool fits."},
        {"content": 5},
        {"content": {"text": "Hi."}},
        {"content": [{"type": "thinking", "thinking": "No tool fits."}], "tool_calls": []},
        {"content": [{"type": "text", "text": " "}]},
    ],
)
def test_an_answer_without_a_text_and_without_a_call_is_none(message: dict[str, Any]) -> None:
    found = read({"role": "assistant", **message}, "auto").no_answer
    assert found is not None
    assert str(found) == "empty answer: neither a text nor a call"


keys = st.sampled_from(["role", "content", "tool_calls", "function_call", "function", "name", "id"])
hostile = st.recursive(
    json_values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(keys, hostile), st.sampled_from(["required", "none"]))
def test_no_message_raises(message: dict[str, Any], tool_choice: str) -> None:
    reply = read(message, tool_choice)
    assert all(isinstance(made.name, str) for made in reply.calls)
    assert msgspec.convert(msgspec.to_builtins(reply), Reply) == reply
