"""The guide's agents, as they are written there: `tooleval import agent` lists their tools."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from .running import import_agent, skip_without

GUIDE = Path(__file__).parents[2] / "docs/guides/agents.md"
TABS = re.findall(
    r'^    ```python title="shop_agent.py"\n(.*?)^    ```$', GUIDE.read_text("utf-8"), re.M | re.S
)
TOOLS = '''
def find_order(id: str) -> str:
    """Find an order by its id."""
    return "a lamp"


def open_ticket(text: str) -> str:
    """Open a ticket."""
    return "T1"
'''
# By adapter: what it needs, and what makes these functions tools of the library.
LIBRARIES = {
    "openai_agents": (
        "agents",
        "from agents import function_tool\n"
        "find_order, open_ticket = function_tool(find_order), function_tool(open_ticket)",
    ),
    "pydantic_ai": ("pydantic_ai", ""),
    "langgraph": ("langchain", ""),
    "google_adk": ("google.adk", ""),
    "crewai": (
        "crewai",
        "from crewai.tools import tool\nfind_order, open_ticket = tool(find_order), tool(open_ticket)",
    ),
    "claude_agent": (
        "claude_agent_sdk",
        "from claude_agent_sdk import create_sdk_mcp_server, tool\n"
        'tools = [tool("find_order", "Find.", {"id": str})(find_order)]\n'
        'tools.append(tool("open_ticket", "Open.", {"text": str})(open_ticket))\n'
        'server = create_sdk_mcp_server("shop", tools=tools)',
    ),
}


@pytest.mark.parametrize("adapter", LIBRARIES)
def test_the_agent_of_the_guide_is_a_model(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needed, as_tools = LIBRARIES[adapter]
    skip_without(needed)
    (tab,) = [tab for tab in TABS if f"import {adapter}\n" in tab]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    source = f"{TOOLS}\n{as_tools}\n{textwrap.dedent(tab)}\nassert callable(answer)\n"
    Path("my_agent.py").write_text(source, encoding="utf-8")
    import_agent("shop.tooleval.json")
    tools = json.loads(Path("shop.tooleval.json").read_text(encoding="utf-8"))["tools"]
    names = [tool["function"]["name"].rpartition("__")[2] for tool in tools]
    assert names == ["find_order", "open_ticket"]
