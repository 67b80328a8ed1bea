"""The runs of LangSmith's traces, joined to conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import Problem
from pytest_tooleval.imports.conversation import Conversation
from pytest_tooleval.imports.format import Source
from pytest_tooleval.imports.formats.langsmith import FORMAT
from pytest_tooleval.imports.records import Record
from pytest_tooleval.record.names import NO_TOOLS
from pytest_tooleval.record.transcript import Transcript

Message = dict[str, Any]


def human(text: str) -> Message:
    return {"type": "human", "content": text}


def ai(text: str = "", *calls: tuple[str, str]) -> Message:
    made = [{"id": id, "name": name, "args": {"order": "A1"}} for id, name in calls]
    return {"type": "ai", "content": text, "tool_calls": made}


def tool(id: str, content: str = "{}") -> Message:
    return {"type": "tool", "tool_call_id": id, "content": content}


def llm(second: int, given: list[Message], said: Message | None, **more: Any) -> Message:
    outputs = {"generations": [[{"message": said}]]} if said else None
    return run(second, "llm", {"messages": [given]}, outputs, **more)


def run(second: int, kind: str, inputs: Message, outputs: Message | None, **more: Any) -> Message:
    at = f"2026-01-01T00:00:{second:02d}"
    made = {"id": f"r{second}", "trace_id": "t", "run_type": kind, "start_time": at, "name": "x"}
    return {**made, "inputs": inputs, "outputs": outputs, **more}


def read(*runs: Message) -> list[Conversation | Problem]:
    path = Path("runs.jsonl")
    records = [Record(path, line, each) for line, each in enumerate(runs, 1)]
    return list(FORMAT.read([Source(path, records)]))  # type: ignore[arg-type]


def shown(found: list[Conversation | Problem]) -> list[str]:
    """Each conversation as its texts and calls."""
    return [
        each.message
        if isinstance(each, Problem)
        else " ".join(
            (f"{message['agent']}:" if "agent" in message else "")
            + (message["content"] or "+".join(c["function"]["name"] for c in message["tool_calls"]))
            for message in each.messages
        )
        for each in found
    ]


ASKED = [human("Refund A1.")]
LOOKED = [*ASKED, ai("", ("c1", "get_order")), tool("c1", "open")]
FIRST = llm(1, ASKED, LOOKED[1])
SECOND = llm(3, LOOKED, ai("Done."))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([FIRST, SECOND], ["Refund A1. get_order open Done."]),
        ([SECOND, FIRST], ["Refund A1. get_order open Done."]),
        # A trace for each turn.
        (
            [
                FIRST,
                SECOND,
                llm(5, [*LOOKED, ai("Done."), human("Thanks!")], ai("Bye."), trace_id="u"),
            ],
            ["Refund A1. get_order open Done. Thanks! Bye."],
        ),
        # Two at the same time.
        (
            [FIRST, llm(2, [human("Hi!")], ai("Hello."), trace_id="u"), SECOND],
            ["Refund A1. get_order open Done.", "Hi! Hello."],
        ),
        # What a tool asks a model is the tool's.
        (
            [
                FIRST,
                run(2, "tool", {"input": "{}"}, {"output": "open"}, id="t1", name="get_order"),
                llm(2, [human("Sum up.")], ai("", ("in1", "cancel")), id="in", parent_run_id="t1"),
                llm(
                    2,
                    [human("Sum up."), ai("", ("in1", "cancel")), tool("in1", "no")],
                    ai("Summed."),
                    id="in2",
                    parent_run_id="t1",
                    extra={"metadata": {"lc_agent_name": "summing"}},
                ),
                SECOND,
            ],
            ["Refund A1. get_order get_order:cancel no summing:Summed. open Done."],
        ),
        # Several answers to one question.
        (
            [
                run(
                    1,
                    "llm",
                    {"messages": [{"role": "user", "content": "Hi!"}]},
                    {"choices": [{"message": {"role": "assistant", "content": c}} for c in ("A", "B")]},
                )
            ],
            ["Hi! A", "Hi! B"],
        ),
        (
            [{"post": [llm(1, ASKED, None)], "patch": [{"id": "r1", **llm(1, ASKED, ai("Ok."))}]}],
            ["Refund A1. Ok."],
        ),
        # No times and no ids.
        (
            [
                {
                    "run_type": "llm",
                    "inputs": {"messages": [ASKED]},
                    "outputs": {"generations": [[{"message": ai("Ok.")}]]},
                }
            ],
            ["Refund A1. Ok."],
        ),
    ],
)
def test_the_runs_of_a_trace_are_one_conversation(runs: list[Message], expected: list[str]) -> None:
    assert shown(read(*runs)) == expected


def test_the_replies_of_an_agent_that_is_a_tool_are_inner() -> None:
    inside = llm(2, [human("Sum up.")], ai("", ("in1", "cancel")), id="in", parent_run_id="t1")
    ran = run(2, "tool", {"input": "{}"}, {"output": "open"}, id="t1", name="get_order")
    (found,) = read(FIRST, ran, inside, SECOND)
    assert isinstance(found, Conversation)
    replies = Transcript.from_messages(found.messages, offered=[NO_TOOLS]).replies
    assert [(each.inner, each.agent) for each in replies] == [
        (False, None),
        (True, "get_order"),
        (False, None),
    ]
    assert [each["content"] for each in replies[0].answers] == ["open"]
    assert len(found.own_messages) == 4


@pytest.mark.parametrize("error", ["RateLimitError()", None])
def test_a_model_that_did_not_answer_ends_the_conversation_with_an_error(error: str | None) -> None:
    (found,) = read(FIRST, llm(3, LOOKED, None, error=error))
    assert isinstance(found, Conversation)
    assert found.error == f"the last call of the model failed: {error or 'no answer is recorded'}"


@pytest.mark.parametrize(
    ("output", "error", "status"),
    [
        ("open", None, "ok"),
        ("open", "KeyError: 'A1'", "error"),
        ({**tool("c1", "no"), "status": "error"}, None, "error"),
        ("open", "TimeoutError", None),
    ],
)
def test_tool_runs_say_how_calls_ended(output: Any, error: str | None, status: str | None) -> None:
    made = run(2, "tool", {"input": json.dumps({"order": "A1"})}, {"output": output}, error=error)
    (found,) = read(FIRST, {**made, "name": "get_order"}, SECOND)
    assert isinstance(found, Conversation)
    first, *_ = Transcript.from_messages(found.messages, offered=[NO_TOOLS]).replies
    assert first.status == (status,)


def test_what_a_run_says_of_itself() -> None:
    about = {
        "extra": {
            "invocation_params": {"model": "gpt-5"},
            "metadata": {"thread_id": "t7", "tooleval.case": "refund"},
        },
        "prompt_tokens": 3,
        "completion_tokens": 2,
    }
    (found,) = read({**FIRST, **about}, {**SECOND, **about})
    assert isinstance(found, Conversation)
    assert (found.model, found.id, found.case) == ("gpt-5", "t7", "refund")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (6, 4)
