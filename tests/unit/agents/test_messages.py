"""What the adapters share, and what they refuse before anything runs; tests/frameworks has the rest."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tooleval import AgentGaveUp
from pytest_tooleval.agents import crewai, google_adk, openai_agents
from pytest_tooleval.agents.claude_sdk import _parts
from pytest_tooleval.agents.messages import (
    AgentToolbox,
    assistant,
    only_text,
    split_prompt,
    tool_answer,
    with_output,
    without_calls,
)

SEARCH, FORM = ("a", "search", {"n": 1}), ("b", "Answer", {"city": "Oslo"})


def test_a_run_without_the_form_of_its_output() -> None:
    run = [
        assistant("Wait.", [SEARCH, FORM]),
        tool_answer("a", {"found": 1}),
        tool_answer("b", "done"),
    ]
    kept = without_calls(run, ["Answer"])
    assert [call["function"]["name"] for call in kept[0]["tool_calls"]] == ["search"]
    assert kept[1:] == [{"role": "tool", "tool_call_id": "a", "content": '{"found": 1}'}]
    assert without_calls([assistant("", [FORM])], ["Answer"]) == [{"role": "assistant", "content": None}]


def test_a_run_ends_with_what_the_library_made_of_its_answer() -> None:
    output = {"city": "Oslo"}
    last = {"role": "assistant", "content": '{"city": "Oslo"}'}
    assert with_output([assistant("Oslo?")], output) == [last]
    assert with_output([assistant("", [SEARCH]), tool_answer("a", "1")], output)[2:] == [last]
    assert with_output([assistant("", [SEARCH])], "Found.")[-1]["content"] == "Found."


def test_a_limit_of_the_case_ends_a_run_and_one_of_the_agent_gives_up() -> None:
    toolbox = AgentToolbox(None, lambda *_: None, {}, 2)
    assert [toolbox.most_replies(own) for own in (None, 0, 2, 9)] == [3, 3, 2, 3]
    run = [each for id in "xyz" for each in (assistant("", [(id, *FORM[1:])]), tool_answer(id, "no"))]
    ended = toolbox.stop("max_turns", run)
    assert [each["role"] for each in ended] == ["assistant", "tool"] * 2
    assert {each["status"] for each in ended if each["role"] == "tool"} == {"refused"}
    with pytest.raises(AgentGaveUp, match="max_turns"):
        toolbox.stop("max_turns", [*run[:4], assistant("Well.")])


def test_the_last_try_of_a_call_decides_whether_its_tool_failed() -> None:
    toolbox = AgentToolbox(None, lambda *_: None, {}, 9)
    tries: dict[str, list[BaseException | None]] = {
        "first": [RuntimeError("503"), None],
        "last": [None, RuntimeError("503")],
        "time-out": [TimeoutError()],
        "cut off": [asyncio.CancelledError()],
        "signal": [StopIteration()],
    }
    for id, errors in tries.items():
        toolbox.allow(id)
        for error in errors:
            with suppress(BaseException), toolbox.watching(id, StopIteration):
                if error is not None:
                    raise error
    run = [
        each
        for id in [*tries, "no tool"]
        for each in (assistant("", [(id, *FORM[1:])]), tool_answer(id, "x"))
    ]
    found = {each["tool_call_id"]: each.get("status") for each in toolbox.with_marks(run)[1::2]}
    assert found == {
        "first": None,
        "last": "error",
        "time-out": "unknown",
        "cut off": "unknown",
        "signal": None,
        "no tool": "refused",
    }
    assert tool_answer("a", "the request timed out", "error")["status"] == "unknown"


def test_prompts_are_texts_of_the_user() -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    assert only_text({"content": parts}) == "Hi\nthere"
    with pytest.raises(ValueError, match="accepts only text"):
        only_text({"content": [{"type": "image_url"}]})
    with pytest.raises(ValueError, match="ends with a text of the user"):
        split_prompt([{"role": "assistant", "content": "Hi"}])


def test_a_server_in_the_name_of_a_tool() -> None:
    assert _parts("mcp__calc__add_up") == ("calc", "add_up")
    assert _parts("mcp__calc") == ("suite", "mcp__calc")
    assert _parts("add__up") == ("suite", "add__up")


@pytest.mark.parametrize(
    ("adapter", "agent", "message"),
    [
        (openai_agents, SimpleNamespace(name="a", handoffs=["b"]), "'a' has handoffs"),
        (google_adk, SimpleNamespace(name="a", sub_agents=["b"]), "'a' has sub-agents"),
        (crewai, SimpleNamespace(kickoff_async=0, role="a", a2a=["b"]), "'a' has remote agents"),
        (crewai, SimpleNamespace(agents=[]), r"expected a crewai\.Agent, got SimpleNamespace"),
    ],
)
def test_what_would_run_tools_is_refusage_of(adapter: Any, agent: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        adapter(agent)
