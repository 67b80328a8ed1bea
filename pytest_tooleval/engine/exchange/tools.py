"""Reads and writes the tools and the `tool_choice` of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ...record.names import KnownTools, full_name
from ...record.untrusted import as_mapping, objects_in
from .chat import ChatRequest

RawTool = Mapping[str, Any]


def tool_body(tool: RawTool) -> Mapping[str, Any]:
    """The fields of a function or a custom tool; none for a provider's own tool."""
    return tool.get("function") or tool.get("custom") or {}


def function_name(tool: RawTool) -> str:
    """The name of a function or a custom tool."""
    return str((tool_body(tool) or tool).get("name", ""))


def _space_of(tool: RawTool) -> str | None:
    """The name of a tool's namespace."""
    return (tool.get("namespace") or {}).get("name")


def tool_kind(tool: RawTool) -> str | None:
    """The key of the fields of a suite's tool; None for a provider's tool."""
    if "function" in tool:
        return "function"
    return "custom" if "custom" in tool else None


def _parameters(tool: RawTool) -> Mapping[str, Any]:
    """The schema of a tool's parameters."""
    if "custom" in tool:
        return {"required": ["input"]}
    return as_mapping((tool.get("function") or {}).get("parameters"))


def known_in_request(request: ChatRequest, *, in_text: bool) -> KnownTools:
    """The tools that an answer may call; `in_text`: in its text."""
    reading = request.reading
    tools = (
        (function_name(tool).removeprefix(reading.prefix), _space_of(tool), _parameters(tool))
        for tool in request.tools
    )
    reads_text = in_text and reading.text_calls
    return KnownTools.of(tools, is_exact=reading.exact_names, prefix=reading.prefix, in_text=reads_text)


def naming(tool: RawTool) -> dict[str, Any]:
    """A tool in the form that `tool_choice` uses. The namespace is not sent."""
    kind, space = tool["type"], _space_of(tool)
    choice = {"type": kind, kind: {"name": function_name(tool)}}
    return {**choice, "namespace": {"name": space}} if space else choice


def named_by(choice: str | Mapping[str, Any]) -> Sequence[RawTool]:
    """The tools that a `tool_choice` names."""
    if isinstance(choice, str):
        return ()
    tools: Sequence[RawTool] = (
        choice["allowed_tools"]["tools"] if "allowed_tools" in choice else [choice]
    )
    return tools


def choice_text(choice: str | Mapping[str, Any]) -> str:
    """A `tool_choice` in words: `required`, `tool pay`, or `auto of pay, refund`."""
    if isinstance(choice, str):
        return choice
    names = ", ".join(full_name(function_name(tool), _space_of(tool)) for tool in named_by(choice))
    return (
        f"{choice['allowed_tools']['mode']} of {names}" if "allowed_tools" in choice else f"tool {names}"
    )


def with_prefix(request: ChatRequest) -> ChatRequest:
    """The request with the prefix before the name of each tool, even in earlier calls."""
    prefix = request.reading.prefix

    def renamed(tool: RawTool) -> RawTool:
        kind, name = tool_kind(tool), function_name(tool)
        if kind is None or not name or name.startswith(prefix):
            return tool
        return {**tool, kind: {**tool[kind], "name": prefix + name}}

    def sent(message: Mapping[str, Any]) -> Mapping[str, Any]:
        calls = objects_in(message.get("tool_calls"))
        return {**message, "tool_calls": [*map(renamed, calls)]} if calls else message

    choice = request.tool_choice
    if isinstance(choice, Mapping) and "allowed_tools" in choice:
        allowed = choice["allowed_tools"]
        tools = [*map(renamed, allowed["tools"])]
        choice = {**choice, "allowed_tools": {**allowed, "tools": tools}}
    elif isinstance(choice, Mapping):
        choice = renamed(choice)
    return structs.replace(
        request,
        messages=tuple(map(sent, request.messages)),
        tools=[*map(renamed, request.tools)],
        tool_choice=choice,
    )


def functions_of(tools: Iterable[RawTool]) -> list[RawTool]:
    """The suite's tools as functions, without provider tools."""
    return [as_function(tool)["function"] for tool in tools if "function" in tool or "custom" in tool]


def as_function(tool: RawTool) -> RawTool:
    """A custom tool as a function with its text as the argument `input`."""
    custom = tool.get("custom")
    if custom is None:
        return tool
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    kept = {name: value for name, value in custom.items() if name != "format"}
    others = {name: value for name, value in tool.items() if name not in ("type", "custom")}
    return {"type": "function", "function": {**kept, "parameters": schema}, **others}
