"""An agent of each library, as its users write it: `agent`, with tools that log that they really run."""

from __future__ import annotations

_TOOLS = '''
def find_station(city: str) -> str:
    """Find the station of a city.

    Args:
        city: The name of the city.
    """
    open("really.log", "a").write(city)
    return "S7"

def get_weather(city: str) -> str:
    """Get the weather at a station.

    Args:
        city: The station.
    """
    open("really.log", "a").write(city)
    return "rain"
'''

AGENTS = {
    "openai_agents": (
        "agents",
        """
from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI

model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=URL, api_key="none"))
tools = [function_tool(find_station), function_tool(get_weather)]
agent = Agent(name="weather", instructions="Be right.", model=model, tools=tools)
""",
    ),
    "pydantic_ai": (
        "pydantic_ai",
        """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=URL, api_key="none"))
agent = Agent(model, instructions="Be right.", tools=[find_station, get_weather])
""",
    ),
    "langgraph": (
        "langgraph",
        """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="m", base_url=URL, api_key="none")
agent = create_agent(model, [find_station, get_weather], system_prompt="Be right.")
""",
    ),
    "google_adk": (
        "google.adk",
        """
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

model = LiteLlm(model="openai/m", api_base=URL, api_key="none")
agent = LlmAgent(
    name="weather", instruction="Be right.", model=model, tools=[find_station, get_weather]
)
""",
    ),
    "crewai": (
        "crewai",
        """
from crewai import Agent, LLM
from crewai.tools import tool

llm = LLM(model="openai/gpt-4o", base_url=URL, api_key="none")
tools = [tool(find_station), tool(get_weather)]
agent = Agent(role="weather", goal="Be right.", backstory="You are old.", llm=llm, tools=tools)
""",
    ),
    "claude_agent": (
        "claude_agent_sdk",
        """
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

def text(answer):
    return {"content": [{"type": "text", "text": answer}]}

@tool("find_station", "Find the station of a city.", {"city": str})
async def find(arguments):
    return text(find_station(**arguments))

@tool("get_weather", "Get the weather at a station.", {"city": str})
async def weather(arguments):
    return text(get_weather(**arguments))

agent = ClaudeAgentOptions(
    model="claude-sonnet-5",
    system_prompt="Be right.",
    mcp_servers={"suite": create_sdk_mcp_server("suite", tools=[find, weather])},
    allowed_tools=["mcp__suite"],
    tools=[],
    setting_sources=[],
    strict_mcp_config=True,
    env={
        "ANTHROPIC_BASE_URL": URL.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": "claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
)
""",
    ),
}


# What makes of each agent one whose answer is a form.
FORMS = {
    "openai_agents": "agent = agent.clone(output_type=Forecast)",
    "pydantic_ai": (
        'agent = Agent(model, output_type=Forecast, instructions="Be right.", '
        "tools=[find_station, get_weather])"
    ),
    "langgraph": (
        "from langchain.agents.structured_output import ToolStrategy\n"
        "agent = create_agent(model, [find_station, get_weather], "
        'system_prompt="Be right.", response_format=ToolStrategy(Forecast))'
    ),
}
_FORECAST = "from pydantic import BaseModel\nclass Forecast(BaseModel):\n    sky: str\n"


def module(library: str, url: str, *, form: bool = False) -> str:
    """The source of a module: the agent, as a model that runs no tools, and as one that does."""
    return (
        f"URL = {url!r}\n{_TOOLS}\n{AGENTS[library][1]}\n"
        + (f"{_FORECAST}\n{FORMS[library]}\n" if form else "")
        + f"from pytest_tooleval.agents import {library}\n"
        f"answer = {library}(agent)\nreal = {library}(agent, run_tools=True)\n"
    )
