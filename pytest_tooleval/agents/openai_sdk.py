"""Agents of the OpenAI Agents SDK (`openai-agents`)."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from ..record.transcript import Message
from . import messages as chat
from .messages import AgentTool, AgentToolbox, Endings, Model


def openai_agents(agent: Any, *, run_tools: bool = False, **run_arguments: Any) -> Model:
    """Make a model from an `agents.Agent`. With `run_tools`, its own tools run.

    Otherwise it must not have handoffs, whose agents have their own tools. Further arguments, such as
    `context` or `max_turns`, are passed to `Runner.run()`.
    """
    if run_tools:
        _guarded(agent, None, {})
    elif agent.handoffs:
        raise ValueError(f"the agent {agent.name!r} has handoffs, whose tools would really run")

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        from agents import Runner
        from agents.run import DEFAULT_MAX_TURNS

        if toolbox.tools is None:
            own = _guarded(agent, toolbox, {})
        else:
            own = agent.clone(tools=_replaced(agent, toolbox.tools, toolbox), mcp_servers=[])
        inputs: Any = [item for message in messages for item in _items(message)]
        usual = DEFAULT_MAX_TURNS if toolbox.max_rounds is None else None
        most = toolbox.most_replies(run_arguments.get("max_turns", usual))
        config = _config(run_arguments.get("run_config"))
        arguments = {**run_arguments, "max_turns": most, "run_config": config}
        endings = _endings()
        try:
            result = await Runner.run(own, inputs, **arguments)
            while result.interruptions:
                state = result.to_state()
                for item in result.interruptions:
                    approves = toolbox.approves(item.name, item.arguments)
                    (state.approve if approves else state.reject)(item)
                result = await Runner.run(own, state, **arguments)
        except tuple(endings) as error:
            run_data: Any = getattr(error, "run_data", None)
            transcript = _transcript(run_data) if run_data else []
            return toolbox.stop(f"OpenAI Agents SDK: {error}", transcript, chat.stop_of(error, endings))
        return chat.with_output(toolbox.with_marks(_transcript(result)), result.final_output)

    return chat.as_model(run, run_tools)


def _config(own: Any) -> Any:
    from agents import RunConfig, ToolExecutionConfig

    config = own or RunConfig()
    execution = config.tool_execution or ToolExecutionConfig()
    return replace(
        config,
        tracing_disabled=True,
        # Calling an unknown tool is the model's mistake and must not raise.
        tool_not_found_behavior="return_error_to_model",
        # Run calls in order, so that none runs after a forbidden one.
        tool_execution=replace(execution, max_function_tool_concurrency=1),
    )


def _endings() -> Endings:
    import agents

    return {
        agents.MaxTurnsExceeded: "limit",
        agents.ModelBehaviorError: None,
        agents.ModelRefusalError: None,
        agents.InputGuardrailTripwireTriggered: "guardrail",
        agents.OutputGuardrailTripwireTriggered: "guardrail",
        agents.ToolInputGuardrailTripwireTriggered: "guardrail",
        agents.ToolOutputGuardrailTripwireTriggered: "guardrail",
    }


def _guarded(agent: Any, toolbox: AgentToolbox | None, known: dict[int, Any]) -> Any:
    """The agent, and the agents it hands off to, with tools that ask the suite before they run.

    `known` are the agents guarded so far, by the original's `id()`. Raises ValueError for a tool that
    cannot be stopped. Without a toolbox, this only checks the tools.
    """
    from agents import Agent, Handoff

    if id(agent) in known:
        return known[id(agent)]
    if any(kind.__name__ == "SandboxAgent" for kind in type(agent).__mro__):
        raise chat.unstoppable(f"the agent {agent.name!r} has a sandbox")
    own = agent.clone(tools=[_guarded_tool(agent, tool, toolbox) for tool in agent.tools])
    known[id(agent)] = own

    async def mcp_tools(context: Any) -> list[Any]:
        assert toolbox is not None
        watched = agent.clone(mcp_servers=[_watched_server(each, toolbox) for each in agent.mcp_servers])
        return [_guarded_tool(agent, tool, toolbox) for tool in await watched.get_mcp_tools(context)]

    def guarded_handoff(handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
        if handoff._agent_ref is not None and (target := handoff._agent_ref()) is not None:
            _guarded(target, toolbox, known)

        async def invoke(context: Any, arguments: str) -> Any:
            return _guarded(await handoff.on_invoke_handoff(context, arguments), toolbox, known)

        return replace(handoff, on_invoke_handoff=invoke)

    own.get_mcp_tools = mcp_tools
    own.handoffs = [
        _guarded(each, toolbox, known) if isinstance(each, Agent) else guarded_handoff(each)
        for each in agent.handoffs
    ]
    return own


def _guarded_tool(agent: Any, tool: Any, toolbox: AgentToolbox | None) -> Any:
    """The tool, with one more guardrail after its own."""
    from agents import FunctionTool, ToolInputGuardrail
    from agents import ToolGuardrailFunctionOutput as Output

    if not isinstance(tool, FunctionTool) or tool._is_codex_tool:
        raise chat.unstoppable(f"the agent {agent.name!r} has the tool {tool.name}")
    inner = tool._agent_instance
    if inner is not None and (inner.tools or inner.mcp_servers or inner.handoffs):
        what = f"the agent {inner.name!r} as a tool, with tools of its own"
        raise chat.unstoppable(f"the agent {agent.name!r} has {what}")

    async def ask(data: Any) -> Any:
        assert toolbox is not None
        call = data.context
        refusal = await toolbox.refusal(
            call.tool_call_id, call.tool_name, call.tool_arguments, agent.name
        )
        return Output.allow() if refusal is None else Output.reject_content(refusal)

    guarded = copy.copy(tool)
    guarded.tool_input_guardrails = [
        *(tool.tool_input_guardrails or ()),
        ToolInputGuardrail(ask, "suite"),
    ]
    if toolbox is not None:
        guarded.on_invoke_tool = _watched(guarded.on_invoke_tool, toolbox)
    return guarded


def _watched(invoke: Any, toolbox: AgentToolbox) -> Any:
    """The function that runs a tool, of whose errors the toolbox learns.

    The SDK makes a text of an exception, but first attaches it to the current span.
    """
    from agents.tracing import CustomSpanData
    from agents.tracing.spans import NoOpSpan

    class Watch(NoOpSpan[Any]):  # type: ignore[misc]  # the library may not be installed
        def __init__(self, id: str) -> None:
            super().__init__(CustomSpanData("tooleval", {}))
            self._id = id

        def set_error(self, error: Any) -> None:
            toolbox.note_failure(self._id, sys.exc_info()[1] or error)

    async def watched(context: Any, arguments: str) -> Any:
        with toolbox.watching(context.tool_call_id), Watch(context.tool_call_id):
            return await invoke(context, arguments)

    return watched


def _watched_server(server: Any, toolbox: AgentToolbox) -> Any:
    """A copy of an MCP server, of whose errors the toolbox learns, which the SDK only shows as text."""
    own = getattr(server, "custom_data_extractor", None)

    def extract(result: Any) -> Any:
        if result.is_error:
            toolbox.note_failure(result.run_context.tool_call_id, result.tool_output)
        return own(result) if own else None

    watched = copy.copy(server)
    watched.custom_data_extractor = extract
    return watched


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model. Connects to its MCP servers."""
    from agents import FunctionTool, RunContextWrapper

    async with AsyncExitStack() as connected:
        for server in agent.mcp_servers:
            connected.push_async_callback(server.cleanup)
            await server.connect()
        tools = await agent.get_all_tools(RunContextWrapper(None))
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
            **({"strict": True} if tool.strict_json_schema else {}),
        }
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


def _replaced(agent: Any, tools: Iterable[AgentTool], toolbox: AgentToolbox) -> list[Any]:
    """The suite's tools, each with the guards of the agent's tool of the same name."""
    from agents import FunctionTool

    own = {tool.name: tool for tool in agent.tools if isinstance(tool, FunctionTool)}

    async def invoke(context: Any, arguments: str) -> str:
        return await toolbox.answer(context.tool_call_id, context.tool_name, arguments, agent.name)

    def guards(name: str) -> Message:
        fields = ("tool_input_guardrails", "tool_output_guardrails", "needs_approval")
        return {field: getattr(own[name], field) for field in fields} if name in own else {}

    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=invoke,
            strict_json_schema=tool.strict,
            **guards(tool.name),
        )
        for tool in tools
    ]


def _items(message: Message) -> Iterable[Message]:
    """A chat message as items of the Responses API."""
    if message["role"] == "tool":
        id = message["tool_call_id"]
        return [{"type": "function_call_output", "call_id": id, "output": chat.only_text(message)}]
    text = [{"role": message["role"], "content": message["content"]}] if message.get("content") else []
    return text + [
        {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
        for id, name, arguments in chat.call_fields(message)
    ]


def _transcript(run: Any) -> list[Message]:
    """The model's responses, each followed by the answers to its calls."""
    outputs = {
        item.raw_item["call_id"]: item.output
        for item in run.new_items
        if item.type == "tool_call_output_item" and "call_id" in item.raw_item
    }
    agents = {id(item.raw_item): item.agent.name for item in run.new_items}
    messages: list[Message] = []
    agent = None
    for response in run.raw_responses:
        agent = next((agents[id(each)] for each in response.output if id(each) in agents), agent)
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
        usage = chat.token_usage(
            used.input_tokens, used.output_tokens, used.output_tokens_details.reasoning_tokens
        )
        messages.append(chat.said_by(chat.assistant(text, calls, usage=usage) | ending, agent))
        messages += [chat.tool_answer(call, outputs[call]) for call, _, _ in calls if call in outputs]
    return messages
