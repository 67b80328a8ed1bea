"""Agents of other libraries as models: each function makes the callable that a model's table names.

    # my_agent.py
    from pytest_tooleval.agents import openai_agents
    from my_app import agent

    answer = openai_agents(agent)

The tools of the suite take the place of the agent's own, and none of those runs.
"""

from .openai_sdk import openai_agents
from .pydantic_sdk import pydantic_ai

__all__ = ["openai_agents", "pydantic_ai"]
