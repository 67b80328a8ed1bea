"""Agents of other libraries as models: each function makes the callable that a model's table names.

    # my_agent.py
    from pytest_tooleval.agents import openai_agents
    from my_app import agent

    answer = openai_agents(agent)

The tools of the suite take the place of the agent's own, and none of those runs; with `run_tools=True`
they do, and their calls are kept as they were.
"""

from .adk_sdk import google_adk
from .claude_sdk import claude_agent
from .crewai_sdk import crewai
from .langgraph_sdk import langgraph
from .openai_sdk import openai_agents
from .pydantic_sdk import pydantic_ai

__all__ = ["claude_agent", "crewai", "google_adk", "langgraph", "openai_agents", "pydantic_ai"]
