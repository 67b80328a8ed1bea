"""Agents of other libraries, each by the library itself, over a scripted OpenAI server."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": CITY}}
    for name in ("find_station", "get_weather")
]
CHAIN = {
    "id": "chain",
    "prompt": "What is the weather in Paris?",
    "multi_turn": True,
    "valid_prerequisites": ["find_station"],
    "expected_tool": "get_weather",
    "expected_params": {"city": "S7"},
    "mock_responses": {"find_station": "S7"},
}
TALK = {
    **CHAIN,
    "id": "talk",
    "prompt": [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "Find a station in Rome."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "old",
                    "type": "function",
                    "function": {"name": "find_station", "arguments": '{"city": "Rome"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "old", "content": "S6"},
        {"role": "assistant", "content": "S6."},
        {"role": "user", "content": "What is the weather in Paris?"},
    ],
}

ENDLESS = {**CHAIN, "id": "endless", "prompt": "Search for ever.", "max_rounds": 4}

AGENTS = {
    "agents": """
from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI
from pytest_tooleval.agents import openai_agents

@function_tool
def get_weather(city: str) -> str:
    open("really.log", "a").write(city)
    return "rain"

model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=URL, api_key="none"))
agent = Agent(name="weather", instructions="Be right.", model=model, tools=[get_weather])
answer = openai_agents(agent)
""",
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pytest_tooleval.agents import pydantic_ai

model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=URL, api_key="none"))
agent = Agent(model, instructions="Be right.")

@agent.tool_plain
def get_weather(city: str) -> str:
    open("really.log", "a").write(city)
    return "rain"

answer = pydantic_ai(agent)
""",
}


def script(request: dict[str, Any]) -> dict[str, Any]:
    """Finds the station, asks for the weather there, says that it is sunny."""
    messages = request["messages"]
    assert {"role": "system", "content": "Be right."} in messages
    assert [tool["function"]["name"] for tool in request["tools"]] == ["find_station", "get_weather"]
    last = messages[-1]
    if last["role"] == "user" or {"role": "user", "content": "Search for ever."} in messages:
        made = ("find_station", {"city": "Paris"})
    elif last["content"] == "S7":
        made = ("get_weather", {"city": "S7"})
    else:
        return {"role": "assistant", "content": "Sunny."}
    function = {"name": made[0], "arguments": json.dumps(made[1])}
    call = {"id": f"c{len(messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.mark.parametrize("library", AGENTS)
def test_an_agent_runs_on_the_tools_of_the_suite(pytester: pytest.Pytester, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed here; tox -e agents installs it")
    suite = {"name": "S", "tools": TOOLS, "test_cases": [CHAIN, TALK, ENDLESS]}
    Path("s.tooleval.json").write_text(json.dumps(suite))
    Path("tooleval.toml").write_text('[models.own]\ncallable = "my_agent:answer"\n')
    with MockServer(script=script) as server:
        Path("my_agent.py").write_text(f"URL = {server.base_url!r}\n{AGENTS[library]}")
        command = [sys.executable, "-m", "pytest", "--tooleval-model=own", "--tooleval-json=out.json"]
        result = pytester.run(*command)
    result.assert_outcomes(passed=2, failed=1)
    assert not Path("really.log").exists()
    rows = json.loads(Path("out.json").read_text())["cases"]
    assert rows[2]["trials"][0]["failure"] == "unfinished_chain"
    (trial,) = rows[0]["trials"]
    *made, said = trial["transcript"]["rounds"]
    assert [each["reply"]["calls"][0]["name"] for each in made] == ["find_station", "get_weather"]
    assert said["reply"]["message"]["content"] == "Sunny."
    assert said["reply"]["prompt_tokens"] > 0
