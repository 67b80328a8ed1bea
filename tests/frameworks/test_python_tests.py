"""Python tests of an agent of each library: one agent in sync and async tests, and in a suite's case."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mock_server import MockServer

from .agents import AGENTS, LIBRARIES, module
from .anthropic_server import respond_with
from .running import Names, planned, play, skip_without

PLAN = [[("find_station", "Paris")], [("get_weather", "S7")]]
TESTS = """
import json
import pathlib
import pytest
from pytest_tooleval import ConfigError, call
from my_agent import agent
from plan import PLAN

class World:
    def __init__(self):
        self.asked = []

    def find_station(self, city: str) -> str:
        self.asked.append(city)
        return "S7"

    def get_weather(self, city: str) -> str:
        self.asked.append(city)
        return "rain"

def check(run):
    assert [each.name.rpartition("__")[2] for each in run.calls] == ["find_station", "get_weather"]
    assert [each.arguments for each in run.calls] == [{"city": "Paris"}, {"city": "S7"}]
    assert run.world.asked == ["Paris", "S7"]
    assert "Sunny" in run.text
    assert not pathlib.Path("really.log").exists()

def test_sync(tooleval):
    check(tooleval(PLAN, agent=agent, world=World))

async def test_async(tooleval):
    check(await tooleval.arun(PLAN + " ", agent=agent, world=World))

@pytest.mark.tooleval(trials=2)
async def test_again(tooleval):
    check(await tooleval.arun(PLAN + "  ", agent=agent, world=World))

def test_nothing_answers(tooleval):
    with pytest.raises(ConfigError, match="nothing answers the tools of the agent; pass world="):
        tooleval(PLAN, agent=agent)
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_agent_in_python_tests_and_a_suite(library: str) -> None:
    skip_without(AGENTS[library][0])
    names = Names(library)
    suite = names.suite(names.case("json", *PLAN))
    Path("s.tooleval.json").write_text(json.dumps(suite))
    Path("tooleval.toml").write_text('[models.answer]\ncallable = "my_agent:answer"\n')
    Path("pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    plan = [[(f"{names.station[:-12]}{tool}", city) for tool, city in step] for step in PLAN]
    Path("plan.py").write_text(f"PLAN = {planned(plan)!r}\n")
    Path("test_it.py").write_text(TESTS)
    for name in ("my_agent", "plan", "test_it"):
        sys.modules.pop(name, None)
    respond = respond_with(play) if library == "claude_agent" else None
    with MockServer(script=play, respond=respond) as server:
        source = module(library, server.base_url)
        Path("my_agent.py").write_text(f"{source}\nanswer = {library}(agent)\n")
        options = ["-pasyncio", "--tooleval-model=answer", "--tooleval-report=out.json"]
        assert pytest.main(options) == 0
    rows = json.loads(Path("out.json").read_text())["cases"]
    assert {row["case"]: (row["model"], row["outcome"]) for row in rows} == {
        "json": ("answer", "passed"),
        "test_sync": ("agent", "passed"),
        "test_async": ("agent", "passed"),
        "test_again": ("agent", "passed"),
    }
