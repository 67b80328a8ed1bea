"""Agents that call their tools themselves, in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .project import TIME_TOOL, WEATHER_TOOL, Project

DESK = Path(__file__).parents[3] / "examples" / "conversations" / "desk.py"

_AGENT = """
async def answer(messages, tools, call_tool):
    told = await call_tool("get_time", {"city": "Paris"}) if len(tools) > 1 else ""
    await call_tool("get_weather", {"city": told or "Paris"})
    return "Sunny."
"""


def test_chains_and_single_turns(project: Project) -> None:
    project.write("my_agent.py", _AGENT)
    weather = {"expected_tool": "get_weather", "prompt": "Weather?"}
    single = {"id": "single", **weather, "expected_params": {"city": "Paris"}, "tools": [WEATHER_TOOL]}
    chain = {
        "id": "chain",
        **weather,
        "expected_params": {"city": "noon"},
        "multi_turn": True,
        "valid_prerequisites": ["get_time"],
        "mock_responses": {"get_time": "noon"},
    }
    suite = {"name": "S", "tools": [WEATHER_TOOL, TIME_TOOL], "test_cases": [single, chain]}
    project.write("s.tooleval.json", json.dumps(suite))
    tape = "--tooleval-cassette=tapes"
    result = project.run(tape, "--tooleval-report=out.json", "--tooleval-report=out.html")
    result.assert_outcomes(passed=2)
    messages = project.rows()["chain[agent]"]["trials"][0]["transcript"]["replies"]
    assert [each["answers"][0]["content"] for each in messages[:1]] == ["noon"]
    assert messages[-1]["message"]["content"] == "Sunny."
    replayed = project.run(tape, "--tooleval-record=none", "-vv")
    replayed.assert_outcomes(passed=2)
    replayed.stdout.fnmatch_lines(["*2 of 2 answers replayed*"])


_WAITING = """
def answer(messages, tools):
    assert not any("status" in each for each in messages)  # no provider knows it
    call = {"name": "refund", "arguments": {"order": "A1", "amount": 40}}
    calls = [{"id": "c", "type": "function", "function": call}]
    waits = {"role": "tool", "tool_call_id": "c", "content": "It waits.", "status": "waiting"}
    return [{"role": "assistant", "tool_calls": calls}, waits, "I have asked for an approval."]
"""


def test_a_call_of_a_returned_run_that_waits_changes_nothing(project: Project) -> None:
    project.write("my_agent.py", _WAITING)
    project.write("desk.py", DESK.read_text(encoding="utf-8"))
    unchanged = {"expected_state": {"orders.A1.refunded": 0}, "may_change_nothing": True}
    turns = [{"prompt": "Refund A1.", **unchanged}] * 2
    suite = {"name": "S", "world": "desk:Desk", "test_cases": [{"id": "c", "turns": turns}]}
    project.write("s.tooleval.json", json.dumps(suite))
    for mode in ("--tooleval-record=new", "--tooleval-record=none"):
        result = project.run("--tooleval-cassette=tapes", mode, "-rA")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(['*calls refund(order="A1", amount=40) (waiting)'])


_FAILING = """
def answer(messages, tools, call_tool):
    if len(messages) > 1:
        return "Refunded: " + str(call_tool("get_order", {"order": "A1"}))
    call = {"name": "refund", "arguments": {"order": "A1", "amount": 40}}
    calls = [{"id": "c", "type": "function", "function": call}]
    failed = {"role": "tool", "tool_call_id": "c", "content": "not valid", "status": "error"}
    call_tool("refund", {"order": "A1", "amount": 1})
    paid = [{**calls[0], "id": "d", "function": {**call, "arguments": {"order": "A1", "amount": 1}}}]
    ok = {"role": "tool", "tool_call_id": "d", "content": "ok"}
    told = [{"role": "assistant", "tool_calls": each} for each in (calls, paid)]
    return [told[0], failed, told[1], ok, "Done."]
"""


def test_a_replayed_turn_leaves_the_world_as_it_was(project: Project) -> None:
    project.write("my_agent.py", _FAILING)
    project.write("desk.py", DESK.read_text(encoding="utf-8"))
    said = {"expected_text": ['"refunded": 1.0}']}
    for again in ("How much?", "How much was it?"):  # the second is not on the cassette
        turns = [{"prompt": "Refund A1.", "max_calls": 2}, {"prompt": again, **said}]
        suite = {"name": "S", "world": "desk:Desk", "test_cases": [{"id": "c", "turns": turns}]}
        project.write("s.tooleval.json", json.dumps(suite))
        project.run("--tooleval-cassette=tapes").assert_outcomes(passed=1)


def test_its_calls_run_on_a_server_with_a_session_of_its_own(pytester: pytest.Pytester) -> None:
    from .test_live_tools import Live, write

    live = Live(pytester)
    live.write(
        "my_agent.py",
        """
        def answer(messages, tools, call_tool):
            paid = [call_tool("refund", {"amount": 20}) for _ in range(2)]
            call_tool("report", {"amount": int(paid[-1])})
            return "Refunded."
        """,
    )
    write(
        live,
        expected_tool="report",
        expected_params={"amount": 40},
        valid_prerequisites=["refund"],
        live_tools=["refund"],
    )
    tape = "--tooleval-cassette=tapes"
    live.run(tape, "--tooleval-trials=2", allow="refund").assert_outcomes(passed=1)
    assert live.log("server") == [["refund", {"amount": 20}]] * 4
    live.run(tape, "--tooleval-trials=2", allow=None).assert_outcomes(passed=1)
    assert len(live.log("server")) == 4
    refused = live.run("--tooleval-report=out.json", allow=None)
    refused.assert_outcomes(errors=1)


_GUARDED = """
from pytest_tooleval import AgentGaveUp


async def answer(messages, tools, call_tool):
    await call_tool("get_time", {"city": "Paris"})
    if "900" in messages[-1]["content"]:
        raise AgentGaveUp("over budget", kind="guardrail")
    return "Paid."
"""


def test_an_agent_that_must_end_its_run(project: Project) -> None:
    project.write("my_agent.py", _GUARDED)
    looks = {"expected_calls": [{"tool": "get_time", "optional": True}], "expected_stop": "guardrail"}
    cases = [
        {"id": "much", "prompt": "Pay 900.", **looks},
        {"id": "little", "prompt": "Pay 9.", **looks},
    ]
    suite = {"name": "S", "tools": [WEATHER_TOOL, TIME_TOOL], "test_cases": cases}
    project.write("s.tooleval.json", json.dumps(suite))
    tape = "--tooleval-cassette=tapes"
    for options in ([], ["--tooleval-record=none"]):
        result = project.run(tape, *options, "--tooleval-report=out.json", model="agent,builtin/lexical")
        result.assert_outcomes(passed=1, failed=1, skipped=2)
        rows = project.rows()
        failures = [rows[f"{id}[agent]"]["trials"][0]["failure"] for id in ("much", "little")]
        assert failures == [None, "not_stopped"]
    assert "only an agent can end its own run" in rows["much[builtin/lexical]"]["reason"]
