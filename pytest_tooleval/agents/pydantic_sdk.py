"""Agents of Pydantic AI (`pydantic-ai`)."""

from __future__ import annotations

from collections.abc import Awaitable
from collections.abc import Callable
from typing import Any

from .answers import Message
from .answers import answer_of


def pydantic_ai(agent: Any, **run: Any) -> Callable[..., Awaitable[Message]]:
    """A callable from a `pydantic_ai.Agent`; `run` goes to its `run()`, such as `deps`."""

    async def answer(messages: list[Message], tools: list[Message], call_tool: Any) -> Message:
        from pydantic_ai import Tool

        def bound(function: Message) -> Any:
            async def invoke(**arguments: Any) -> str:
                told: str = await call_tool(function["name"], arguments)
                return told

            return Tool.from_schema(
                invoke,
                function["name"],
                function.get("description"),
                function.get("parameters") or {"type": "object", "properties": {}},
            )

        history, prompt = _history(messages)
        own = [bound(tool["function"]) for tool in tools]
        with agent.override(tools=own, toolsets=[], native_tools=[]):
            result = await agent.run(prompt, message_history=history or None, **run)
        used = result.usage
        return answer_of(result.output, used.input_tokens, used.output_tokens)

    return answer


def _history(messages: list[Message]) -> tuple[list[Any], str]:
    """The messages before the last one, as Pydantic AI has them, and the text of the last one."""
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.messages import SystemPromptPart
    from pydantic_ai.messages import TextPart
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.messages import ToolReturnPart
    from pydantic_ai.messages import UserPromptPart

    *before, last = messages
    if last["role"] != "user" or not isinstance(last["content"], str):
        raise ValueError("expected a prompt that ends with a text of the user")
    history: list[Any] = []
    names: dict[str, str] = {}
    for message in before:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            calls = message.get("tool_calls") or ()
            names |= {call["id"]: call["function"]["name"] for call in calls}
            parts = [
                ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
                for call in calls
            ]
            history.append(ModelResponse([*([TextPart(content)] if content else []), *parts]))
        elif role == "tool":
            id = message["tool_call_id"]
            history.append(ModelRequest([ToolReturnPart(names.get(id, ""), content, id)]))
        else:
            part = UserPromptPart(content) if role == "user" else SystemPromptPart(content)
            history.append(ModelRequest([part]))
    return history, last["content"]
