"""Agents of CrewAI (`crewai`)."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from .messages import MOST_ROUNDS
from .messages import CallTool
from .messages import Message
from .messages import Model
from .messages import Tool
from .messages import as_model
from .messages import usage_of
from .messages import with_output


def crewai(agent: Any, *, run_tools: bool = False) -> Model:
    """Make a model from a `crewai.Agent`. With `run_tools`, its own tools run."""
    if not hasattr(agent, "kickoff_async") or not hasattr(agent, "role"):
        raise ValueError(f"expected a crewai.Agent, got {type(agent).__name__}; a crew has several")

    async def run(
        messages: list[Message], tools: list[Tool] | None, call_tool: CallTool
    ) -> list[Message]:
        from crewai.events import LLMCallCompletedEvent
        from crewai.events import crewai_event_bus as bus

        # Only the messages carry over between runs. The copy's own id identifies its requests, as CrewAI
        # itself adds up the tokens of concurrent runs.
        change: dict[str, Any] = {"id": uuid.uuid4(), "memory": None}
        if tools is not None:
            bound = [_bound(tool, call_tool) for tool in tools]
            change |= {"tools": bound, "apps": None, "mcps": None, "max_iter": MOST_ROUNDS}
        own = agent.model_copy(update=change)
        answers: list[Any] = []

        def note(_: Any, event: Any) -> None:
            if event.agent_id == str(own.id):
                answers.append(event)

        bus.on(LLMCallCompletedEvent)(note)
        try:
            result = await own.kickoff_async(messages)
            await asyncio.to_thread(bus.flush)
        finally:
            bus.off(LLMCallCompletedEvent, note)
        said = sum(message["role"] in ("assistant", "tool") for message in messages)
        rounds = [
            {key: value for key, value in message.items() if key in _KEPT}
            for message in result.messages
            if message["role"] in ("assistant", "tool")
        ][said:]
        return _with_usage(with_output(rounds, result.raw), answers)

    return as_model(run, run_tools)


_KEPT = ("role", "content", "tool_calls", "tool_call_id")


def _with_usage(rounds: list[Message], answers: list[Any]) -> list[Message]:
    """The run with the tokens of each answer, if the answers match its rounds."""
    from crewai.types.usage_metrics import UsageMetrics

    replies = [message for message in rounds if message["role"] == "assistant"]
    if len(replies) == len(answers):
        for reply, event in zip(
            replies, sorted(answers, key=lambda event: event.emission_sequence or 0), strict=True
        ):
            used = UsageMetrics.from_provider_dict(event.usage)
            if used is not None:
                reply["usage"] = usage_of(
                    used.prompt_tokens, used.completion_tokens, used.reasoning_tokens
                )
            reply["finish_reason"] = event.finish_reason
    return rounds


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model."""
    from crewai.utilities.agent_utils import convert_tools_to_openai_schema

    tools, *_ = convert_tools_to_openai_schema(agent.tools or ())
    return [tool["function"] for tool in tools]


def _bound(tool: Tool, call_tool: CallTool) -> Any:
    from crewai.tools import BaseTool
    from pydantic import BaseModel

    class Arguments(BaseModel, extra="allow"):
        """Accepts anything, and shows the model the tool's own schema."""

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> Message:
            return {"title": tool.name, **tool.parameters}

    class Bound(BaseTool):  # type: ignore[misc]  # the library may not be installed
        def _run(self, **arguments: Any) -> Any:
            return call_tool(tool.name, arguments)

    return Bound(
        name=tool.name,
        description=tool.description,
        args_schema=Arguments,
        # CrewAI runs tools with a limit one after the other, in the order of the calls.
        max_usage_count=MOST_ROUNDS,
        cache_function=lambda *_: False,
    )
