"""Agents of CrewAI (`crewai`)."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from ..errors import AgentGaveUp
from ..record.transcript import Message
from . import messages as chat
from .messages import AgentTool, AgentToolbox, Model

# More than any run makes, see `_set_in_order`.
_MOST_USES = 1000
# CrewAI's reasons for failures of a tool by which it ends a run that makes no progress.
_LIMITS = ("repeated_call", "usage_limit")
_running: ContextVar[AgentToolbox | None] = ContextVar("running", default=None)


def crewai(agent: Any, *, run_tools: bool = False) -> Model:
    """Make a model from a `crewai.Agent`. With `run_tools`, its own tools run."""
    if not hasattr(agent, "kickoff_async") or not hasattr(agent, "role"):
        raise ValueError(f"expected a crewai.Agent, got {type(agent).__name__}; a crew has several")
    if getattr(agent, "a2a", None):
        raise ValueError(
            f"the agent {agent.role!r} has remote agents (a2a), whose tools would really run"
        )

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        from crewai.events import LLMCallCompletedEvent, ToolUsageErrorEvent, ToolUsageFinishedEvent
        from crewai.events import crewai_event_bus as bus

        calls = _RecordedCalls(toolbox, agent.role.strip())
        # Only the messages carry over between runs. The copy's own id identifies its requests, because
        # CrewAI itself adds up the tokens of concurrent runs.
        change: dict[str, Any] = {"id": uuid.uuid4(), "memory": None}
        change |= {"max_iter": toolbox.most_replies(agent.max_iter)}
        if toolbox.tools is not None:
            change |= {
                "tools": [_bound(tool, calls) for tool in toolbox.tools],
                "apps": None,
                "mcps": None,
            }
        own = agent.model_copy(update=change)
        events: list[Any] = []
        kinds = (LLMCallCompletedEvent, ToolUsageErrorEvent, ToolUsageFinishedEvent)

        def note(_: Any, event: Any) -> None:
            if event.agent_id == str(own.id):
                events.append(event)

        for kind in kinds:
            bus.on(kind)(note)
        try:
            # In a thread, because `kickoff_async` fails if a guardrail makes the agent retry.
            result = await asyncio.to_thread(_kickoff, own, messages, calls)
            await asyncio.to_thread(bus.flush)
        finally:
            for kind in kinds:
                bus.off(kind, note)
        events.sort(key=lambda event: event.emission_sequence or 0)
        answers = [event for event in events if isinstance(event, LLMCallCompletedEvent)]
        ends = [event for event in events if not isinstance(event, LLMCallCompletedEvent)]
        replies = sum(message["role"] in ("assistant", "tool") for message in messages)
        transcript = [
            chat.said_by(
                {key: value for key, value in message.items() if key in _KEPT},
                calls.agent if message["role"] == "assistant" else None,
            )
            for message in result.messages
            if message["role"] in ("assistant", "tool")
        ][replies:]
        # At the limit, CrewAI asks for a last answer without tools.
        if (cut := toolbox.cut(transcript)) is not None:
            return calls.with_marks(cut, ends)
        return _with_usage(chat.with_output(calls.with_marks(transcript, ends), result.raw), answers)

    return chat.as_model(run, run_tools)


def _kickoff(agent: Any, messages: list[Message], calls: _RecordedCalls) -> Any:
    from crewai.hooks import HookAborted, InterceptionPoint
    from crewai.hooks.dispatch import scoped_hooks
    from crewai.llms.base_llm import LLMCallBlockedError
    from crewai.tools.tool_failure import ToolExecutionFailedError

    hooks = {}
    if calls.toolbox.tools is None:
        hooks = {
            InterceptionPoint.PRE_TOOL_CALL: [calls.before],
            InterceptionPoint.POST_TOOL_CALL: [calls.after],
        }
        _set_in_order(agent)
    _answer_people()
    _running.set(calls.toolbox)
    try:
        with scoped_hooks(hooks):
            return agent.kickoff(messages)
    except (HookAborted, LLMCallBlockedError) as error:
        raise AgentGaveUp(f"CrewAI: {error}", kind="guardrail") from error
    except ToolExecutionFailedError as error:
        is_limit = error.record.failure.reason.value in _LIMITS
        raise AgentGaveUp(f"CrewAI: {error}", kind="limit" if is_limit else None) from error
    except ValueError as error:
        if "guardrail failed validation" not in str(error):
            raise
        raise AgentGaveUp(f"CrewAI: {error}", kind="guardrail") from error


def _answer_people() -> None:
    """Let the case answer when an agent's hook would read a person's answer from the terminal."""
    from crewai.hooks import HookAborted, ToolCallHookContext

    own = ToolCallHookContext.request_human_input

    def request(self: Any, prompt: str, *more: str) -> str:
        toolbox = _running.get()
        if toolbox is None:
            return str(own(self, prompt, *more))
        if not toolbox.approves(self.tool_name, self.tool_input):
            # No single answer means "no" to every hook.
            raise HookAborted(f"the call of {self.tool_name} was rejected")
        return "approve"

    if own.__module__ != __name__:
        ToolCallHookContext.request_human_input = request


class _RecordedCalls:
    """The calls that reached a tool. CrewAI's hooks have no ids, so name and arguments identify them."""

    def __init__(self, toolbox: AgentToolbox, agent: str) -> None:
        self.toolbox = toolbox
        self.agent = agent
        self._reached: Counter[str] = Counter()
        self._refusals: list[tuple[Message, str]] = []

    def answer(self, name: str, arguments: Message) -> str:
        """The suite's answer to a call."""
        self._reached[chat.key_of_call(name, arguments)] += 1
        content: str = self.toolbox.ask(name, arguments, agent=self.agent)
        return content

    def before(self, context: Any) -> bool | None:
        """A hook that asks the suite before an agent's tool runs, after all other hooks."""
        tool: Any = getattr(context.tool, "_original_tool", None)
        limit = getattr(tool, "max_usage_count", None)
        if limit is not None and tool.current_usage_count >= limit:
            return None  # CrewAI does not run it
        refusal = self.toolbox.ask(context.tool_name, context.tool_input, agent=self.agent)
        if refusal is None:
            self._reached[chat.key_of_call(context.tool_name, context.tool_input)] += 1
            return None
        self._refusals.append((context.tool_input, refusal))
        return False

    def after(self, context: Any) -> str | None:
        """A hook that answers a refused call."""
        texts = (text for arguments, text in self._refusals if arguments is context.tool_input)
        return next(texts, None)

    def with_marks(self, transcript: list[Message], ends: Sequence[Any]) -> list[Message]:
        """The run, with calls marked that failed or reached no tool. `ends` are CrewAI's events."""
        errors: dict[str, list[object]] = {}
        for event in ends:
            key = chat.key_of_call(event.tool_name, event.tool_args)
            errors.setdefault(key, []).append(getattr(event, "error", None) or event.failure)
        for message in transcript:
            for id, name, arguments in chat.call_fields(message):
                key = chat.key_of_call(name, arguments)
                error = errors[key].pop(0) if errors.get(key) else None
                if self._reached[key] == 0:
                    continue
                self._reached[key] -= 1
                self.toolbox.allow(id)
                if error is not None:
                    self.toolbox.note_failure(id, error)
        return self.toolbox.with_marks(transcript)


def _set_in_order(agent: Any) -> None:
    """Give all tools a limit, so that CrewAI runs calls in order, and none after a forbidden one."""
    tools = list(agent.tools or ())
    tools += agent.get_platform_tools(agent.apps) if agent.apps else ()
    tools += agent.get_mcp_tools(agent.mcps) if agent.mcps else ()
    agent.apps = agent.mcps = None
    for index, tool in enumerate(tools):
        limit = _MOST_USES if tool.max_usage_count is None else tool.max_usage_count
        tools[index] = tool.model_copy(update={"max_usage_count": limit})
    agent.tools = tools


_KEPT = ("role", "content", "tool_calls", "tool_call_id")


def _with_usage(transcript: list[Message], answers: list[Any]) -> list[Message]:
    """The run with the tokens of each answer, if the answers match its replies."""
    from crewai.types.usage_metrics import UsageMetrics

    replies = [message for message in transcript if message["role"] == "assistant"]
    if len(replies) == len(answers):
        for reply, event in zip(replies, answers, strict=True):
            used = UsageMetrics.from_provider_dict(event.usage)
            if used is not None:
                reply["usage"] = chat.token_usage(
                    used.prompt_tokens, used.completion_tokens, used.reasoning_tokens
                )
            reply["finish_reason"] = event.finish_reason
    return transcript


async def tools_of(agent: Any) -> list[Message]:
    """The functions that the agent offers to its model. Connects to its MCP servers."""
    from crewai.utilities.agent_utils import convert_tools_to_openai_schema

    # In a thread, because `get_mcp_tools` starts its own event loop.
    of_servers = await asyncio.to_thread(agent.get_mcp_tools, agent.mcps) if agent.mcps else ()
    tools, *_ = convert_tools_to_openai_schema([*(agent.tools or ()), *of_servers])
    return [tool["function"] for tool in tools]


def _bound(tool: AgentTool, calls: _RecordedCalls) -> Any:
    from crewai.tools import BaseTool
    from pydantic import BaseModel

    class Arguments(BaseModel, extra="allow"):
        """Accepts anything, and shows the model the tool's own schema."""

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> Message:
            return {"title": tool.name, **tool.parameters}

    class Bound(BaseTool):  # type: ignore[misc]  # the library may not be installed
        def _run(self, **arguments: Any) -> Any:
            return calls.answer(tool.name, arguments)

    return Bound(
        name=tool.name,
        description=tool.description,
        args_schema=Arguments,
        max_usage_count=_MOST_USES,
        cache_function=lambda *_: False,
    )
