"""Agents of Pydantic AI (`pydantic-ai`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from .messages import CallTool
from .messages import Message
from .messages import Model
from .messages import Tool
from .messages import as_model
from .messages import assistant
from .messages import calls_of
from .messages import names_of_calls
from .messages import split_prompt
from .messages import text_of
from .messages import tool_answer
from .messages import usage_of
from .messages import with_output
from .messages import without_calls

_OUTPUT = "(the output of the run)"


def pydantic_ai(agent: Any, *, run_tools: bool = False, **run_arguments: Any) -> Model:
    """Make a model from a `pydantic_ai.Agent`. With `run_tools`, its own tools run.

    Further arguments, such as `deps`, are passed to its `run()`.
    """

    async def run(
        messages: list[Message], tools: list[Tool] | None, call_tool: CallTool
    ) -> list[Message]:
        from pydantic_ai import UnexpectedModelBehavior
        from pydantic_ai import capture_run_messages

        before, prompt = split_prompt(messages)
        history = _history(before)
        replaced: dict[str, Any] = {}
        if tools is not None:
            replaced = {
                "tools": [_bound(tool, call_tool) for tool in tools],
                "toolsets": [],
                "native_tools": [],
            }
        with capture_run_messages() as made, agent.override(**replaced):
            try:
                result = await agent.run(prompt, message_history=history or None, **run_arguments)
            except UnexpectedModelBehavior:  # such as repeated calls of unknown tools
                rounds = _rounds(made[len(history) :])
                if not rounds:
                    raise
                return rounds
        return with_output(without_calls(_rounds(result.new_messages()), _forms(result)), result.output)

    return as_model(run, run_tools)


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model."""
    from pydantic_ai.models.function import FunctionModel

    offered: list[Message] = []

    def answer(_: Any, info: Any) -> Any:
        for tool in info.function_tools:
            function = {"name": tool.name, "description": tool.description}
            offered.append({**function, "parameters": tool.parameters_json_schema})
        raise _Seen

    with suppress(_Seen):
        await agent.run("", model=FunctionModel(answer))
    return offered


class _Seen(Exception):
    """The agent has asked its model."""


def _bound(tool: Tool, call_tool: CallTool) -> Any:
    from pydantic_ai import Tool as Bound

    async def invoke(**arguments: Any) -> str:
        answer: str = await call_tool(tool.name, arguments)
        return answer

    return Bound.from_schema(invoke, tool.name, tool.description, tool.parameters)


def _history(messages: list[Message]) -> list[Any]:
    from pydantic_ai import messages as ai

    history: list[Any] = []
    names = names_of_calls(messages)
    for message in messages:
        role, text = message["role"], text_of(message)
        if role == "assistant":
            calls = [ai.ToolCallPart(name, arguments, id) for id, name, arguments in calls_of(message)]
            history.append(ai.ModelResponse([*([ai.TextPart(text)] if text else []), *calls]))
        elif role == "tool":
            id = message["tool_call_id"]
            history.append(ai.ModelRequest([ai.ToolReturnPart(names.get(id, ""), text, id)]))
        else:
            part = ai.UserPromptPart(text) if role == "user" else ai.SystemPromptPart(text)
            history.append(ai.ModelRequest([part]))
    return history


def _rounds(messages: Sequence[Any]) -> list[Message]:
    rounds: list[Message] = []
    for message in messages:
        if message.kind == "response":
            text = "".join(part.content for part in message.parts if part.part_kind == "text")
            calls = [
                (part.tool_call_id, part.tool_name, part.args_as_json_str())
                for part in message.parts
                if part.part_kind == "tool-call"
            ]
            used = message.usage
            reasoning = used.details.get("reasoning_tokens")
            usage = usage_of(used.input_tokens, used.output_tokens, reasoning)
            rounds.append(assistant(text, calls, usage=usage) | {"finish_reason": message.finish_reason})
        else:
            returned = (part for part in message.parts if part.part_kind == "tool-return")
            rounds += [tool_answer(part.tool_call_id, part.model_response_str()) for part in returned]
    return rounds


def _forms(result: Any) -> list[str]:
    """The tool with which the model gave its output, if any."""
    try:
        messages = result.new_messages(output_tool_return_content=_OUTPUT)
    except (LookupError, ValueError):
        return []
    parts = [part for message in messages for part in message.parts]
    return [part.tool_name for part in parts if getattr(part, "content", None) == _OUTPUT]
