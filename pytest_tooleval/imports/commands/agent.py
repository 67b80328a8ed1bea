"""Suites from the tools of an agent, as its library would send them."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

from ...agents.kinds import LIMIT_S, kind_of
from ...engine.clients.callable_client import import_object
from ...errors import ConfigError, Location
from ...text import shorten
from ...worlds.tools import tool_of, tools_of
from ...worlds.world import WorldSpec
from ..apply import ImportResult
from ..items import ToolList
from ..openai_tools import tool_definitions
from ..records import UnusableError

_KNOWN = (
    "an Agent of the OpenAI Agents SDK, Pydantic AI or CrewAI, a compiled graph of LangGraph, an "
    "LlmAgent of google-adk, ClaudeAgentOptions, a list of functions, or the class of a world"
)


def import_agent(target: str, folder: Path) -> ImportResult:
    """The tools of the agent `module:object`, in this folder or an importable module.

    Raises ConfigError if there is no such object, or if it has no tools.
    """
    module, _, path = target.partition(":")
    if not module or not path:
        raise ConfigError(f"expected module:object, such as my_app:agent, got {target}")
    try:
        agent = import_object(target, folder)
    except LookupError as error:
        raise ConfigError(f"{target}: {error.args[0]}") from None
    tools = _tools(target, agent, folder)
    if not tools:
        raise ConfigError(f"{target} has no tools to import")
    try:
        return ImportResult(path, ToolList(Location(target, 0, 0, ""), tool_definitions(tools)))
    except UnusableError as error:
        raise ConfigError(f"{target}: {error}") from None


def _why(error: BaseException) -> str:
    while inner := getattr(error, "exceptions", None):  # of a group
        error = inner[0]
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer within {LIMIT_S} s"
    return shorten(f"{type(error).__name__}: {error}", 300)


def _tools(target: str, agent: Any, folder: Path) -> list[dict[str, Any]]:
    if (kind := kind_of(agent)) is not None:
        try:
            return asyncio.run(kind.offered_tools(agent))
        except Exception as error:
            raise ConfigError(f"{target}: its tools cannot be listed: {_why(error)}") from None
    if inspect.isclass(agent):
        return tools_of(WorldSpec(target, folder))
    if isinstance(agent, (list, tuple)) and agent and all(map(inspect.isroutine, agent)):
        return [tool_of(each.__name__, each) for each in agent]
    cls = type(agent)
    got = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    raise ConfigError(f"{target}: expected {_KNOWN}, got {got}")
