"""Errors in the prompts and expectations of cases and turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...explain import show
from ...findings import Finding, Findings, Loc
from ...matchers.matcher import matcher_findings, matcher_key
from ...record.names import same_tool
from ..case import TestCase
from ..expectations import ANY_TOOL, ExpectedCall
from ..fields import expected_at, wrong_value
from ..name_patterns import with_fitting
from ..tools import Choice, forces_call
from ..types import STOPS
from .schemas import unknown_params
from .scope import Scope, ScopeTools

_ENDS = ("status", "result")


def prompt_errors(scope: Scope) -> Findings:
    prompt, at = scope.part.prompt, (*scope.at, "prompt")
    if isinstance(prompt, str):
        if not prompt.strip():
            yield Finding(at, "an empty prompt; write what the user says")
    elif prompt is not None:
        if all(message.role != "user" for message in prompt):
            yield Finding(at, 'no message from the user; add {"role": "user", "content": "..."}')
        for index, message in enumerate(prompt):
            text = "" if message.content is None else message.content
            if message.role == "user" and isinstance(text, str) and not text.strip():
                problem = "an empty message from the user; write what the user says"
                yield Finding((*at, index, "content"), problem)
    elif scope.case.turns is None and scope.case.user is None:
        expected = expected_at(TestCase, "prompt")
        is_set = "prompt" in scope.case.model_fields_set
        yield Finding(at, wrong_value(expected, None) if is_set else f"missing; expected {expected}")


def expected_tool_errors(scope: Scope) -> Findings:
    """Undefined tools, and a case without exactly one of `expected_tool` and `expected_calls`."""
    written, at = scope.part, (*scope.at, "expected_tool")
    if written.gives_tool:
        yield from scope.tools.find_undefined(written.expected_tool, at)
        if written.expected_calls is not None:
            message = "expected_calls cannot be combined with expected_tool; keep one of them"
            yield Finding((*scope.at, "expected_calls"), message, at_key=True)
    elif written.expected_calls is None and written is scope.case and scope.case.kind != "conversation":
        expected = expected_at(TestCase, "expected_tool")
        yield Finding(at, f"missing; expected {expected}; or give expected_calls")


def params_errors(scope: Scope) -> Findings:
    written, at = scope.part, (*scope.at, "expected_params")
    if written.expected_params is None:
        return
    yield from matcher_findings(written.expected_params, at)
    if written.expected_calls is not None:
        message = (
            'cannot be combined with expected_calls; give each call its own params: {"tool": '
            '..., "params": ...}'
        )
        yield Finding(at, message, at_key=True)
    elif not written.gives_tool:
        if scope.turn is not None or scope.case.leader == "world":
            yield Finding(at, "needs expected_tool, the tool that takes them", at_key=True)
    elif written.expected_params and written.expected_tool is None:
        message = "expected_tool is null, so no params can be expected; fix one of the two"
        yield Finding(at, message, at_key=True)


def expected_call_errors(scope: Scope) -> Findings:
    for at, call in scope.part.placed_calls:
        yield from _call_errors(call, (*scope.at, *at), scope.tools)
        for field in _ENDS if scope.case.kind != "conversation" else ():
            if field in call.model_fields_set:
                message = (
                    'needs answers to the calls; add "world": "module:Class" to the case, or write turns'
                )
                yield Finding((*scope.at, *at, field), message, at_key=True)
    if scope.part.expected_calls is None and scope.part.call_order == "strict":
        message = "has no effect without expected_calls; remove it"
        yield Finding((*scope.at, "call_order"), message, at_key=True)


def parallel_errors(scope: Scope) -> Findings:
    """A `parallel` that no answer can break, or that no answer can meet."""
    written, at = scope.part, (*scope.at, "parallel")
    if written.parallel is None or scope.case.kind == "chain":
        return
    named = ([call for _, call in each.placed_calls] for each in written.alternatives)
    if max(sum(ANY_TOOL not in call.tools for call in calls) for calls in named) < 2:
        message = 'has no effect with fewer than two expected_calls, not counting "*"; remove it'
        yield Finding(at, message, at_key=True)
    elif scope.case.kind == "calls" and not written.parallel:
        message = (
            'a prompt ends after one reply; add "world": "module:Class" to the case, or write turns'
        )
        yield Finding(at, message)
    elif (written.match or scope.case.match) == "state":
        message = 'with "match": "state", other calls may lead to the same state; write "contains"'
        yield Finding(at, message, at_key=True)


def call_errors(calls: Sequence[str | ExpectedCall] | None, at: Loc, tools: ScopeTools) -> Findings:
    """Undefined tools, unknown params and invalid matchers in forbidden calls."""
    for index, call in enumerate(calls or ()):
        if isinstance(call, str):
            yield from tools.find_undefined(call, (*at, index), by_pattern=True)
            continue
        yield from _call_errors(call, (*at, index), tools, by_pattern=True)
        yield from unknown_params(call.tools, call.params, (*at, index, "params"), tools)
        for field in (*(["optional"] if call.optional else ()), *_ENDS):
            if field in call.model_fields_set:
                yield Finding((*at, index, field), "only for expected_calls; remove it", at_key=True)


def _call_errors(
    call: ExpectedCall, at: Loc, tools: ScopeTools, *, by_pattern: bool = False
) -> Findings:
    yield from tools.find_undefined(call.tool, (*at, "tool"), by_pattern=by_pattern)
    yield from matcher_findings(call.params or {}, (*at, "params"))


def forbidden_call_errors(scope: Scope) -> Findings:
    """Forbidden calls, and tools that are both expected and forbidden."""
    written, at = scope.part, scope.at
    yield from call_errors(written.forbidden_calls, (*at, "forbidden_calls"), scope.tools)
    holders = (written, scope.case, scope.suite)
    calls = next((each.forbidden_calls for each in holders if each.forbidden_calls is not None), ())
    if not calls or calls == ANY_TOOL:
        return
    whole = [
        call.tool if isinstance(call, ExpectedCall) and not call.params and call.agent is None else call
        for call in calls
    ]
    forbidden = [name for name in whole if isinstance(name, str)]
    forbids_all = any(
        name == ANY_TOOL and call != ANY_TOOL for name, call in zip(whole, calls, strict=True)
    )
    expected: list[tuple[Loc, Any]] = [((*at, "expected_tool"), written.expected_tool)]
    expected += [((*at, *path, "tool"), call.tool) for path, call in written.placed_calls]
    for path, name in expected:
        if isinstance(name, str) and (
            forbids_all
            or any(
                same_tool(name, other, scope.tools.names)
                for other in with_fitting(forbidden, scope.tools.names)
            )
        ):
            message = "is also in forbidden_calls, so no answer can pass; fix one of the two"
            yield Finding(path, f"{show(name)} {message}")


def stop_errors(scope: Scope) -> Findings:
    """An expected message of an agent's end that is no matcher."""
    stop, at = scope.case.expected_stop, (*scope.at, "expected_stop")
    if isinstance(stop, dict):
        if matcher_key(stop) is None:
            yield Finding(at, wrong_value(STOPS, stop))
        yield from matcher_findings(stop, at)


def contradiction_errors(scope: Scope) -> Findings:
    """A `tool_choice` that takes away what the case allows."""
    case = scope.case
    choice = case.tool_choice or scope.suite.tool_choice
    has_new_word = case.has_choices or case.expected_stop is not None
    if case.kind != "conversation" and has_new_word and case.allows_no_call and forces_call(choice):
        at = (*scope.at, "tool_choice") if case.tool_choice else scope.at
        message = 'tool_choice forces a call, but making none is also right; use "auto"'
        yield Finding(at, message)


def forced_warnings(scope: Scope, choice: Choice | None) -> Findings:
    """A `tool_choice`, perhaps the command line's `choice`, that forces a call where none is right."""
    case = scope.case
    if case.expects_nothing and forces_call(choice or case.tool_choice or scope.suite.tool_choice):
        by = "--tooleval-tool-choice" if choice else "tool_choice"
        at = (*scope.at, "tool_choice") if case.tool_choice and not choice else scope.at
        yield Finding(at, f'{by} forces a call, but none is expected; use "auto"')


def impossible_warnings(scope: Scope) -> Findings:
    """Cases that no model can pass."""
    case = scope.case
    if not case.expects_nothing and not scope.tools.names and scope.tools.complete:
        yield Finding(scope.at, "a call is expected, but there are no tools to call")
    if case.takes_any and case.forbidden_calls == ANY_TOOL:
        message = "any tool is expected, so this forbids nothing"
        yield Finding((*scope.at, "forbidden_calls"), message, at_key=True)
