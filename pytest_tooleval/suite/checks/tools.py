"""Tools: how they are defined, where cases name them, and how they fit a world and providers."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import WorldError
from ...explain import show
from ...findings import Finding
from ...findings import Findings
from ...findings import Loc
from ...jsonschemas.providers import troubles
from ...jsonschemas.well_formed import references
from ...jsonschemas.well_formed import schema_findings
from ...record.names import same_tool
from ...text import folded
from ...worlds.tools import tools_of
from ...worlds.world import WorldSpec
from ...worlds.world import method_for
from ..mocks import mock_findings
from ..model import ANY_TOOL
from ..model import Suite
from ..model import TestCase
from ..model import Tool
from .params import properties_of
from .params import takes
from .scope import KnownTools
from .scope import Scope


def definition_errors(holder: Suite | TestCase, at: Loc) -> Findings:
    """Tools that are defined twice, and parameters that are not a JSON Schema."""
    first: dict[str, int] = {}
    for index, tool in enumerate(holder.tools or ()):
        inside = (*at, "tools", index, "function")
        other = first.setdefault(tool.name, index)
        if other != index and tool.name:
            message = f"the tool {show(tool.name)} is already defined as tools[{other}]; keep one"
            yield Finding((*inside, "name"), message)
        if tool.function.parameters is not None:
            yield from schema_findings(tool.function.parameters, (*inside, "parameters"))


def live_tool_errors(holder: Suite | TestCase, suite: Suite, at: Loc, tools: KnownTools) -> Findings:
    at = (*at, "live_tools")
    if not holder.live_tools:
        return
    for index, name in enumerate(holder.live_tools):
        if tools.lacks(name):
            yield Finding((*at, index), tools.complaint(name))
    if suite.tools_from is None:
        yield Finding(at, "needs a server; add tools_from to the suite", at_key=True)
    elif isinstance(holder, TestCase) and holder.kind == "calls":
        message = 'only for multi-turn cases; add "multi_turn": true, or remove this'
        yield Finding(at, message, at_key=True)


def prerequisite_errors(scope: Scope) -> Findings:
    for index, name in enumerate(scope.case.valid_prerequisites):
        at = (*scope.at, "valid_prerequisites", index)
        if scope.tools.lacks(name):
            yield Finding(at, scope.tools.complaint(name))
        elif name == ANY_TOOL:
            message = '"*" cannot be used here; name the tools that may be called along the way'
            yield Finding(at, message)


def approval_errors(scope: Scope) -> Findings:
    for name in scope.case.approvals:
        if name == ANY_TOOL or scope.tools.lacks(name):
            at = (*scope.at, "approvals", name)
            yield Finding(at, scope.tools.complaint(name), at_key=True)


def mock_errors(scope: Scope) -> Findings:
    tools, mocked = scope.tools, list[str]()
    for name, answer in scope.case.mock_responses.items():
        at = (*scope.at, "mock_responses", name)
        other = next((each for each in mocked if same_tool(each, name, tools.names)), None)
        mocked.append(name)
        if other is not None:
            yield Finding(at, f"the same tool as {show(other)}; names ignore case", at_key=True)
        elif name == ANY_TOOL or (name and tools.lacks(name)):
            yield Finding(at, tools.complaint(name), at_key=True)
        yield from mock_findings(answer, at)


def tool_warnings(tools: Sequence[Tool], at: Loc, seen: set[str]) -> Findings:
    """A tool repeated in many cases is reported once."""
    by_case: dict[str, str] = {}
    for index, tool in enumerate(tools):
        inside = (*at, "tools", index, "function")
        other = by_case.setdefault(folded(tool.name), tool.name)
        if other != tool.name:
            message = f"{show(tool.name)} and {show(other)} differ only in case; models mix them up"
            yield Finding((*inside, "name"), message)
        if tool.name in seen:
            continue
        seen.add(tool.name)
        parameters, place = tool.function.parameters or {}, (*inside, "parameters")
        for where, target in references(parameters):
            if not target.startswith("#"):
                message = f"{show(target)} is another document and never fetched; copy it into $defs"
                yield Finding((*place, *where), message)
        for name in parameters.get("required", ()):
            if not takes(tool, name):
                closed = parameters.get("additionalProperties") is False
                effect = "no call can be valid" if closed else "models do not see what it is"
                message = f"{show(name)} is required but is not a parameter: {effect}"
                yield Finding((*place, "required"), message)
        for trouble in troubles(tool.wire["function"]):
            message = f"tool {show(tool.name)}: {trouble}"
            yield Finding((*inside, *trouble.at), message, at_key=trouble.at != ("name",))


def world_warnings(suite: Suite) -> Findings:
    """Tools in the suite that do not match the methods of the world."""
    if suite.world is None or suite.tools_from is not None:
        return
    spec = WorldSpec(suite.world, suite._folder, suite.world_args or {})
    try:
        made = {tool["function"]["name"]: tool["function"] for tool in tools_of(spec)}
    except WorldError as error:
        yield Finding(("world",), str(error))
        return
    if not made:  # the world answers all calls itself
        return
    for index, tool in enumerate(suite.tools):
        at = ("tools", index, "function")
        method = made.get(method_for(tool.name, made) or "")
        if method is None:
            yield Finding((*at, "name"), f"the world has no method {show(tool.name)}")
            continue
        schema = method["parameters"]
        given, takes = set(properties_of(tool)), set(schema.get("properties", ()))
        needs = set(schema.get("required", ()))
        surplus = given - takes if schema.get("additionalProperties") is False else set()
        wrong = [*map(show, sorted(surplus)), *(f"no {show(name)}" for name in sorted(needs - given))]
        if wrong:
            message = f"the tool has {', '.join(wrong)}, unlike the method in the world"
            yield Finding((*at, "parameters"), message)
