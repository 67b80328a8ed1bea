"""Agents of Google's Agent Development Kit (`google-adk`)."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..record.transcript import Message
from . import messages as chat
from .messages import AgentTool, AgentToolbox, Model

_APP, _USER = "tooleval", "user"
# Agents whose tools run elsewhere, and ADK's tools that only steer the run.
_ELSEWHERE = {"RemoteA2aAgent", "ManagedAgent", "LangGraphAgent"}
_STEERING = {"TransferToAgentTool", "SetModelResponseTool", "FinishTaskTool"}


def google_adk(agent: Any, *, run_tools: bool = False, **run_arguments: Any) -> Model:
    """Make a model from an `LlmAgent` of google-adk. With `run_tools`, its own tools run.

    Otherwise it must not have sub-agents, which have their own tools. Further arguments are passed to
    `Runner.run_async()`, such as `run_config`, or `state_delta` for the state that instructions name.
    """
    if run_tools:
        _check(agent)
    elif agent.sub_agents:
        raise ValueError(f"the agent {agent.name!r} has sub-agents, whose tools would really run")

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        from google.adk.agents.invocation_context import LlmCallsLimitExceededError
        from google.adk.agents.run_config import RunConfig
        from google.adk.events import Event
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.genai import types

        system, rest = chat.without_system(messages)
        before, prompt = chat.split_prompt(rest)
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name=_APP, user_id=_USER)
        for author, content in _history(before, agent.name):
            await sessions.append_event(session, Event(author=author, content=content))
        events: list[_Event] = []
        runner = Runner(
            app_name=_APP,
            agent=agent.clone(update=_changes(agent, system, toolbox)),
            session_service=sessions,
            plugins=[_plugin(toolbox, session.id, events)],
        )
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        config = run_arguments.get("run_config") or RunConfig()
        most = toolbox.most_replies(max(config.max_llm_calls, 0))  # 0 and less mean no limit
        arguments = {**run_arguments, "run_config": config.model_copy(update={"max_llm_calls": most})}
        try:
            async for event in runner.run_async(
                user_id=_USER, session_id=session.id, new_message=message, **arguments
            ):
                events.append(_Event(event))
        except LlmCallsLimitExceededError as error:
            return toolbox.stop(f"Google ADK: {error}", _transcript(events), "limit")
        except KeyError as error:
            if "Context variable not found" not in str(error):
                raise
            hint = "pass the state of the session: google_adk(agent, state_delta={...})"
            raise ValueError(f"{error.args[0].rstrip('.')}; {hint}") from None
        return toolbox.with_marks(_transcript(events))

    return chat.as_model(run, run_tools)


def _changes(agent: Any, system: str, toolbox: AgentToolbox) -> dict[str, Any]:
    """The agent's fields to replace for a case."""
    change: dict[str, Any] = {}
    if toolbox.tools is not None:
        change["tools"] = _replaced(agent, toolbox.tools, toolbox)
    if system:

        def instruct(callback_context: Any, llm_request: Any) -> None:
            llm_request.append_instructions([system])

        change["before_model_callback"] = [instruct, *agent.canonical_before_model_callbacks]
    return change


def _check(agent: Any) -> None:
    """Raise ValueError for an agent with tools or code that cannot be stopped before they run."""
    kinds = {kind.__name__ for kind in type(agent).__mro__}
    what = "runs in another process or library" if kinds & _ELSEWHERE else ""
    if getattr(agent, "code_executor", None) is not None:
        what = "runs code that its model writes"
    if what:
        raise chat.unstoppable(f"the agent {agent.name!r} {what}")
    for each in agent.sub_agents:
        _check(each)


class _Event(NamedTuple):
    """An event of the run; `is_inner` ones are of an agent that is a tool."""

    event: Any
    is_inner: bool = False


def _plugin(toolbox: AgentToolbox, session: str, events: list[_Event]) -> Any:
    """A plugin that answers confirmation requests, and asks the suite before an agent's tool runs.

    A plugin also sees the tools of sub-agents and of agents that are tools, which have their own
    sessions. It adds the events of these.
    """
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.tool_confirmation import ToolConfirmation

    class Asks(BasePlugin):  # type: ignore[misc]  # the library may not be installed
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            if toolbox.tools is None:
                for tool in llm_request.config.tools or ():
                    kinds = tool.model_dump(exclude_none=True, exclude={"function_declarations"})
                    if kinds:
                        raise chat.unstoppable(f"the provider runs the tool {next(iter(kinds))}")
                for name, tool in llm_request.tools_dict.items():
                    llm_request.tools_dict[name] = _guarded(tool, toolbox)

        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            if type(tool).__name__ in _STEERING:
                toolbox.allow(tool_context.function_call_id)
            asks = await tool.check_require_confirmation(tool_args, tool_context)
            confirmed = (
                toolbox.approves(tool.name, tool_args) if asks else toolbox.would_approve(tool.name)
            )
            # Without this, ADK would end the run and wait for a person's answer.
            tool_context.tool_confirmation = ToolConfirmation(confirmed=confirmed)

        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
            if invocation_context.session.id != session:
                events.append(_Event(event, is_inner=True))

    return Asks(name=_APP)


def _guarded(tool: Any, toolbox: AgentToolbox) -> Any:
    """The tool, which asks the suite before it runs and after all the agent's guards."""
    from google.adk.tools.agent_tool import AgentTool

    if type(tool).__name__ in _STEERING:
        return tool
    if isinstance(tool, AgentTool):
        _check(tool.agent)
        if not tool.include_plugins:
            raise chat.unstoppable(f"the agent {tool.name!r} is a tool with include_plugins=False")
    guarded = copy.copy(tool)

    async def run(*, args: Message, tool_context: Any) -> object:
        id, agent = tool_context.function_call_id, tool_context.agent_name
        refusal = await toolbox.refusal(id, tool.name, args, agent)
        if refusal is not None:
            return _response(refusal)
        with toolbox.watching(tool_context.function_call_id):
            return await tool.run_async(args=args, tool_context=tool_context)

    guarded.run_async = run
    return guarded


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model."""
    from google.adk.models import LlmRequest

    request = LlmRequest()
    request.append_tools(await agent.canonical_tools())
    return [
        {
            "name": function.name,
            "description": function.description or "",
            "parameters": function.parameters_json_schema
            or (function.parameters.json_schema.model_dump(exclude_none=True, by_alias=True))
            if function.parameters or function.parameters_json_schema
            else {},
        }
        for tool in request.config.tools or ()
        for function in tool.function_declarations or ()
    ]


def _replaced(agent: Any, tools: Sequence[AgentTool], toolbox: AgentToolbox) -> list[Any]:
    """The suite's tools. Each is confirmed like the agent's tool of the same name."""
    from google.adk.tools import BaseTool
    from google.genai import types

    own = {tool.name: tool for tool in agent.tools if isinstance(tool, BaseTool)}

    class Replaced(BaseTool):  # type: ignore[misc]  # the library may not be installed
        def __init__(self, tool: AgentTool) -> None:
            super().__init__(name=tool.name, description=tool.description)
            self._parameters = tool.parameters

        def _get_declaration(self) -> Any:
            return types.FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=self._parameters
            )

        async def check_require_confirmation(self, args: Message, tool_context: Any) -> Any:
            guard = own.get(self.name, super())
            return await guard.check_require_confirmation(args, tool_context)

        async def run_async(self, *, args: Message, tool_context: Any) -> object:
            id, agent = tool_context.function_call_id, tool_context.agent_name
            return _response(await toolbox.answer(id, self.name, args, agent))

    return [Replaced(tool) for tool in tools]


def _response(content: str) -> Message:
    """A tool's answer as an object, which Gemini requires."""
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {"result": content}


def _history(messages: Sequence[Message], name: str) -> list[tuple[str, Any]]:
    """The earlier messages as authors and Gemini's contents."""
    from google.genai import types

    names = chat.names_of_calls(messages)
    history = []
    for message in messages:
        role, text = message["role"], chat.only_text(message)
        if role == "tool":
            id = message["tool_call_id"]
            response = types.FunctionResponse(id=id, name=names.get(id, ""), response=_response(text))
            history.append(
                (name, types.Content(role="user", parts=[types.Part(function_response=response)]))
            )
            continue
        parts = [types.Part(text=text)] if text else []
        for id, called, arguments in chat.call_fields(message):
            call = types.FunctionCall(id=id, name=called, args=json.loads(arguments or "{}"))
            parts.append(types.Part(function_call=call))
        who = ("user", "user") if role == "user" else (name, "model")
        history.append((who[0], types.Content(role=who[1], parts=parts)))
    return history


def _transcript(events: Sequence[_Event]) -> list[Message]:
    transcript: list[Message] = []
    for event, inner in events:
        if event.partial or event.author == _USER:
            continue
        parts = (event.content.parts or ()) if event.content else ()
        transcript += [
            chat.tool_answer(part.function_response.id, part.function_response.response)
            for part in parts
            if part.function_response
        ]
        if any(part.function_response for part in parts):
            continue
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [part.function_call for part in parts if part.function_call]
        used = event.usage_metadata
        usage = used and chat.token_usage(
            used.prompt_token_count,
            (used.candidates_token_count or 0) + (used.thoughts_token_count or 0),
            used.thoughts_token_count,
        )
        message = chat.assistant(
            text, [(call.id, call.name, call.args or {}) for call in calls], usage=usage
        )
        reason = event.finish_reason.name if event.finish_reason else event.error_code
        message |= {"finish_reason": reason} if reason else {}
        transcript.append(chat.said_by(message, event.author, inner=inner))
    return transcript
