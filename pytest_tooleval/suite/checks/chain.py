"""Checks of chains: one message, and several replies until the expected call."""

from __future__ import annotations

from ...explain import listing, show
from ...findings import Finding, Findings
from ...record.names import same_tool
from ..expectations import ANY_TOOL
from .scope import Scope


def last_call_errors(scope: Scope) -> Findings:
    case = scope.case
    if case.gives_tool and case.expected_tool is None and case.expected_calls is None:
        message = "a multi-turn case needs the tool that ends its chain; name it, or remove multi_turn"
        yield Finding((*scope.at, "expected_tool"), message)
    elif isinstance(case.expected_tool, list) and None in case.expected_tool:
        message = "a chain ends with a call; remove null, or remove multi_turn"
        yield Finding((*scope.at, "expected_tool", case.expected_tool.index(None)), message)


def length_warnings(scope: Scope) -> Findings:
    hops, rounds = scope.case.optimal_hops, scope.case.max_rounds
    if hops and rounds and hops > rounds:
        message = f"fewer replies than calls in the shortest chain (optimal_hops {hops})"
        yield Finding((*scope.at, "max_rounds"), message)


def mock_warnings(scope: Scope) -> Findings:
    suite, case, tools = scope.suite, scope.case, scope.tools
    live = suite.live_tools if case.live_tools is None else case.live_tools
    if ANY_TOOL in (live or ()):
        return  # only the server knows its read-only tools
    answered = [*case.mock_responses, *(live or ())]
    for index, name in enumerate(case.valid_prerequisites):
        if not any(same_tool(each, name, tools.names) for each in answered):
            message = f"{show(name)} has no mock response, so a call to it gets an error"
            yield Finding((*scope.at, "valid_prerequisites", index), message)
    if case.valid_prerequisites or ANY_TOOL in case.expected_tools:
        return  # any other call is a detour or ends the chain
    forbidden = suite.forbidden_calls if case.forbidden_calls is None else case.forbidden_calls
    if forbidden == ANY_TOOL:
        return
    ends = [*case.expected_tools, *(each for each in forbidden or () if isinstance(each, str))]
    named = tools.meant_names([*answered, *ends])
    others = [name for name in tools.names if name not in named]
    if others:
        message = (
            f"no mock response for {listing(others)}, so a call gets an error; if you want that, add "
            'a mock such as {"error": "not found"}'
        )
        yield Finding((*scope.at, "mock_responses"), message, at_key=True)
