"""Agents of the Claude Agent SDK (`claude-agent-sdk`)."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import StopKind
from ..record.status import StatusWord
from ..record.transcript import Message
from . import messages as chat
from .messages import AgentTool, AgentToolbox, Model

_SERVER = "suite"
# Claude Code's tools that only steer the run.
_FORM = "StructuredOutput"  # with which Claude fills in a form
_STEERING = {_FORM, "ToolSearch"}
_LIMITS = {"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"}
# The engine limits the time of a run.
_LONG_S = 24 * 3600.0
# Characters that Claude Code replaces in tool names.
_UNUSUAL = re.compile("[^a-zA-Z0-9_-]")


def claude_agent(options: Any, *, run_tools: bool = False) -> Model:
    """Make a model from `ClaudeAgentOptions`. With `run_tools`, its own tools run.

    Otherwise neither its MCP servers nor Claude Code's tools are available. Claude sees a tool named
    `mcp__SERVER__NAME` under that name, and any other tool as `mcp__suite__NAME`.
    """

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        import claude_agent_sdk as sdk

        system, rest = chat.without_system(messages)
        before, prompt = chat.split_prompt(rest)
        names = {_shown(tool.name): tool.name for tool in toolbox.tools or ()}
        change: dict[str, Any] = {"system_prompt": _prompt_with(options.system_prompt, system)}
        change |= {"hooks": _hooks(options.hooks or {}, toolbox, names)}
        change |= {"max_turns": toolbox.most_replies(options.max_turns)}
        if toolbox.tools is not None:
            servers = _servers(toolbox)
            # For tools of an imported agent, the agent's own settings decide.
            allowed = [shown for shown, name in names.items() if shown != name]
            change |= {"mcp_servers": servers, "strict_mcp_config": True, "tools": []}
            change |= {"allowed_tools": [*options.allowed_tools, *allowed]}
            change |= {"permission_prompt_tool_name": None}  # on a server that is replaced here
        asks = toolbox.tools is None and options.permission_prompt_tool_name is not None
        if options.can_use_tool is None and not asks:
            # Tools that the options allow need no answer, so the warning does not apply.
            warnings.simplefilter("ignore", sdk.CanUseToolShadowedWarning)
            change["can_use_tool"] = _permission(toolbox, names)
        # Only the messages carry over between runs, and nothing is stored.
        change |= {"continue_conversation": False, "resume": None, "session_store": None}
        if before:
            session = _Session(before)
            change |= {"resume": session.id, "session_store": session}
        else:
            change["extra_args"] = {**options.extra_args, "no-session-persistence": None}
        events: list[Any] = []
        try:
            async for event in sdk.query(prompt=prompt, options=replace(options, **change)):
                events.append(event)
        except sdk.ResultError:
            pass  # the last event has the error
        return _finished(events, names, toolbox)

    return chat.as_model(run, run_tools)


def _permission(toolbox: AgentToolbox, names: dict[str, str]) -> Any:
    """Return a function that answers when Claude Code would ask a person."""
    import claude_agent_sdk as sdk

    async def answer(name: str, arguments: Message, context: Any) -> Any:
        if toolbox.approves(names.get(name, name), arguments):
            return sdk.PermissionResultAllow()
        return sdk.PermissionResultDeny(message=_rejection(name))

    return answer


def _hooks(own: Message, toolbox: AgentToolbox, names: dict[str, str]) -> Message:
    """The options' hooks and ours: one asks the suite, the others record which tools have run."""
    import claude_agent_sdk as sdk

    async def before(call: Any, id: str | None, context: Any) -> Message:
        shown = call["tool_name"]
        name = names.get(shown, shown)
        if name != shown and toolbox.rejects(name):
            # The agent has no such tool, and so no settings by which Claude Code would ask for it.
            return _denied(_rejection(name))
        if toolbox.tools is not None or shown in _STEERING:
            return {}
        try:
            by = {"agent": call["agent_type"]} if call.get("agent_id") else {}
            refusal = await toolbox.ask(shown, call["tool_input"], **by)
        except asyncio.CancelledError:  # the run is over
            return {"continue_": False, **_denied("The run is over.")}
        return {} if refusal is None else _denied(refusal)

    async def after(call: Any, id: str | None, context: Any) -> Message:
        toolbox.allow(id)
        return {}

    more = {
        "PreToolUse": sdk.HookMatcher(hooks=[before], timeout=_LONG_S, on_failure="block"),
        "PostToolUse": sdk.HookMatcher(hooks=[after]),
        "PostToolUseFailure": sdk.HookMatcher(hooks=[after]),
    }
    return {**own, **{event: [*own.get(event, ()), hook] for event, hook in more.items()}}


def _rejection(name: str) -> str:
    return f"The call of {name} was rejected."


def _denied(reason: str) -> Message:
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


async def tools_of(options: Any) -> list[Message]:
    """The functions of the agent's MCP servers. Connects to them, as Claude Code would."""
    from mcp import Client

    offered = []
    for name, server in _own_servers(options.mcp_servers).items():
        async with _transport(server) as transport, Client(transport) as client:
            pages = [await client.list_tools()]
            while pages[-1].next_cursor:
                pages.append(await client.list_tools(cursor=pages[-1].next_cursor))
        for tool in (tool for page in pages for tool in page.tools):
            shown = _UNUSUAL.sub("_", f"mcp__{name}__{tool.name}")
            function = {"name": shown, "description": tool.description}
            offered.append({**function, "parameters": tool.input_schema})
    return offered


def _own_servers(servers: Any) -> Message:
    """The options' servers, which may be given as a file or as JSON."""
    if isinstance(servers, dict):
        return servers
    text = str(servers)
    written = json.loads(text if text.lstrip().startswith("{") else Path(text).read_bytes())
    return dict(written.get("mcpServers", written))


@asynccontextmanager
async def _transport(server: Message) -> AsyncIterator[Any]:
    """The transport with which the MCP SDK connects to a server."""
    kind = server.get("type", "stdio")
    if kind == "sdk":
        yield server["instance"]
    elif kind == "stdio":
        from mcp import StdioServerParameters

        yield StdioServerParameters(
            command=server["command"], args=server.get("args", []), env=server.get("env")
        )
    elif kind == "sse":
        from mcp.client.sse import sse_client

        yield sse_client(server["url"], headers=server.get("headers"))
    else:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(headers=server.get("headers"), timeout=30) as http:
            yield streamable_http_client(server["url"], http_client=http)


def _shown(name: str) -> str:
    """The name under which Claude sees a tool."""
    return "mcp__{}__{}".format(*_parts(name))


def _parts(name: str) -> tuple[str, str]:
    """The server and the tool in a name."""
    start, server, tool = [*name.split("__", 2), "", ""][:3]
    return (server, tool) if start == "mcp" and tool else (_SERVER, name)


def _servers(toolbox: AgentToolbox) -> Message:
    import claude_agent_sdk as sdk

    def bound(tool: AgentTool) -> Any:
        async def invoke(arguments: Message) -> Message:
            answer: str = await toolbox.ask(tool.name, arguments)
            return {"content": [{"type": "text", "text": answer}]}

        return sdk.SdkMcpTool(_parts(tool.name)[1], tool.description, tool.parameters, invoke)

    servers: dict[str, list[Any]] = {}
    for tool in toolbox.tools or ():
        servers.setdefault(_parts(tool.name)[0], []).append(bound(tool))
    return {name: sdk.create_sdk_mcp_server(name, tools=bound) for name, bound in servers.items()}


def _prompt_with(prompt: Any, more: str) -> Any:
    """The options' system prompt, followed by the case's."""
    if not more:
        return prompt
    if not isinstance(prompt, dict):
        return "\n\n".join(filter(None, [prompt, more]))
    key = {"preset": "append", "custom": "prompt"}.get(prompt["type"])
    if key is None:
        raise ValueError("the options read their system prompt from a file, and the case has one, too")
    return {**prompt, key: "\n\n".join(filter(None, [prompt.get(key), more]))}


class _Session:
    """The earlier messages as a session for Claude Code to resume. Stores nothing new."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.id = str(uuid.uuid4())
        self._entries: list[Message] = []
        for message in messages:
            text = chat.only_text(message)
            if message["role"] == "user":
                self._add("user", {"content": text})
            elif message["role"] == "tool":
                result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
                self._add("user", {"content": [result]})
            else:
                content: list[Message] = [{"type": "text", "text": text}] if text else []
                for id, name, arguments in chat.call_fields(message):
                    use = {"type": "tool_use", "id": id, "name": _shown(name)}
                    content.append({**use, "input": json.loads(arguments or "{}")})
                kind = {"type": "message", "id": f"msg_{len(self._entries)}", "model": "before"}
                self._add("assistant", {**kind, "content": content})

    def _add(self, role: str, message: Message) -> None:
        before = self._entries[-1]["uuid"] if self._entries else None
        common = {"isSidechain": False, "userType": "external", "cwd": str(Path.cwd())}
        entry = {"parentUuid": before, "uuid": str(uuid.uuid4()), "sessionId": self.id, "type": role}
        now = {"timestamp": "2026-01-01T00:00:00.000Z", "version": "2.0.0"}
        self._entries.append({**entry, **common, **now, "message": {"role": role, **message}})

    async def append(self, key: Any, entries: Any) -> None:
        pass

    async def load(self, key: Any) -> list[Message]:
        return self._entries


def _transcript(events: Sequence[Any], names: dict[str, str]) -> list[Message]:
    import claude_agent_sdk as sdk

    replies: list[Message] = []
    agents: dict[str, str] = {}  # subagents by the calls that started them
    # A reply comes in parts, and a tool may finish before the last part arrives. The replies of several
    # agents may be mixed.
    for event in events:
        is_reply = isinstance(event, sdk.AssistantMessage)
        caller = getattr(event, "parent_tool_use_id", None)
        own = [each for each in replies if each["caller"] == caller]
        if is_reply and (not own or event.message_id != own[-1]["id"]):
            id = event.message_id
            own.append({"id": id, "caller": caller, "text": "", "calls": [], "results": []})
            replies.append(own[-1])
        content = getattr(event, "content", ())
        for block in content if own and not isinstance(content, str) else ():
            if is_reply and isinstance(block, sdk.TextBlock):
                own[-1]["text"] += block.text
            elif isinstance(block, sdk.ToolUseBlock):
                name = names.get(block.name, block.name)
                own[-1]["calls"].append((block.id, name, block.input))
                agents.setdefault(block.id, str(block.input.get("subagent_type") or block.name))
            elif isinstance(block, sdk.ToolResultBlock):
                text = chat.only_text({"content": block.content})
                status: StatusWord | None = "error" if block.is_error else None
                own[-1]["results"].append(chat.tool_answer(block.tool_use_id, text, status))
    messages: list[Message] = []
    for each in replies:
        caller = each["caller"]
        said = chat.assistant(each["text"], each["calls"])
        said = chat.said_by(said, agents.get(caller), inner=True) if caller else said
        messages += [said, *each["results"]]
    return messages


def _finished(events: Sequence[Any], names: dict[str, str], toolbox: AgentToolbox) -> list[Message]:
    """The run, with its total tokens and cost. Raises an error if it failed."""
    import claude_agent_sdk as sdk

    messages = chat.without_calls(toolbox.with_marks(_transcript(events, names)), [_FORM])
    result = next((event for event in events if isinstance(event, sdk.ResultMessage)), None)
    if result is None:
        raise RuntimeError("Claude Code failed: it ended without a result")
    if result.structured_output is not None or not messages:
        messages = chat.with_output(messages, result.structured_output or result.result or "")
    own = (n for n, each in enumerate(messages) if each["role"] == "assistant" and "inner" not in each)
    last = max(own)
    messages[last] |= {"usage": _usage(result), "stop_reason": result.stop_reason}
    reason = result.result or "; ".join(result.errors or ()) or result.terminal_reason or result.subtype
    if result.subtype in _LIMITS or _is_stopped_by_hook(result):
        kind: StopKind = "limit" if result.subtype in _LIMITS else "guardrail"
        return toolbox.stop(f"Claude Agent SDK: {reason}", messages, kind)
    if result.is_error:
        raise RuntimeError(f"Claude Code failed: {reason}")
    return messages


def _is_stopped_by_hook(result: Any) -> bool:
    """Whether a hook ended the run or refused its prompt, which Claude Code reports as success."""
    refused = result.num_turns == 0 and "operation blocked by hook" in (result.result or "")
    return refused or result.terminal_reason == "hook_stopped"


def _usage(result: Any) -> Message:
    """The tokens and the cost of the whole run."""
    used = result.usage or {}
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    prompt = sum(used.get(kind) or 0 for kind in kinds)
    return {**chat.token_usage(prompt, used.get("output_tokens")), "cost": result.total_cost_usd}
