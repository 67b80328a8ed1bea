"""Sub-agents in sessions of Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import Problem
from pytest_tooleval.imports.format import Source
from pytest_tooleval.imports.formats.claude_code import FORMAT
from pytest_tooleval.imports.records import Record
from pytest_tooleval.record.names import NO_TOOLS
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.replies.outside_transcript import OutsideTranscript

Line = dict[str, Any]


def line(uuid: str, parent: str | None, *blocks: Line, agent: str = "", side: bool = False) -> Line:
    """A line of a session; one with calls, or a text without them, is the assistant's."""
    is_user = any(block["type"] in ("tool_result", "asked") for block in blocks)
    kind = "user" if is_user else "assistant"
    content = [{**b, "type": "text"} if b["type"] == "asked" else b for b in blocks]
    message: Line = {"role": kind, "content": content}
    message |= {} if is_user else {"id": f"m-{uuid}"}
    made = {"sessionId": "s", "uuid": uuid, "parentUuid": parent, "type": kind, "message": message}
    return made | {"isSidechain": side} | ({"agentId": agent} if agent else {})


def asked(text: str) -> Line:
    return {"type": "asked", "text": text}


def text(said: str) -> Line:
    return {"type": "text", "text": said}


def use(id: str, name: str, **given: Any) -> Line:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(id: str, content: str = "ok") -> Line:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def read(lines: list[Line]) -> list[OutsideTranscript | Problem]:
    path = Path("session.jsonl")
    records = [Record(path, number, each) for number, each in enumerate(lines, 1)]
    return list(FORMAT.read([Source(path, records)]))  # type: ignore[arg-type]


def sub(name: str, prompt: str, tool: str, *, agent: str = "") -> list[Line]:
    marks: dict[str, Any] = {"agent": agent, "side": True}
    return [
        line(f"{name}1", None, asked(prompt), **marks),
        line(f"{name}2", f"{name}1", use(f"{name}-call", tool), **marks),
        line(f"{name}3", f"{name}2", result(f"{name}-call"), **marks),
        line(f"{name}4", f"{name}3", text(f"{name} is done"), **marks),
    ]


def tasks(*prompts: str) -> list[Line]:
    calls = [use(f"t{n}", "Task", prompt=p, subagent_type=f"type{n}") for n, p in enumerate(prompts)]
    return [line("u1", None, asked("Refund A1.")), line("a1", "u1", *calls)]


def ended(count: int) -> list[Line]:
    results = [result(f"t{n}") for n in range(count)]
    return [line("u2", "a1", *results), line("a2", "u2", text("Done."))]


ONE = sub("x", "Close it.", "cancel", agent="x")
UNNAMED = sub("x", "Close it.", "cancel")
TWO = sub("y", "Look.", "look")


@pytest.mark.parametrize(
    ("lines", "replies"),
    [
        ([*tasks("Close it."), *ONE, *ended(1)], "- type0:cancel type0 -"),
        ([*tasks("Close it."), *UNNAMED, *ended(1)], "- type0:cancel type0 -"),
        # Two at once, without ids and in another order.
        (
            [
                *tasks("Close it.", "Look."),
                *(each for pair in zip(TWO, UNNAMED, strict=True) for each in pair),
                *ended(2),
            ],
            "- type0:cancel type0 type1:look type1 -",
        ),
        # With the same prompt.
        (
            [*tasks("Close it.", "Close it."), *UNNAMED, *sub("z", "Close it.", "look"), *ended(2)],
            "- type0:cancel type0 type1:look type1 -",
        ),
    ],
)
def test_sub_agents_stand_where_they_were_started(lines: list[Line], replies: str) -> None:
    main, *others = read(lines)
    assert isinstance(main, OutsideTranscript)
    made = transcript_of(main.messages, offered=[NO_TOOLS])
    shown = [
        (each.agent or "-") + "".join(f":{call.name}" for call in each.calls if each.is_inner)
        for each in made.replies
    ]
    assert " ".join(shown) == replies
    assert made.replies[-1].text == "Done."
    # For imports, they also stand alone.
    assert all(isinstance(each, OutsideTranscript) and each.is_inner for each in others)


def test_a_sub_agent_of_nobody_is_a_conversation_of_its_own() -> None:
    main, other = read([*tasks("Look."), *ONE, *ended(1)])
    assert isinstance(main, OutsideTranscript)
    assert isinstance(other, OutsideTranscript)
    assert not any(each.get("inner") for each in main.messages)
    assert not other.is_inner


def test_a_sub_agent_of_a_sub_agent() -> None:
    inner = [
        line("x1", None, asked("Close it."), agent="x", side=True),
        line("x2", "x1", use("t9", "Task", prompt="Look.", subagent_type="deep"), agent="x", side=True),
        line("x3", "x2", result("t9"), agent="x", side=True),
        line("x4", "x3", text("closed"), agent="x", side=True),
    ]
    deep = sub("y", "Look.", "look", agent="y")
    main, *_ = read([*tasks("Close it."), *inner, *deep, *ended(1)])
    assert isinstance(main, OutsideTranscript)
    replies = transcript_of(main.messages, offered=[NO_TOOLS]).replies
    assert [each.agent for each in replies] == [None, "type0", "deep", "deep", "type0", None]
