"""Errors in tool definitions, and in the tools that a case names."""

from __future__ import annotations

from ...explain import show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.well_formed import schema_findings
from ...record.names import same_tool
from ..case import TestCase
from ..expectations import ANY_TOOL
from ..mocks import mock_findings
from ..model import Suite
from .scope import Scope, ScopeTools


def tool_errors(holder: Suite | TestCase, suite: Suite, at: Loc, offered: ScopeTools) -> Findings:
    """Tools defined twice or with a broken schema, and `live_tools` that cannot be called."""
    first: dict[str, int] = {}
    for index, tool in enumerate(holder.tools or ()):
        inside = (*at, "tools", index, tool.type)
        other = first.setdefault(tool.name, index)
        if other != index and tool.name:
            message = f"the tool {show(tool.name)} is already defined as tools[{other}]; keep one"
            yield Finding((*inside, "name"), message)
        if tool.definition.parameters is not None:
            yield from schema_findings(tool.definition.parameters, (*inside, "parameters"))
    if not holder.live_tools:
        return
    for index, name in enumerate(holder.live_tools):
        if offered.lacks(name):
            yield Finding((*at, "live_tools", index), offered.complaint(name))
    if suite.tools_from is None:
        message = "needs a server; add tools_from to the suite"
        yield Finding((*at, "live_tools"), message, at_key=True)
    elif isinstance(holder, TestCase) and holder.kind == "calls":
        message = 'only for multi-turn cases; add "multi_turn": true, or remove this'
        yield Finding((*at, "live_tools"), message, at_key=True)


def named_tool_errors(scope: Scope) -> Findings:
    """Errors in the tools named outside expectations: prerequisites, approvals and mocks."""
    case, at, tools = scope.case, scope.at, scope.tools
    for index, name in enumerate(case.valid_prerequisites):
        if tools.lacks(name):
            yield Finding((*at, "valid_prerequisites", index), tools.complaint(name))
        elif name == ANY_TOOL:
            message = '"*" cannot be used here; name the tools that may be called along the way'
            yield Finding((*at, "valid_prerequisites", index), message)
    for name in case.approvals:
        if name == ANY_TOOL or tools.lacks(name):
            yield Finding((*at, "approvals", name), tools.complaint(name), at_key=True)
    mocked: list[str] = []
    for name, answer in case.mock_responses.items():
        path = (*at, "mock_responses", name)
        other = next((each for each in mocked if same_tool(each, name, tools.names)), None)
        mocked.append(name)
        if other is not None:
            yield Finding(path, f"the same tool as {show(other)}; names ignore case", at_key=True)
        elif name == ANY_TOOL or (name and tools.lacks(name)):
            yield Finding(path, tools.complaint(name), at_key=True)
        yield from mock_findings(answer, path)
