"""What is not known here, and may be a call: never "nothing happened"."""

from __future__ import annotations

from typing import Any

import pytest
from builders import recorded_answers

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.imports.chats import chat_messages
from pytest_tooleval.imports.records import UnusableError
from pytest_tooleval.record.call_like import unread_in
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.trial import score_messages

from ..scoring.cases import suite_of

CALL = {"toolName": "search", "args": {"q": "x"}}


@pytest.mark.parametrize(
    "fields",
    [
        {"toolInvocations": [{"state": "result", **CALL}]},
        {"toolCalls": [CALL]},
        {"tool_uses": [{"name": "search", "input": {}}]},
        {"additional_kwargs": {"tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]}},
        {"steps": [{"tool": "search", "tool_input": {"q": "x"}}]},
        {"invocation": {"id": 1}},
        {"content": [{"type": "tool-call", "toolCallId": "1", **CALL}]},
        {"content": [{"type": "dynamic-tool", "state": "done"}]},
        {"unread": [{"type": "function_invocation", "what": {"x": 1}}]},
        {"unread": [{"riddle": {"name": "search", "arguments": {}}}]},
        {"parts": [{"type": "tool-search", "input": {"q": "x"}}]},
        {"steps": [{"part_kind": "tool-call", "tool_name": "search", "args": None}]},
        {"name": "search", "arguments": "{}"},
        {"actions": {"first": {"name": "search", "args": '{"q": 1}'}}},
    ],
    ids=str,
)
def test_what_may_be_a_call_is_somebody_elses_unread_part(fields: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": "Done.", **fields}

    assert [each.owner for each in unread_in(message)] == ["other"]
    messages = [{"role": "user", "content": "?"}, message]
    with pytest.raises(ScoringError, match="not known here, and that may be a call"):
        score_messages(suite_of(expected_tool=None), "one", chat_messages(messages))
    record = {"messages": [messages[0]], "output": message}
    try:
        answers, reasons = recorded_answers(record)
    except UnusableError as error:
        answers, reasons = [], [str(error)]
    assert (answers, len(reasons)) == ([], 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"toolInvocations": []},
        {"tool_usage": {"search": 1}},
        {"usage": {"tool_calls": {"count": 1}}},
        {"tools": [{"name": "search", "parameters": {"type": "object", "properties": {}}}]},
        {"available_tools": [{"name": "search"}]},
        {"enabled_tools": ["search"]},
        {"tool_resources": {"file_search": {"ids": ["1"]}}},
        {"tool_choice": {"type": "tool"}},
        {"toolCallCount": 3},
        {"metadata": {"name": "run 5", "input": "a text"}},
        {"unread": [{"type": "riddle", "text": "?"}]},
        {"latency": {"total": 1}},
        {"prompt": {"name": "greet", "params": {"who": "Ann"}}},
        {"experiment": {"name": "five", "input": {"a": 1}}},
        {"longRunningToolIds": ["1"]},
        {"available_tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}]},
        {
            "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}],
            "tool_call_chunks": [{"name": "search", "args": "", "id": "1", "index": 0}],
        },
        {
            "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}],
            "additional_kwargs": {"tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]},
        },
    ],
    ids=str,
)
def test_what_is_no_call_is_passed_over(fields: dict[str, Any]) -> None:
    assert list(unread_in({"role": "assistant", "content": "Done.", **fields})) == []


FUNCTION = {"name": "search", "arguments": "{}"}
OTHER = {"id": "1", "function": {"name": "a", "arguments": "{}"}}


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": {"name": "search", "arguments": "{}"}},
        {"tool_calls": {"0": {"function": FUNCTION}}},
        {"tool_calls": '[{"function": {"name": "search"}}]'},
        {"function_call": "search"},
        {"function_call": [FUNCTION]},
        {"tool_calls": [OTHER], "function_call": FUNCTION},
    ],
    ids=str,
)
def test_calls_in_any_shape_are_calls(fields: dict[str, Any]) -> None:
    suite = suite_of(expected_tool=None)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x", **fields}]

    result = score_messages(suite, "one", messages)

    assert result.failure == "unexpected_call"
    made = len(Transcript.from_messages(messages).calls)
    assert made == len(fields)


def test_a_conversation_without_a_reply_shows_nothing() -> None:
    with pytest.raises(ScoringError, match='no reply; expected a message with the role "assistant"'):
        score_messages(suite_of(expected_tool=None), "one", [{"role": "user", "content": "?"}])


TEXT, USE = {"type": "text", "text": "Done."}, {"type": "tool_use", "name": "search", "input": {}}
OF_GEMINI = {"role": "model", "parts": [{"text": "Done."}]}
SEARCHES = {"functionCall": {"name": "search", "args": {}}}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": [TEXT, USE], "tool_calls": []}],
        [{"role": "assistant", "content": [TEXT, {"type": "thinking"}], "toolCalls": [CALL]}],
        [{**OF_GEMINI, "toolCalls": [CALL]}],
        [{**OF_GEMINI, "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]}],
        [{"role": "model", "parts": [{"text": "Done.", **SEARCHES}]}],
        [{"role": "model", "parts": [{"toolUse": {"name": "search", "input": {}}}]}, OF_GEMINI],
        [{"type": "function", **CALL}, {"role": "assistant", "content": "Done."}],
        [{"role": "assistant", "content": "x"}, {"role": "function", "name": "search", "content": "x"}],
    ],
    ids=str,
)
def test_no_call_of_another_format_is_lost(messages: list[dict[str, Any]]) -> None:
    suite = suite_of(expected_tool=None)
    read = chat_messages([{"role": "user", "content": "?"}, *messages])
    try:
        found = str(score_messages(suite, "one", read).failure)
    except ScoringError as error:
        found = str(error)
    assert "unexpected_call" in found or "may be a call" in found


USER = {"role": "user", "content": "?"}
SAYS = {"role": "assistant", "content": "Done."}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "ok"}
OF_CLAUDE = {"type": "tool_result", "tool_use_id": "9"}
CALLS = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("messages", "is_read"),
    [
        ([USER, SAYS, RESULT, SAYS], False),
        ([USER, CALLS, RESULT, SAYS], True),
        ([USER, RESULT, SAYS], True),  # in the prompt's history
        ([USER, SAYS, {"type": "compaction"}, RESULT, SAYS], True),
        ([USER, SAYS, {"type": "function_call_output", "call_id": "9", "output": "ok"}, SAYS], False),
        (
            [USER, SAYS, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "9"}]}],
            False,
        ),
    ],
)
def test_an_answer_needs_its_call(messages: list[dict[str, Any]], is_read: bool) -> None:
    suite = suite_of(expected_tool="*", thresholds={"overall": 0.0, "no_extra_calls": None})
    read = chat_messages(messages)
    if is_read:
        score_messages(suite, "one", read)
    else:
        with pytest.raises(ScoringError, match="tool result without its call"):
            score_messages(suite, "one", read)


def test_a_forbidden_call_beside_an_unread_part_fails() -> None:
    suite = suite_of(expected_tool=None, forbidden_calls=["search"])
    search = {"id": "1", "function": {"name": "search", "arguments": "{}"}}
    message = {"role": "assistant", "tool_calls": [search], "toolInvocations": [CALL]}

    result = score_messages(suite, "one", chat_messages([USER, {**message, "toolCalls": [{"x": 1}]}]))

    assert result.failure == "forbidden_call"
