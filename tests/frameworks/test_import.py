"""`tooleval import agent` with agents whose tools come from MCP servers that nobody has connected."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .running import import_agent, skip_without

SERVER = Path(__file__).parents[1] / "doors" / "pytest" / "live_server.py"
COMMAND = f"command={sys.executable!r}, args=[{str(SERVER)!r}, 'server.log']"
PREAMBLE = "print('imported')\n"
# By library: what it needs, the agent, and the name of one of its tools.
AGENTS = {
    "openai-agents": (
        "agents",
        f"""
from agents import Agent
from agents.mcp import MCPServerStdio
agent = Agent(name="A", mcp_servers=[MCPServerStdio(params=dict({COMMAND}))])
""",
        "get_weather",
    ),
    "google-adk": (
        "google.adk",
        f"""
from google.adk.agents import LlmAgent
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from mcp import StdioServerParameters
server = StdioConnectionParams(server_params=StdioServerParameters({COMMAND}))
tools = [McpToolset(connection_params=server)]
agent = LlmAgent(name="a", model="gemini-3", instruction="You serve {{user}}.", tools=tools)
""",
        "get_weather",
    ),
    "claude-agent-sdk": (
        "claude_agent_sdk",
        f"""
from claude_agent_sdk import ClaudeAgentOptions
agent = ClaudeAgentOptions(mcp_servers={{"stations": dict({COMMAND})}})
""",
        "mcp__stations__get_weather",
    ),
    "claude-agent-sdk, a file": (
        "claude_agent_sdk",
        f"""
import json
from pathlib import Path
from claude_agent_sdk import ClaudeAgentOptions
Path("mcp.json").write_text(json.dumps({{"mcpServers": {{"stations": dict({COMMAND})}}}}))
agent = ClaudeAgentOptions(mcp_servers="mcp.json")
""",
        "mcp__stations__find_station",
    ),
    "crewai": (
        "crewai",
        f"""
from crewai import Agent
from crewai.mcp import MCPServerStdio
server = MCPServerStdio({COMMAND})
agent = Agent(role="r", goal="g", backstory="b", llm="openai/gpt-5", mcps=[server])
""",
        None,  # made of the command
    ),
}


@pytest.mark.parametrize("library", AGENTS)
def test_servers_are_connected_for_the_import(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    needed, module, name = AGENTS[library]
    skip_without(needed)
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    Path("my_agent.py").write_text(PREAMBLE + module)
    import_agent("-")
    printed = capfd.readouterr()
    names = [tool["function"]["name"] for tool in json.loads(printed.out)["tools"]]
    assert len(names) == 9
    assert name is None or name in names
    assert "imported" in printed.err
