"""Agents of the OpenAI Agents SDK (`openai-agents`)."""

from __future__ import annotations

from collections.abc import Awaitable
from collections.abc import Callable
from typing import Any

from .answers import Message
from .answers import answer_of

# The calls are bounded by the case.
_MOST_TURNS = 1000


def openai_agents(agent: Any) -> Callable[..., Awaitable[Message]]:
    """A callable from an `agents.Agent` without handoffs, which would have tools of their own."""
    if agent.handoffs:
        raise ValueError(f"the agent {agent.name!r} has handoffs, whose tools would really run")

    async def answer(messages: list[Message], tools: list[Message], call_tool: Any) -> Message:
        from agents import FunctionTool
        from agents import RunConfig
        from agents import Runner

        def bound(function: Message) -> Any:
            name = function["name"]

            async def invoke(context: Any, arguments: str) -> str:
                told: str = await call_tool(name, arguments)
                return told

            return FunctionTool(
                name=name,
                description=function.get("description") or "",
                params_json_schema=function.get("parameters") or {"type": "object", "properties": {}},
                on_invoke_tool=invoke,
                strict_json_schema=bool(function.get("strict")),
            )

        own = agent.clone(tools=[bound(tool["function"]) for tool in tools], mcp_servers=[])
        result = await Runner.run(
            own,
            [item for message in messages for item in _items(message)],
            max_turns=_MOST_TURNS,
            run_config=RunConfig(tracing_disabled=True),
        )
        used = result.context_wrapper.usage
        return answer_of(result.final_output, used.input_tokens, used.output_tokens)

    return answer


def _items(message: Message) -> list[Message]:
    """A chat message as items of the Responses API."""
    if message["role"] == "tool":
        content = message.get("content") or ""
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}]
    said = [{"role": message["role"], "content": message["content"]}] if message.get("content") else []
    return said + [
        {"type": "function_call", "call_id": call["id"], **call["function"]}
        for call in message.get("tool_calls") or ()
    ]
