"""Agents of other libraries as models. Each function returns the callable for a model's table:

    # my_agent.py
    from pytest_tooleval.agents import openai_agents
    from my_app import agent

    answer = openai_agents(agent)

The suite's tools replace the agent's own, which do not run. With `run_tools=True`, the agent's own tools
run instead: those that the case offers and `--tooleval-allow-tools` names, and none after a forbidden
call. The agent's guards stay active, and the case's `approvals` answer them.
"""

from .adk_sdk import google_adk
from .claude_sdk import claude_agent
from .crewai_sdk import crewai
from .langgraph_sdk import langgraph
from .openai_sdk import openai_agents
from .pydantic_sdk import pydantic_ai

__all__ = ["claude_agent", "crewai", "google_adk", "langgraph", "openai_agents", "pydantic_ai"]
