"""Warnings about tool schemas that conflict with providers, worlds or expected params."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ...errors import CannotCompare, WorldError
from ...explain import describe, listing, nearest, show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.older import TODAY, older_keywords
from ...jsonschemas.parameters import described_names, parameters_of, takes_null
from ...jsonschemas.providers import troubles
from ...jsonschemas.subschemas import parts, references
from ...jsonschemas.validation import parameter_problem
from ...jsonschemas.well_formed import is_keyword, unknown_keywords
from ...matchers.contents import outside_texts
from ...matchers.examples import inside, right_values
from ...matchers.matcher import MATCHERS, is_optional, matcher_key
from ...matchers.modes import DEFAULT_MODE, MODES
from ...record.untrusted import as_list
from ...text import first_few, fold
from ...worlds.tools import tools_of
from ...worlds.world import WorldSpec, method_for
from ..expectations import ANY_PARAMETER, ANY_TOOL, Expectations, ExpectedCall
from ..mocks import WHEN
from ..model import Suite, world_of
from ..tools import Tool
from .scope import Scope, ScopeTools

_CSV = "; every value in a CSV file is a text, JSON Lines keep types"
_Expected = Iterator[tuple[Collection[str], dict[str, Any], Loc]]


def tool_warnings(tools: Sequence[Tool], at: Loc, seen: set[str]) -> Findings:
    """Warnings about tools, skipping names already in `seen`, so that repeats are reported once.

    Without what only Vertex AI does, for which see `vertex_warnings`.
    """
    by_case: dict[str, str] = {}
    noted: set[str] = set()
    for index, tool in enumerate(tools):
        inside = (*at, "tools", index, tool.type)
        other = by_case.setdefault(fold(tool.name), tool.name)
        if other != tool.name:
            message = f"{show(tool.name)} and {show(other)} differ only in case; models mix them up"
            yield Finding((*inside, "name"), message)
        if tool.name in seen:
            continue
        seen.add(tool.name)
        parameters, path = tool.parameters, (*inside, "parameters")
        yield from _keyword_warnings(parameters, path, noted)
        yield from _stray_warnings(parameters, path)
        for where, target in references(parameters):
            if not target.startswith("#"):
                message = f"{show(target)} is another document and never fetched; copy it into $defs"
                yield Finding((*path, *where), message)
        takes = parameters_of(parameters)
        for name in parameters.get("required", ()):
            if takes is not None and name not in takes:
                closed = parameters.get("additionalProperties") is False
                effect = "no call can be valid" if closed else "models do not see what it is"
                message = f"{show(name)} is required but is not a parameter: {effect}"
                yield Finding((*path, "required"), message)
        for trouble in troubles(tool.definition_wire):
            if (others := trouble.without("Vertex AI")) is not None:
                message = f"tool {show(tool.name)}: {others}"
                yield Finding((*inside, *trouble.at), message, at_key=trouble.at != ("name",))


def vertex_warnings(suite: Suite) -> Findings:
    """One warning about all that Vertex AI refuses in a suite's tools, one about all that it hides."""
    lists: list[tuple[Loc, Sequence[Tool]]] = [((), suite.tools)]
    lists += [(("test_cases", index), case.tools or ()) for index, case in enumerate(suite.test_cases)]
    by_verb: dict[str, list[tuple[Loc, str, str]]] = {}
    for at, tools in lists:
        for index, tool in enumerate(tools):
            for trouble in troubles(tool.definition_wire):
                verb = "refuses" if "Vertex AI" in trouble.refused else "models do not see"
                if "Vertex AI" in (*trouble.refused, *trouble.hidden):
                    path = (*at, "tools", index, tool.type, *trouble.at)
                    by_verb.setdefault(verb, []).append((path, trouble.what, tool.name))
    for verb, rows in by_verb.items():
        places, whats, names = zip(*rows, strict=True)
        what, where = first_few([*dict.fromkeys(whats)]), first_few([*dict.fromkeys(names)])
        yield Finding(places[0], f"Vertex AI {verb} {what}, in the tools {where}", at_key=True)


def _keyword_warnings(parameters: dict[str, Any], path: Loc, noted: set[str]) -> Findings:
    """Warnings about misspelt keywords, and about those of older drafts, unless already `noted`."""
    for at, schema in parts(parameters):
        if not isinstance(schema, dict):
            continue
        for key, near in unknown_keywords(schema):
            message = f"{show(key)} means nothing in a JSON Schema, did you mean {show(near)}?"
            yield Finding((*path, *at, key), message, at_key=True)
        for key in older_keywords(schema):
            if key not in noted:
                noted.add(key)
                message = f"{show(key)} is obeyed as in older drafts; today it is {TODAY[key]}"
                yield Finding((*path, *at, key), message, at_key=True)


def _stray_warnings(parameters: Mapping[str, Any], path: Loc) -> Findings:
    """Parameters beside the schema's keywords instead of in `properties`, so that it declares none."""
    objects = (key for key, value in parameters.items() if isinstance(value, dict))
    strays = [key for key in objects if not is_keyword(key)]
    if strays and "properties" not in parameters:
        message = f'{show(strays[0])} is no keyword of a JSON Schema: parameters belong in "properties"'
        yield Finding((*path, strays[0]), message, at_key=True)


def world_warnings(suite: Suite) -> Findings:
    """Tools in the suite that do not match the methods of the world."""
    if suite.world is None or suite.tools_from is not None:
        return
    spec = WorldSpec(suite.world, suite._folder, suite.world_args or {})
    try:
        methods = {tool["function"]["name"]: tool["function"] for tool in tools_of(spec)}
    except WorldError as error:
        yield Finding(("world",), str(error))
        return
    if not methods:  # the world answers all calls itself
        return
    for index, tool in enumerate(suite.tools):
        at = ("tools", index, tool.type)
        method = methods.get(method_for(tool.name, methods) or "")
        if method is None:
            yield Finding((*at, "name"), f"the world has no method {show(tool.name)}")
            continue
        schema = method["parameters"]
        named, takes = set(described_names(tool.parameters)), set(schema.get("properties", ()))
        needs = set(schema.get("required", ()))
        surplus = named - takes if schema.get("additionalProperties") is False else set()
        wrong = [*map(show, sorted(surplus)), *(f"no {show(name)}" for name in sorted(needs - named))]
        if wrong:
            message = f"the tool has {', '.join(wrong)}, unlike the method in the world"
            yield Finding((*at, "parameters"), message)


def case_world_warnings(scope: Scope) -> Findings:
    """Expected calls that the case's own world has no method for."""
    case = scope.case
    spec = world_of(scope.suite, case) if isinstance(case.world, str) else None
    if spec is None:
        return
    try:
        methods = [tool["function"]["name"] for tool in tools_of(spec)]
    except WorldError as error:
        yield Finding((*scope.at, "world"), str(error))
        return
    for each in scope.all if methods else ():
        for path, call in each.part.placed_calls:
            names = [name for name in call.tools if name != ANY_TOOL]
            if names and all(method_for(name, methods) is None for name in names):
                yield Finding((*each.at, *path), f"the case's world has no method {show(names[0])}")


def params_warnings(scope: Scope) -> Findings:
    """Warnings about params of expected calls, forbidden calls and mocks of a case and its turns."""
    for each in scope.all:
        yield from _empty_params(each)
        for names, params, at in _expected(each.part, each.at):
            is_row = scope.case._base is not None
            yield from impossible_params(names, params, at, scope.tools, from_rows=is_row)
            yield from _unlike_tools(names, params, at, scope.tools)
        for names, params, at in _mocked(each):
            yield from impossible_params(names, params, at, scope.tools)
    yield from forbidden_params_warnings(scope.case.forbidden_calls, scope.at, scope.tools)


def forbidden_params_warnings(
    calls: Sequence[str | ExpectedCall] | None, at: Loc, tools: ScopeTools
) -> Findings:
    """Warnings about forbidden calls that forbid nothing, since no tool accepts their params."""
    for index, call in enumerate(calls or ()):
        if isinstance(call, ExpectedCall) and call.params:
            path = (*at, "forbidden_calls", index, "params")
            yield from impossible_params(call.tools, call.params, path, tools)
            if ANY_PARAMETER in call.params:  # any parameter includes texts
                yield from _outside_texts(call.params[ANY_PARAMETER], (*path, ANY_PARAMETER))


def unknown_params(
    names: Collection[str], params: Mapping[str, Any] | None, at: Loc, tools: ScopeTools
) -> Findings:
    """Params that no tool takes: errors where a call must not be made, as they would forbid nothing."""
    named = tools.find(names) if params else ()
    taking = _taking(named)
    for name in params or () if named else ():
        if name != ANY_PARAMETER and next(taking(name), None) is None:
            yield Finding((*at, name), _untaken(name, named), at_key=True)


def _expected(written: Expectations, at: Loc) -> _Expected:
    """Yield acceptable tools, their expected params, and the path of the params."""
    if written.expected_params is not None:
        yield written.expected_tools, written.expected_params, (*at, "expected_params")
    for path, call in written.placed_calls:
        if call.params is not None:
            yield call.tools, call.params, (*at, *path, "params")


def _empty_params(scope: Scope) -> Findings:
    """Warnings about empty params, which check no argument; `bfcl` and a state do.

    A skipped case may have them, as a draft does whose tool requires no parameter.
    """
    if scope.case.skip:
        return
    mode = scope.case.param_scoring or scope.suite.param_scoring or DEFAULT_MODE
    if MODES[mode].counts_unexpected or (scope.part.match or scope.case.match) == "state":
        return
    for names, params, at in _expected(scope.part, scope.at):
        takers = [tool for tool in scope.tools.find(names) if described_names(tool.parameters)]
        if not params and takers:
            listed = listing(described_names(takers[0].parameters), 3)
            message = f"{{}} checks no argument, but {show(takers[0].name)} has {listed}"
            yield Finding(
                at, f'{message}; name what is expected (or {{"$absent": true}}), or remove this'
            )


def _mocked(scope: Scope) -> _Expected:
    if scope.turn is not None:
        return
    for name, mock in scope.case.mock_responses.items():
        if isinstance(mock, dict) and WHEN in mock:
            at = (*scope.at, "mock_responses", name, WHEN)
            for index, entry in enumerate(mock[WHEN]):
                yield (name,), entry.get("params", {}), (*at, index, "params")


def _is_typed(value: Any) -> bool:
    """True for a text that JSON would read as a number, a boolean or null."""
    try:
        return isinstance(value, str) and not isinstance(json.loads(value), (str, list, dict))
    except ValueError:
        return False


def impossible_params(
    names: Collection[str],
    params: dict[str, Any],
    at: Loc,
    tools: ScopeTools,
    *,
    from_rows: bool = False,
) -> Findings:
    """Params whose expected value none of the acceptable tools accepts. Rows may be of a CSV file."""
    acceptable = tools.find(names)
    taking = _taking(acceptable)
    for name, expected in params.items() if acceptable else ():
        if name == ANY_PARAMETER:
            continue
        first = next(taking(name), None)
        if first is None:
            yield Finding((*at, name), _untaken(name, acceptable), at_key=True)
            continue
        values = right_values(expected)
        reasons = (_reason(tool, name, value) for value in values for tool in taking(name))
        if values and all(reasons):
            what = describe(values[0]) + (" (like all the other values)" if len(values) > 1 else "")
            reason = _reason(first, name, values[0])
            message = f"{what} does not match the schema of {show(first.name)}: {reason}"
            yield Finding((*at, name), message + (_CSV if from_rows and _is_typed(values[0]) else ""))
        elif key := _never(expected, [inside(tool.parameters, name) for tool in taking(name)]):
            types = " or ".join(types_of_schema(inside(first.parameters, name)))
            message = f"{key} never matches: {show(first.name)} declares {show(name)} as {types}"
            yield Finding((*at, name), message)
        elif outside_texts(expected) and all(_is_text(tool, name) for tool in taking(name)):
            yield from _outside_texts(expected, (*at, name))


def _unlike_tools(
    names: Collection[str], params: dict[str, Any], at: Loc, tools: ScopeTools
) -> Findings:
    """Params that not every expected tool takes, and those that may be absent, but are required."""
    expected = [] if ANY_TOOL in names else tools.find(names)
    takes = [parameters_of(tool.parameters) for tool in expected]
    for name, value in params.items() if expected else ():
        pairs = zip(expected, takes, strict=True)
        lacking = [tool for tool, accepted in pairs if accepted is not None and name not in accepted]
        if (key := matcher_key(value)) in ("$optional", "$absent"):
            if all(_must_have(tool.parameters, name) for tool in expected):
                message = f"{show(expected[0].name)} requires it, so a call without it is not valid"
                yield Finding((*at, name), f"{message}; leave out {key}", at_key=True)
        elif lacking and len(lacking) < len(expected) and not is_optional(value):
            message = f"{show(lacking[0].name)} has no such parameter, so a call to it is wrong"
            yield Finding((*at, name), f"{message}; use $any_of in expected_calls", at_key=True)


def _must_have(schema: Mapping[str, Any], name: str) -> bool:
    """True if a call must have this parameter, and cannot leave it out by a null."""
    return name in as_list(schema.get("required")) and not takes_null(schema, name)


def _never(expected: Any, schemas: Sequence[Any]) -> str:
    """The matcher that no value of these schemas' types can meet; empty if one may."""
    key = matcher_key(expected)
    if key == "$optional":
        return _never(expected[key], schemas)
    wanted = MATCHERS[key].types if key in MATCHERS else ()
    declared = list(map(types_of_schema, schemas))
    is_met = not wanted or any(not types or {*types} & {*wanted} for types in declared)
    return "" if is_met or key is None else key


def types_of_schema(schema: Any) -> list[str]:
    """The types that a schema names by itself; empty if it names none."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return [kind] if isinstance(kind, str) else [*as_list(kind)]


def _is_text(tool: Tool, name: str) -> bool:
    schema = inside(tool.parameters, name)
    return isinstance(schema, dict) and schema.get("type") == "string"


def _outside_texts(expected: Any, at: Loc) -> Findings:
    for part in outside_texts(expected)[:1]:
        message = f"inside a text, $contains finds only strings and patterns, not {show(part)}"
        yield Finding(at, f"{message}; write a string or $regex")


def _reason(tool: Tool, name: str, value: Any) -> str | None:
    """Why a value breaks a parameter's schema; None if it does not, or if that is unknown."""
    try:
        return parameter_problem(tool.parameters, name, value)
    except CannotCompare:
        return None


def _taking(tools: Sequence[Tool]) -> Callable[[str], Iterator[Tool]]:
    """A function that returns those of the tools that take a parameter."""
    # Once for each tool, and only if it is looked at: "*" may mean thousands.
    names_of = cache(lambda index: parameters_of(tools[index].parameters))

    def taking(name: str) -> Iterator[Tool]:
        takes = ((tool, names_of(index)) for index, tool in enumerate(tools))
        return (tool for tool, names in takes if names is None or name in names)

    return taking


def _untaken(name: str, tools: Sequence[Tool]) -> str:
    names = dict.fromkeys(each for tool in tools for each in described_names(tool.parameters))
    owner = show(tools[0].name) if len(tools) == 1 else "any of the expected tools"
    near = nearest(name, names)
    if near:
        return f"not a parameter of {owner}, did you mean {show(near)}?"
    rest = f"; its parameters are {listing(names)}" if names else ", which has no parameters"
    return f"not a parameter of {owner}{rest}"
