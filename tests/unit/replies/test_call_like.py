"""What is not known here, and may be a call: never "nothing happened"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import recorded_answers

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.imports.chats import chat_messages, conversations
from pytest_tooleval.imports.records import Record, UnusableError
from pytest_tooleval.record.names import KnownTools
from pytest_tooleval.replies.call_like import unread_in
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.scoring.trial import score_messages

from ..scoring.cases import suite_of
from . import call_shapes as shapes

CALL = {"toolName": "search", "args": {"q": "x"}}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": shapes.SCHEMA}}
    for name in ("look", "pay", "cancel")
]
ASKED = {"role": "user", "content": "Weather in Paris?"}
SUITE = suite_of(expected_tool=None, forbidden_calls=["pay"], tools=TOOLS)


def judged(record: dict[str, Any]) -> str:
    """How a recorded run ends whose case must call nothing."""
    place = Record(Path("log.jsonl"), 1, record)
    try:
        (run,) = conversations(place, record)
        result = score_messages(SUITE, "one", run.messages)
    except (ScoringError, UnusableError) as error:
        is_unread = "may be a call" in str(error) or "without its call" in str(error)
        return "error" if is_unread else str(error)
    return "passed" if result.passed else f"failed: {result.failure}"


def reply(**fields: Any) -> dict[str, Any]:
    return {"messages": [ASKED, {"role": "assistant", "content": "ok", **fields}]}


OK = {"role": "assistant", "content": "ok"}
WITH = {
    **{f"reply: {name}": reply(**fields) for name, fields in shapes.REPLY.items()},
    **{f"record: {name}": {**reply(), **fields} for name, fields in shapes.RECORD.items()},
    **{
        f"message: {name}": {
            "messages": [ASKED, *reply()["messages"][1:], message, *reply()["messages"][1:]]
        }
        for name, message in shapes.MESSAGES.items()
    },
    **{
        f"first message: {name}": {"messages": [ASKED, message, OK]}
        for name, message in shapes.MESSAGES.items()
    },
}
WITHOUT = {
    **{f"reply: {name}": reply(**fields) for name, fields in shapes.NOTHING.items()},
    **{f"record: {name}": {**reply(), **fields} for name, fields in shapes.NOTHING_IN_RECORD.items()},
}


def test_the_tables_are_large() -> None:
    assert min(len(WITH), len(WITHOUT)) >= 60


@pytest.mark.parametrize("record", WITH.values(), ids=WITH)
def test_no_call_in_an_unknown_shape_is_missed(record: dict[str, Any]) -> None:
    assert judged(record) in ("error", "failed: forbidden_call")
    try:
        answers, reasons = recorded_answers({**record, "tools": TOOLS})
    except UnusableError as error:
        answers, reasons = [], [str(error)]
    assert reasons or all(answer.calls for answer in answers)


@pytest.mark.parametrize("record", WITHOUT.values(), ids=WITHOUT)
def test_no_harmless_shape_is_an_alarm(record: dict[str, Any]) -> None:
    assert judged(record) == "passed"
    answers, _ = recorded_answers({**record, "tools": TOOLS})
    assert [answer.calls for answer in answers] == [[]]


MADE = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_call_chunks": [{"name": "search", "args": "", "id": "1", "index": 0}]},
        {"additional_kwargs": {"tool_calls": [MADE]}},
        {"toolInvocations": [CALL]},
        {"tools_used": ["search"]},
        {"anthropic_content": [{"type": "tool_use", "id": "1", "name": "search", "input": {"q": "x"}}]},
        {"raw": json.dumps({"tool_calls": [MADE]})},
    ],
    ids=str,
)
def test_the_same_call_once_more_is_none(fields: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [MADE]}
    known = KnownTools.of([("search", None, {})])

    assert list(unread_in({**message, **fields}, known)) == []
    assert list(unread_in({"role": "assistant", "content": "Done.", **fields}, known)) != []
    assert list(unread_in({"role": "assistant", "content": "Done.", **fields}, known, [message])) == []
    other = {
        **message,
        "tool_calls": [{**MADE, "function": {"name": "search", "arguments": '{"q": 2}'}}],
    }
    is_named_only = fields.keys() & {"tool_call_chunks", "tools_used"}
    assert bool(list(unread_in({**other, **fields}, known))) is not bool(is_named_only)


FUNCTION = {"name": "search", "arguments": "{}"}
OTHER = {"id": "1", "function": {"name": "a", "arguments": "{}"}}
OF_MANY = {"id": "1", "function": {**FUNCTION, "arguments": '{"q": 9000}'}}


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": {"name": "search", "arguments": "{}"}},
        {"tool_calls": {"0": {"function": FUNCTION}}},
        {"tool_calls": '[{"function": {"name": "search"}}]'},
        {"function_call": "search"},
        {"function_call": [FUNCTION]},
        {"tool_calls": [OTHER], "function_call": FUNCTION},
        {"tool_calls": [OF_MANY], "function_call": FUNCTION},
    ],
    ids=str,
)
def test_calls_in_any_shape_are_calls(fields: dict[str, Any]) -> None:
    suite = suite_of(expected_tool=None)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x", **fields}]

    result = score_messages(suite, "one", messages)

    assert result.failure == "unexpected_call"
    made = len(transcript_of(messages).calls)
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
        ([USER, RESULT, SAYS], False),
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
