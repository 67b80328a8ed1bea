"""Agents of Google's Agent Development Kit (`google-adk`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from .messages import without_system

_APP, _USER = "tooleval", "user"


def google_adk(agent: Any, *, run_tools: bool = False) -> Model:
    """Make a model from an `LlmAgent` of google-adk. With `run_tools`, its own tools run.

    Otherwise it must not have sub-agents, which have their own tools.
    """
    if agent.sub_agents and not run_tools:
        raise ValueError(f"the agent {agent.name!r} has sub-agents, whose tools would really run")

    async def run(
        messages: list[Message], tools: list[Tool] | None, call_tool: CallTool
    ) -> list[Message]:
        from google.adk.events import Event
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.genai import types

        system, rest = without_system(messages)
        before, prompt = split_prompt(rest)
        change: dict[str, Any] = {}
        if tools is not None:
            change["tools"] = [_bound(tool, call_tool) for tool in tools]
        if system:
            callbacks = agent.canonical_before_model_callbacks
            change["before_model_callback"] = [_instructing(system), *callbacks]
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name=_APP, user_id=_USER)
        for author, content in _history(before, agent.name):
            await sessions.append_event(session, Event(author=author, content=content))
        events = Runner(
            app_name=_APP, agent=agent.clone(update=change), session_service=sessions
        ).run_async(
            user_id=_USER,
            session_id=session.id,
            new_message=types.Content(role="user", parts=[types.Part(text=prompt)]),
        )
        return _rounds([event async for event in events])

    return as_model(run, run_tools)


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


def _bound(tool: Tool, call_tool: CallTool) -> Any:
    from google.adk.tools import BaseTool
    from google.genai import types

    class Bound(BaseTool):  # type: ignore[misc]  # the library may not be installed
        def _get_declaration(self) -> Any:
            return types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
            )

        async def run_async(self, *, args: Message, tool_context: Any) -> object:
            return _response(await call_tool(tool.name, args))

    return Bound(name=tool.name, description=tool.description)


def _response(content: str) -> Message:
    """A tool's answer as an object, which Gemini requires."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"result": content}


def _instructing(system: str) -> Any:
    def instruct(callback_context: Any, llm_request: Any) -> None:
        llm_request.append_instructions([system])

    return instruct


def _history(messages: Sequence[Message], name: str) -> list[tuple[str, Any]]:
    """The earlier messages as authors and Gemini's contents."""
    from google.genai import types

    names = names_of_calls(messages)
    history = []
    for message in messages:
        role, text = message["role"], text_of(message)
        if role == "tool":
            id = message["tool_call_id"]
            response = types.FunctionResponse(id=id, name=names.get(id, ""), response=_response(text))
            history.append(
                (name, types.Content(role="user", parts=[types.Part(function_response=response)]))
            )
            continue
        parts = [types.Part(text=text)] if text else []
        for id, called, arguments in calls_of(message):
            call = types.FunctionCall(id=id, name=called, args=json.loads(arguments or "{}"))
            parts.append(types.Part(function_call=call))
        who = ("user", "user") if role == "user" else (name, "model")
        history.append((who[0], types.Content(role=who[1], parts=parts)))
    return history


def _rounds(events: Sequence[Any]) -> list[Message]:
    rounds: list[Message] = []
    for event in events:
        if event.partial:
            continue
        parts = (event.content.parts or ()) if event.content else ()
        rounds += [
            tool_answer(part.function_response.id, part.function_response.response)
            for part in parts
            if part.function_response
        ]
        if any(part.function_response for part in parts):
            continue
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [part.function_call for part in parts if part.function_call]
        used = event.usage_metadata
        usage = used and usage_of(
            used.prompt_token_count,
            (used.candidates_token_count or 0) + (used.thoughts_token_count or 0),
            used.thoughts_token_count,
        )
        message = assistant(text, [(call.id, call.name, call.args or {}) for call in calls], usage=usage)
        reason = event.finish_reason.name if event.finish_reason else event.error_code
        rounds.append({**message, "finish_reason": reason} if reason else message)
    return rounds
