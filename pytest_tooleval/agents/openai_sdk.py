"""Agents of the OpenAI Agents SDK (`openai-agents`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .messages import MOST_ROUNDS
from .messages import CallTool
from .messages import Message
from .messages import Model
from .messages import Tool
from .messages import as_model
from .messages import assistant
from .messages import calls_of
from .messages import text_of
from .messages import tool_answer
from .messages import usage_of
from .messages import with_output


def openai_agents(agent: Any, *, run_tools: bool = False) -> Model:
    """Make a model from an `agents.Agent`. With `run_tools`, its own tools run.

    Otherwise it must not have handoffs, whose agents have their own tools.
    """
    if agent.handoffs and not run_tools:
        raise ValueError(f"the agent {agent.name!r} has handoffs, whose tools would really run")

    async def run(
        messages: list[Message], tools: list[Tool] | None, call_tool: CallTool
    ) -> list[Message]:
        from agents import RunConfig
        from agents import Runner

        own = agent
        if tools is not None:
            own = agent.clone(tools=[_bound(tool, call_tool) for tool in tools], mcp_servers=[])
        asked = [item for message in messages for item in _items(message)]
        # Calling an unknown tool is the model's mistake and must not raise.
        config = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
        result = await Runner.run(own, asked, max_turns=MOST_ROUNDS, run_config=config)
        return with_output(_rounds(result), result.final_output)

    return as_model(run, run_tools)


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model."""
    from agents import FunctionTool
    from agents import RunContextWrapper

    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
            **({"strict": True} if tool.strict_json_schema else {}),
        }
        for tool in await agent.get_all_tools(RunContextWrapper(None))
        if isinstance(tool, FunctionTool)
    ]


def _bound(tool: Tool, call_tool: CallTool) -> Any:
    from agents import FunctionTool

    async def invoke(_: Any, arguments: str) -> str:
        answer: str = await call_tool(tool.name, arguments)
        return answer

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=tool.strict,
    )


def _items(message: Message) -> Iterable[Message]:
    """A chat message as items of the Responses API."""
    if message["role"] == "tool":
        id = message["tool_call_id"]
        return [{"type": "function_call_output", "call_id": id, "output": text_of(message)}]
    text = [{"role": message["role"], "content": message["content"]}] if message.get("content") else []
    return text + [
        {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
        for id, name, arguments in calls_of(message)
    ]


def _rounds(run: Any) -> list[Message]:
    """The responses of the model, each followed by the answers to its calls."""
    outputs = {
        item.raw_item["call_id"]: item.output
        for item in run.new_items
        if item.type == "tool_call_output_item" and "call_id" in item.raw_item
    }
    messages: list[Message] = []
    for response in run.raw_responses:
        text, calls = "", []
        ending: Message = {}
        for item in response.output:
            if item.type == "message":
                text += "".join(getattr(part, "text", "") for part in item.content)
                refused = "".join(getattr(part, "refusal", "") for part in item.content)
                ending |= {"refusal": refused} if refused else {}
                ending |= {"finish_reason": "incomplete"} if item.status == "incomplete" else {}
            elif item.type == "function_call":
                calls.append((item.call_id, item.name, item.arguments))
        used = response.usage
        usage = usage_of(
            used.input_tokens, used.output_tokens, used.output_tokens_details.reasoning_tokens
        )
        messages.append(assistant(text, calls, usage=usage) | ending)
        messages += [tool_answer(id, outputs[id]) for id, _, _ in calls if id in outputs]
    return messages
