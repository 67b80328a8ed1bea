"""Agents of Pydantic AI (`pydantic-ai`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import StopKind
from ..record.status import StatusWord
from ..record.transcript import Message
from . import messages as chat
from .messages import AgentToolbox, Model

_OUTPUT = "(the output of the run)"
# The status of calls that did not succeed.
_STATUS: dict[str, StatusWord] = {"failed": "error", "retried": "error", "denied": "refused"}


def pydantic_ai(agent: Any, *, run_tools: bool = False, **run_arguments: Any) -> Model:
    """Make a model from a `pydantic_ai.Agent`. With `run_tools`, its own tools run.

    Further arguments, such as `deps`, are passed to its `run()`.
    """

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        from pydantic_ai import (
            UnexpectedModelBehavior,
            UsageLimitExceeded,
            UsageLimits,
            capture_run_messages,
        )

        before, prompt = chat.split_prompt(messages)
        arguments = {**run_arguments, "message_history": _history(before) or None}
        limits = run_arguments.get("usage_limits") or UsageLimits()
        most = toolbox.most_replies(limits.request_limit)
        arguments["usage_limits"] = replace(limits, request_limit=most)
        arguments["capabilities"] = [*(run_arguments.get("capabilities") or ()), _capability(toolbox)]
        replaced: dict[str, Any] = {}
        if toolbox.tools is not None:
            toolsets = [*agent.toolsets, *(run_arguments.get("toolsets") or ())]
            replaced = {"tools": [], "toolsets": [_toolset(toolsets, toolbox)], "native_tools": []}
        # Run calls in order, so that none runs after a forbidden one.
        in_order = agent.parallel_tool_call_execution_mode("sequential")
        with capture_run_messages() as captured, agent.override(**replaced), in_order:
            try:
                result = await agent.run(prompt, **arguments)
            except (UsageLimitExceeded, UnexpectedModelBehavior) as error:
                transcript = _transcript(captured[len(before) :], agent.name)
                if not (transcript or isinstance(error, UsageLimitExceeded)):
                    raise  # the provider's answer cannot be read
                kind: StopKind | None = "limit" if isinstance(error, UsageLimitExceeded) else None
                return toolbox.stop(f"Pydantic AI: {error}", transcript, kind)
        transcript = chat.without_calls(_transcript(result.new_messages(), agent.name), _forms(result))
        return chat.with_output(toolbox.with_marks(transcript), result.output)

    return chat.as_model(run, run_tools)


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model."""
    from pydantic_ai.models.function import FunctionModel

    offered: list[Message] = []

    def answer(_: Any, info: Any) -> Any:
        for tool in info.function_tools:
            function = {"name": tool.name, "description": tool.description}
            offered.append({**function, "parameters": tool.parameters_json_schema})
        raise _FirstRequest

    with suppress(_FirstRequest):
        await agent.run("", model=FunctionModel(answer))
    return offered


class _FirstRequest(Exception):
    """Raised to stop at the first model request."""


def _capability(toolbox: AgentToolbox) -> Any:
    """Asks the suite for approvals, and before the agent's own tools run, after all its guards."""
    from pydantic_ai import ApprovalRequired, CallDeferred, SkipToolExecution
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering

    class Asks(AbstractCapability[Any]):  # type: ignore[misc]  # the library may not be installed
        def get_ordering(self) -> CapabilityOrdering:
            return CapabilityOrdering(position="innermost")

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            built_in = request_context.model_request_parameters.native_tools
            if built_in and toolbox.tools is None:
                raise chat.unstoppable(f"the provider runs the built-in tool {built_in[0].kind}")
            return request_context

        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            if toolbox.tools is None:
                text = call.args_as_json_str()
                name = ctx.agent and ctx.agent.name
                refusal = await toolbox.refusal(call.tool_call_id, call.tool_name, text, name)
                if refusal is not None:
                    raise SkipToolExecution(refusal)
            return args

        async def wrap_tool_execute(
            self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any
        ) -> Any:
            try:
                with toolbox.watching(
                    call.tool_call_id, ApprovalRequired, CallDeferred, SkipToolExecution
                ):
                    return await handler(args)
            except ApprovalRequired:
                toolbox.pause(call.tool_call_id, call.tool_name, call.args_as_json_str())
                raise

        async def on_tool_execute_error(
            self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Exception
        ) -> Any:
            toolbox.note_failure(call.tool_call_id, error)  # before another capability recovers from it
            raise error

        async def handle_deferred_tool_calls(self, ctx: Any, *, requests: Any) -> Any:
            approved = {
                call.tool_call_id: toolbox.approves(call.tool_name, call.args_as_json_str())
                for call in requests.approvals
            }
            return requests.build_results(approvals=approved)

    return Asks()


def _toolset(own: Sequence[Any], toolbox: AgentToolbox) -> Any:
    """The suite's tools. Those that the agent also has keep their wrappers, such as approvals."""
    from pydantic_ai import CombinedToolset, FunctionToolset, Tool, WrapperToolset

    class Answers(WrapperToolset[Any]):  # type: ignore[misc]
        async def call_tool(self, name: str, tool_args: Message, ctx: Any, tool: Any) -> str:
            name = ctx.agent and ctx.agent.name
            return await toolbox.answer(ctx.tool_call_id, ctx.tool_name, tool_args, name)

    async def never_runs(**arguments: Any) -> None: ...

    offered = Answers(
        FunctionToolset(
            Tool.from_schema(never_runs, tool.name, tool.description, tool.parameters)
            for tool in toolbox.tools or ()
        )
    )

    class Offers(WrapperToolset[Any]):  # type: ignore[misc]
        async def get_tools(self, ctx: Any) -> dict[str, Any]:
            own = await super().get_tools(ctx)
            tools = await offered.get_tools(ctx)
            return {
                name: _described(own[name], tool) if name in own else tool
                for name, tool in tools.items()
            }

        async def call_tool(self, name: str, tool_args: Message, ctx: Any, tool: Any) -> Any:
            toolset = self.wrapped if hasattr(tool, "source_toolset") else offered
            return await toolset.call_tool(name, tool_args, ctx, tool)

    def answered(toolset: Any) -> Any:
        # Other toolsets, such as servers, would have to be started to list their tools.
        return Answers(toolset if isinstance(toolset, FunctionToolset) else FunctionToolset())

    return Offers(CombinedToolset([toolset.visit_and_replace(answered) for toolset in own]))


def _described(own: Any, tool: Any) -> Any:
    """The agent's tool with the suite's description."""
    definition = replace(
        own.tool_def,
        description=tool.tool_def.description,
        parameters_json_schema=tool.tool_def.parameters_json_schema,
    )
    return replace(
        own, tool_def=definition, args_validator=tool.args_validator, args_validator_func=None
    )


def _history(messages: list[Message]) -> list[Any]:
    from pydantic_ai import messages as ai

    history: list[Any] = []
    names = chat.names_of_calls(messages)
    for message in messages:
        role, text = message["role"], chat.only_text(message)
        if role == "assistant":
            calls = [
                ai.ToolCallPart(name, arguments, id) for id, name, arguments in chat.call_fields(message)
            ]
            history.append(ai.ModelResponse([*([ai.TextPart(text)] if text else []), *calls]))
        elif role == "tool":
            id = message["tool_call_id"]
            history.append(ai.ModelRequest([ai.ToolReturnPart(names.get(id, ""), text, id)]))
        else:
            part = ai.UserPromptPart(text) if role == "user" else ai.SystemPromptPart(text)
            history.append(ai.ModelRequest([part]))
    return history


def _transcript(messages: Sequence[Any], agent: str | None) -> list[Message]:
    transcript: list[Message] = []
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
            usage = chat.token_usage(used.input_tokens, used.output_tokens, reasoning)
            reply = chat.assistant(text, calls, usage=usage) | {"finish_reason": message.finish_reason}
            transcript.append(chat.said_by(reply, agent))
        else:
            transcript += [
                chat.tool_answer(part.tool_call_id, part.model_response_str(), _STATUS.get(part.outcome))
                for part in message.parts
                if part.part_kind == "tool-return"
            ]
    return transcript


def _forms(result: Any) -> list[str]:
    """The names of the tools with which the model gave its output, if any."""
    try:
        messages = result.new_messages(output_tool_return_content=_OUTPUT)
    except (LookupError, ValueError):
        return []
    parts = [part for message in messages for part in message.parts]
    return [part.tool_name for part in parts if getattr(part, "content", None) == _OUTPUT]
