"""Several agents, the judge and the user in one run, where a library shares its HTTP clients."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer

from .agents import AGENTS, module
from .running import TOOLS, planned, play, skip_without

# Two agents with models of their own, and a coroutine that only talks to a model.
TWO = {
    "langgraph": """
def make():
    model = ChatOpenAI(model="m", base_url=URL, api_key="none")
    return create_agent(model, [find_station, get_weather])

async def say():
    await ChatOpenAI(model="m", base_url=URL, api_key="none").ainvoke("Say it.")
""",
    "openai_agents": """
import os
from agents import Runner, set_default_openai_api, set_tracing_disabled

os.environ |= {"OPENAI_BASE_URL": URL, "OPENAI_API_KEY": "none"}
set_default_openai_api("chat_completions")
set_tracing_disabled(True)

def make():
    return Agent(name="weather", model="m", tools=tools)

async def say():
    await Runner.run(Agent(name="other", model="m"), "Say it.")
""",
    "pydantic_ai": """
import os

os.environ |= {"OPENAI_BASE_URL": URL, "OPENAI_API_KEY": "none"}

def make():
    return Agent("openai-chat:m", tools=[find_station, get_weather])

async def say():
    await Agent("openai-chat:m").run("Say it.")
""",
}
OTHERS = """
async def judge(messages, tools):
    await say()
    return {"tool_calls": [{"name": "verdict", "arguments": {"reason": "It is.", "passed": True}}]}

async def user(messages, tools):
    await say()
    return PLAN if len(messages) == 2 else "###STOP###"
"""
NAMES = ("one", "two", "judge", "user")
CASES = [
    {
        "id": f"c{number}",
        "user": {"goal": f"Know the weather of city {number}."},
        "expected_calls": [{"tool": "find_station", "params": {"city": "Paris"}}],
        "expected_text": [{"$judge": f"It answers question {number}."}],
        "mock_responses": {"find_station": "S7"},
    }
    for number in range(6)
]


@pytest.mark.parametrize("options", [["1"], ["32"], ["32", "-n2", "-pxdist"]], ids=" ".join)
@pytest.mark.parametrize("library", TWO)
def test_two_agents_a_judge_and_a_user_share_connections(library: str, options: list[str]) -> None:
    skip_without(AGENTS[library][0])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        is_asked = "steps" in str(request["messages"])
        return play(request) if is_asked else {"role": "assistant", "content": "Yes."}

    suite = {"name": "S", "tools": TOOLS, "test_cases": CASES}
    Path("s.tooleval.json").write_text(json.dumps(suite))
    tables = [f'[models.{name}]\ncallable = "my_agent:{name}"\n' for name in NAMES]
    Path("tooleval.toml").write_text("".join(tables))
    sys.modules.pop("my_agent", None)
    with MockServer(script=answer, latency=0.05) as server:
        source = module(library, server.base_url, guards=TWO[library] + OTHERS)
        plan = f"PLAN = {planned([[('find_station', 'Paris')]])!r}\n"
        made = f"one, two = {library}(make()), {library}(make())\n"
        Path("my_agent.py").write_text(source + plan + made)
        arguments = ["--tooleval-model=one,two", "--tooleval-judge=judge", "--tooleval-user=user"]
        concurrency, *workers = options
        report = ["--tooleval-report=out.json", f"--tooleval-concurrency={concurrency}"]
        pytest.main([*arguments, *report, *workers])
    rows = json.loads(Path("out.json").read_text())["cases"]
    errors = [row["trials"][0]["error"] for row in rows if row["outcome"] != "passed"]
    assert (len(rows), errors) == (12, [])
