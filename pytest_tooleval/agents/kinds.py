"""Recognises agents of other libraries, without importing the libraries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from . import adk_sdk, claude_sdk, crewai_sdk, langgraph_sdk, openai_sdk, pydantic_sdk

LIMIT_S = 60  # to list an agent's tools, as from servers


class AgentKind(NamedTuple):
    """Agents of a library: the name of their class, its adapter, and what lists its tools."""

    package: str
    name: str
    model: Callable[..., Any]
    tools_of: Callable[[Any], Coroutine[Any, Any, list[dict[str, Any]]]]

    async def offered_tools(self, agent: object) -> list[dict[str, Any]]:
        """The tools that an agent offers, in OpenAI's format. Raises what the library does."""
        functions = await asyncio.wait_for(self.tools_of(agent), LIMIT_S)
        return [
            {"type": "function", "function": {key: value for key, value in each.items() if value}}
            for each in functions
        ]


_KINDS = (
    AgentKind("agents", "Agent", openai_sdk.openai_agents, openai_sdk.tools_of),
    AgentKind("pydantic_ai", "AbstractAgent", pydantic_sdk.pydantic_ai, pydantic_sdk.tools_of),
    AgentKind("langgraph", "Pregel", langgraph_sdk.langgraph, langgraph_sdk.tools_of),
    AgentKind("google.adk", "LlmAgent", adk_sdk.google_adk, adk_sdk.tools_of),
    AgentKind("crewai", "Agent", crewai_sdk.crewai, crewai_sdk.tools_of),
    AgentKind("claude_agent_sdk", "ClaudeAgentOptions", claude_sdk.claude_agent, claude_sdk.tools_of),
)


def kind_of(agent: object) -> AgentKind | None:
    """Return the library's kind of an agent; None for any other object."""
    classes = type(agent).__mro__
    return next((kind for kind in _KINDS if any(_is(each, kind) for each in classes)), None)


def _is(each: type, kind: AgentKind) -> bool:
    return each.__name__ == kind.name and each.__module__.startswith(f"{kind.package}.")
