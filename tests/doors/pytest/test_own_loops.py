"""Agents that call their tools themselves, in a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
    assert [each["tool_answers"][0]["content"] for each in messages[:1]] == ["noon"]
    assert messages[-1]["message"]["content"] == "Sunny."
    replayed = project.run(tape, "--tooleval-record=none", "-vv")
    replayed.assert_outcomes(passed=2)
    replayed.stdout.fnmatch_lines(["*2 of 2 answers replayed*"])


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


_PARALLEL = """
import asyncio
import json

CITIES = ("Paris", "Rome")

async def at_once(messages, tools, call_tool):
    await asyncio.gather(*(call_tool("get_weather", {"city": city}) for city in CITIES))
    return "Sunny."

async def in_turn(messages, tools, call_tool):
    for city in CITIES:
        await call_tool("get_weather", {"city": city})
    return "Sunny."

def _calls(*cities):
    calls = [
        {"id": city, "type": "function",
         "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for city in cities
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}

def model_at_once(messages, tools):
    return "Sunny." if messages[-1]["role"] == "tool" else _calls(*CITIES)

def model_in_turn(messages, tools):
    made = sum(each["role"] == "tool" for each in messages)
    return "Sunny." if made == 2 else _calls(CITIES[made])
"""
_AT_ONCE, _IN_TURN = ("at_once", "model_at_once"), ("in_turn", "model_in_turn")


def test_calls_are_in_one_reply_or_each_in_its_own(project: Project) -> None:
    project.write("my_agent.py", _PARALLEL)
    project.write("sky.py", "class Sky:\n    def get_weather(self, city: str): return 'sunny'\n")
    agents = (*_AT_ONCE, *_IN_TURN)
    table = "".join(f'[models.{name}]\ncallable = "my_agent:{name}"\n' for name in agents)
    project.write("tooleval.toml", table)
    calls = [{"tool": "get_weather", "params": {"city": city}} for city in ("Paris", "Rome")]
    cases: list[dict[str, Any]] = []
    for suffix, parallel in (("one", True), ("own", False)):
        expected: dict[str, Any] = {"prompt": "Weather?", "parallel": parallel}
        expected["expected_calls"] = calls
        mocks = {"get_weather": "sunny"}
        cases.append({"id": f"mocks-{suffix}", "turns": [expected], "mock_responses": mocks})
        cases.append({**expected, "id": f"world-{suffix}", "world": "sky:Sky"})
    suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": cases}
    project.write("s.tooleval.json", json.dumps(suite))
    models = [f"--tooleval-model={name}" for name in agents]
    project.run(*models, "--tooleval-report=out.json", model=None)
    rows = project.rows()
    for id in ("mocks-one", "mocks-own", "world-one", "world-own"):
        for agent in agents:
            right = (agent in _AT_ONCE) == id.endswith("one")
            row = rows[f"{id}[{agent}]"]
            assert row["outcome"] == ("passed" if right else "failed"), (id, agent)
            if not right:
                assert row["trials"][0]["failure"] == "wrong_replies"
    assert rows["mocks-one[in_turn]"]["reason"].startswith(
        "replies: expected all calls in one reply, got get_weather, then get_weather"
    )
    # Recorded, too, the calls of a message are those of a reply.
    records = []
    for id in ("mocks-one", "mocks-own"):
        for agent in agents:
            replies = rows[f"{id}[{agent}]"]["trials"][0]["transcript"]["replies"]
            messages = [{"role": "user", "content": "Weather?"}]
            for each in replies:
                messages += [each["message"], *each["tool_answers"]]
            if agent.startswith("model"):
                records.append({"case": f"S::{id}", "model": agent, "messages": messages})
    project.write("runs.jsonl", "".join(json.dumps(each) + "\n" for each in records))
    recorded = "--tooleval-transcripts=runs.jsonl"
    project.run(recorded, "--tooleval-report=out.json", "-k", "mocks", model=None)
    outcomes = {name: row["outcome"] for name, row in project.rows().items()}
    assert outcomes == {
        "mocks-one[model_at_once]": "passed",
        "mocks-one[model_in_turn]": "failed",
        "mocks-own[model_at_once]": "failed",
        "mocks-own[model_in_turn]": "passed",
    }
