"""Warnings about a valid suite: parts that load but are probably mistakes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from typing import TYPE_CHECKING
from typing import Any

from ..errors import CannotCompare
from ..errors import Problem
from ..errors import WorldError
from ..explain import describe
from ..explain import field_path
from ..explain import listing
from ..explain import nearest
from ..explain import show
from ..findings import Finding
from ..findings import Findings
from ..findings import Loc
from ..jsonschemas.parameters import allows_others
from ..jsonschemas.parameters import described
from ..jsonschemas.providers import troubles
from ..jsonschemas.subschemas import references
from ..jsonschemas.validation import parameter_problem
from ..matchers.modes import DEFAULT_MODE
from ..matchers.modes import MODES
from ..matchers.named import listed
from ..record.metrics import BUILT_IN
from ..record.metrics import CONVERSATION
from ..record.names import same_tool
from ..text import folded
from ..worlds.tools import tools_of
from ..worlds.world import WorldSpec
from ..worlds.world import method_for
from .mocks import WHEN
from .model import ANY_TOOL
from .model import ExpectedCall
from .model import Forbidden
from .source import Document

if TYPE_CHECKING:
    from .model import Expectations
    from .model import Suite
    from .model import TestCase
    from .model import Tool

# Marks with a meaning in widely used plugins.
_PLUGIN_MARKS = frozenset(
    "anyio asyncio benchmark django_db flaky order trylast tryfirst xdist_group".split()
)


def lint_suite(suite: Suite, document: Document | None = None) -> list[Problem]:
    """Warnings, in the order of the file.

    With the `document` from `load_document`, each warning has its exact place. Without it, the path is
    empty, the line is that of the case (1 for fields of the suite), and the column is 1.
    """
    findings = list(_findings(suite))
    if document is not None:
        return document.problems(findings, limit=None)
    lines: dict[Loc, int] = {
        ("test_cases", index): case.line or 1 for index, case in enumerate(suite.test_cases)
    }
    placed = [
        Problem("", lines.get(found.loc[:2], 1), 1, field_path(found.loc), found.message)
        for found in findings
    ]
    return sorted(placed, key=lambda problem: problem.line)


def _findings(suite: Suite) -> Findings:
    if not suite.test_cases:
        yield Finding(("test_cases",), "no cases: this suite tests nothing")
    for place, variable in suite._key_places:
        yield Finding(
            place,
            f"this is the value of the variable {variable}, which no run may show; where {variable} is "
            "not set, such as in a replay, nothing equals it: use a made-up key",
        )
    seen: set[str] = set()
    yield from _tools(suite.tools, ("tools",), seen)
    yield from _suite_thresholds(suite)
    yield from _world(suite)
    for names, params, at in _forbidden(suite.forbidden_calls, ()):
        yield from _params(names, params, at, suite.tools)
    for index, case in enumerate(suite.test_cases):
        loc: Loc = ("test_cases", index)
        if case.tools is not None:
            yield from _tools(case.tools, (*loc, "tools"), seen)
        tools = suite.tools if case.tools is None else case.tools
        yield from _impossible(suite, case, loc, tools)
        for metric in case.thresholds or ():
            if not _produces(suite, case, metric):
                message = f"{_why(metric)}, so this threshold never applies"
                yield Finding((*loc, "thresholds", metric), message, at_key=True)
        named = {**(suite.thresholds or {}), **(case.thresholds or {})}
        if (
            "no_extra_calls" in (case.thresholds or ())
            and named["no_extra_calls"] is None
            and not case.expected_tools
            and named.get("overall", 1.0) == 1.0
        ):
            message = "overall also counts extra calls here, so this has no effect; lower overall"
            yield Finding((*loc, "thresholds", "no_extra_calls"), message, at_key=True)
        if "efficiency" in (case.thresholds or ()) and not (
            named.get("overall", 1.0) or named.get("completion")
        ):
            message = "a chain that stops early can still be efficient; add a threshold for completion"
            yield Finding((*loc, "thresholds", "efficiency"), message, at_key=True)
        for position, tag in enumerate(case.tags):
            if tag in _PLUGIN_MARKS:
                message = f"the tag {show(tag)} is also the mark of a widely used plugin"
                yield Finding((*loc, "tags", position), message)
        if case.multi_turn:
            yield from _chain(suite, case, loc, tools)
        for number, turn in enumerate(case.turns or ()):
            for names, params, at in _expected_calls(turn, (*loc, "turns", number)):
                yield from _params(names, params, at, tools)
        for names, params, at in (*_expected(case, loc), *_forbidden(case.forbidden_calls, loc)):
            yield from _params(names, params, at, tools)


def _forbidden(
    calls: Forbidden | None, loc: Loc
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Loc]]:
    """Forbidden tools, the params that make a call to them forbidden, and the path of these."""
    for index, call in enumerate(() if isinstance(calls, str) else calls or ()):
        if isinstance(call, ExpectedCall) and call.params:
            yield call.tools, call.params, (*loc, "forbidden_calls", index, "params")


def _expected(case: TestCase, loc: Loc) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Loc]]:
    """Acceptable tools, the params expected of them, and the path of these."""
    yield from _expected_calls(case, loc)
    for name, mock in case.mock_responses.items():
        if isinstance(mock, dict) and WHEN in mock:
            at = (*loc, "mock_responses", name, WHEN)
            for index, entry in enumerate(mock[WHEN]):
                yield (name,), entry.get("params", {}), (*at, index, "params")


def _expected_calls(of: Expectations, loc: Loc) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Loc]]:
    if of.expected_params:
        yield of.expected_tools, of.expected_params, (*loc, "expected_params")
    for index, call in enumerate(of.expected_calls or ()):
        if call.params:
            yield call.tools, call.params, (*loc, "expected_calls", index, "params")


def _tools(tools: list[Tool], loc: Loc, seen: set[str]) -> Findings:
    """Warnings about tools; a tool repeated in many cases is reported once."""
    by_case: dict[str, str] = {}
    for index, tool in enumerate(tools):
        at = (*loc, index, "function", "name")
        other = by_case.setdefault(folded(tool.name), tool.name)
        if other != tool.name:
            message = f"{show(tool.name)} and {show(other)} differ only in case; models mix them up"
            yield Finding(at, message)
        if tool.name in seen:
            continue
        seen.add(tool.name)
        parameters, place = _parameters(tool), (*loc, index, "function", "parameters")
        for inside, target in references(parameters):
            if not target.startswith("#"):
                message = f"{show(target)} is another document and never fetched; copy it into $defs"
                yield Finding((*place, *inside), message)
        for name in parameters.get("required", ()):
            if not _takes(tool, name):
                closed = parameters.get("additionalProperties") is False
                effect = "no call can be valid" if closed else "models do not see what it is"
                message = f"{show(name)} is required but is not a parameter: {effect}"
                yield Finding((*place, "required"), message)
        for trouble in troubles(tool.wire["function"]):
            message = f"tool {show(tool.name)}: {trouble}"
            yield Finding((*place[:-1], *trouble.at), message, at_key=trouble.at != ("name",))


def _world(suite: Suite) -> Findings:
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
        given, takes = set(described(_parameters(tool))), set(schema.get("properties", ()))
        needs = set(schema.get("required", ()))
        surplus = given - takes if schema.get("additionalProperties") is False else set()
        wrong = [*map(show, sorted(surplus)), *(f"no {show(name)}" for name in sorted(needs - given))]
        if wrong:
            message = f"the tool has {', '.join(wrong)}, unlike the method in the world"
            yield Finding((*at, "parameters"), message)


def _parameters(tool: Tool) -> dict[str, Any]:
    return tool.function.parameters or {}


def _impossible(suite: Suite, case: TestCase, loc: Loc, tools: list[Tool]) -> Findings:
    """Cases that no model can pass."""
    choice = case.tool_choice or suite.tool_choice
    if case.expects_nothing and choice == "required":
        at = (*loc, "tool_choice") if case.tool_choice else loc
        yield Finding(at, 'tool_choice "required" forces a call, but none is expected; use "auto"')
    # The server's tools may not be known yet.
    awaits_tools = case.tools is None and suite.tools_from is not None
    if not case.expects_nothing and not tools and not awaits_tools:
        yield Finding(loc, "a call is expected, but there are no tools to call")
    most = {**(suite.thresholds or {}), **(case.thresholds or {})}.get("max_calls")
    fewest = case.optimal_hops or len(case.expected_calls or case.expected_tools[:1])
    if most is not None and most < fewest:
        at = (*loc, "thresholds", "max_calls") if "max_calls" in (case.thresholds or ()) else loc
        yield Finding(at, f"max_calls allows fewer calls than are expected ({fewest})")
    if ANY_TOOL in case.expected_tools and case.forbidden_calls == ANY_TOOL:
        message = "any tool is expected, so this forbids nothing"
        yield Finding((*loc, "forbidden_calls"), message, at_key=True)
    if case.multi_turn and case.optimal_hops and case.max_rounds and case.optimal_hops > case.max_rounds:
        message = f"fewer replies than calls in the shortest chain (optimal_hops {case.optimal_hops})"
        yield Finding((*loc, "max_rounds"), message)


_WHY = {
    "completion": "completion is measured only in multi-turn cases",
    "efficiency": "efficiency is measured only in multi-turn cases",
    "parameter_accuracy": "no expected params are given",
    "no_extra_calls": "any number of calls is accepted here",
}


def _why(metric: str) -> str:
    return _WHY.get(metric, f"{metric} is measured only in conversations")


def _produces(suite: Suite, case: TestCase, metric: str) -> bool:
    """Whether a case can have a score in a metric; in metrics of other scorers, it always can."""
    if metric in BUILT_IN and (case.is_conversation or metric in CONVERSATION):
        return case.is_conversation and metric in ("overall", "arguments_valid", *CONVERSATION)
    if metric == "no_extra_calls":
        mode = case.param_scoring or suite.param_scoring or DEFAULT_MODE
        return not (MODES[mode].only_overall or ANY_TOOL in case.expected_tools)
    if metric in ("completion", "efficiency"):
        return case.multi_turn
    if metric == "parameter_accuracy":
        calls = case.expected_calls or ()
        return case.expected_params is not None or any(call.params is not None for call in calls)
    return True


def _suite_thresholds(suite: Suite) -> Findings:
    for metric in suite.thresholds or ():
        if suite.test_cases and not any(_produces(suite, case, metric) for case in suite.test_cases):
            message = f"{_why(metric)}, so this threshold applies to none of the cases"
            yield Finding(("thresholds", metric), message, at_key=True)


def _chain(suite: Suite, case: TestCase, loc: Loc, tools: list[Tool]) -> Findings:
    live = suite.live_tools if case.live_tools is None else case.live_tools
    if ANY_TOOL in (live or ()):
        return  # only the server knows its read-only tools
    answered = [*case.mock_responses, *(live or ())]
    for index, name in enumerate(case.valid_prerequisites):
        if not _has(answered, name, tools):
            message = f"{show(name)} has no mock response, so a call to it gets an error"
            yield Finding((*loc, "valid_prerequisites", index), message)
    if case.valid_prerequisites or ANY_TOOL in case.expected_tools:
        return  # whatever else the model calls is a detour, or ends the chain
    forbidden = suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls
    if forbidden == ANY_TOOL:
        return
    ends = [*case.expected_tools, *(each for each in forbidden or () if isinstance(each, str))]
    others = [tool.name for tool in tools if not _has([*answered, *ends], tool.name, tools)]
    if others:
        message = (
            f"no mock response for {listing(others)}, so a call gets an error; if you want that, add "
            'a mock such as {"error": "not found"}'
        )
        yield Finding((*loc, "mock_responses"), message, at_key=True)


def _has(names: Collection[str], name: str, tools: list[Tool]) -> bool:
    return name in names or any(same_tool(each, name, (tool.name for tool in tools)) for each in names)


def _params(names: Collection[str], params: dict[str, Any], at: Loc, tools: list[Tool]) -> Findings:
    """Params that none of the acceptable tools accepts with the expected value."""
    acceptable = [tool for tool in tools if ANY_TOOL in names or _has(names, tool.name, tools)]
    known = {parameter: None for tool in acceptable for parameter in described(_parameters(tool))}
    for name, expected in params.items() if acceptable else ():
        taking = [tool for tool in acceptable if _takes(tool, name)]
        if not taking:
            yield Finding((*at, name), _untaken(name, acceptable, known), at_key=True)
            continue
        values = listed(expected)
        reasons = [_reason(tool, name, value) for value in values for tool in taking]
        if reasons and all(reasons):
            what = describe(values[0]) + (" (like all the other values)" if len(values) > 1 else "")
            message = f"{what} does not match the schema of {show(taking[0].name)}: {reasons[0]}"
            yield Finding((*at, name), message)


def _reason(tool: Tool, name: str, value: Any) -> str | None:
    """Why a value breaks the schema of a parameter; None if it does not, or if that is unknown."""
    try:
        return parameter_problem(_parameters(tool), name, value)
    except CannotCompare:
        return None


def _takes(tool: Tool, name: str) -> bool:
    return name in described(_parameters(tool)) or allows_others(_parameters(tool))


def _untaken(name: str, tools: list[Tool], known: Collection[str]) -> str:
    owner = show(tools[0].name) if len(tools) == 1 else "any of the expected tools"
    near = nearest(name, known)
    if near:
        return f"not a parameter of {owner}, did you mean {show(near)}?"
    rest = f"; its parameters are {listing(known)}" if known else ", which has no parameters"
    return f"not a parameter of {owner}{rest}"
