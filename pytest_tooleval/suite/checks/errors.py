"""Errors in a suite beyond its types: duplicate ids, undefined tools, contradictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ...findings import Finding, Findings, Loc
from ..case import DEFAULTS, CaseKind, TestCase
from ..fields import OnlyFor, fields_of, readable
from ..model import Suite
from . import (
    cases,
    chain,
    conversation,
    expectations,
    features,
    policies,
    response_format,
    texts,
    thresholds,
    tools,
)
from .scope import CheckRule, Scope, ScopeTools, case_scopes, tools_of_suite

Metrics = Collection[str] | None
_OF_CASES = (
    cases.mark_errors,
    thresholds.judging_errors,
    tools.named_tool_errors,
    expectations.contradiction_errors,
    expectations.stop_errors,
)
_OF_PARTS = (
    expectations.prompt_errors,
    expectations.expected_tool_errors,
    expectations.params_errors,
    expectations.expected_call_errors,
    expectations.parallel_errors,
    expectations.forbidden_call_errors,
    texts.text_errors,
)
_OF_KINDS: Mapping[CaseKind, tuple[CheckRule, ...]] = {
    "calls": (),
    "chain": (chain.last_call_errors,),
    "conversation": (
        conversation.field_errors,
        conversation.endless_turn_errors,
        conversation.world_errors,
        conversation.nothing_errors,
        conversation.user_errors,
    ),
}
_OF_PARTS_OF_CONVERSATIONS = (
    conversation.match_errors,
    conversation.silent_match_errors,
    conversation.state_errors,
    conversation.new_tool_errors,
)


def _only_for(kind: CaseKind, message: str) -> dict[str, str]:
    fields = fields_of(TestCase).items()
    return {name: message for name, field in fields if OnlyFor(kind) in field.marks}


_OF_CHAINS = _only_for("chain", 'only for multi-turn cases; add "multi_turn": true, or remove this')
_NEEDS_WORLD = (
    'needs a world, which answers the calls; add "world": "module:Class" to the case, or true for the '
    "suite's"
)
_OF_CONVERSATIONS = _only_for("conversation", _NEEDS_WORLD)
_ONE_CALL = "not allowed in a multi-turn case: a chain ends with one call; write expected_tool instead"
# The fields that a kind of case cannot have, each with the reason.
_REFUSED: Mapping[CaseKind, Mapping[str, str]] = {
    "calls": {**_OF_CHAINS, **_OF_CONVERSATIONS},
    "chain": {
        **_only_for("conversation", f"{_NEEDS_WORLD}, instead of multi_turn"),
        "expected_calls": _ONE_CALL,
        "parallel": "not allowed in a multi-turn case, which ends with one call; remove it",
    },
    "conversation": {},
}


def suite_errors(suite: Suite, line_of: Callable[[Loc], int], metrics: Metrics) -> Findings:
    """Yield all errors in no particular order; `line_of` gives the line of a path.

    `metrics` are third-party metrics that thresholds may use; None allows any.
    """
    offered = tools_of_suite(suite)
    yield from readable(
        *_shared_errors(suite, suite, (), offered, metrics),
        _errors_everywhere(suite, offered),
        features.provider_errors(suite),
        cases.id_errors(suite, line_of),
        _case_errors(suite, offered, metrics),
    )


def _shared_errors(
    holder: Suite | TestCase, suite: Suite, at: Loc, offered: ScopeTools, metrics: Metrics
) -> tuple[Findings, ...]:
    """Errors in the fields that suites and cases share."""
    return (
        tools.tool_errors(holder, suite, at, offered),
        features.feature_errors(holder, suite, at),
        features.undefined_choice_errors(holder, at, offered),
        thresholds.threshold_errors(holder, at, metrics),
        cases.pass_rule_errors(holder, suite, at),
        cases.now_errors(holder, at),
        response_format.format_errors(holder, at),
    )


def _errors_everywhere(suite: Suite, offered: ScopeTools) -> Findings:
    """Errors in the suite's forbidden calls and policies; tools of any case count as defined."""
    every = [*suite.tools, *(tool for case in suite.test_cases for tool in case.tools or ())]
    everywhere = ScopeTools(every, "the suite or its cases", offered.hosted, complete=offered.complete)
    yield from expectations.call_errors(suite.forbidden_calls, ("forbidden_calls",), everywhere)
    yield from policies.policy_errors(suite.policies, (), everywhere, of_suite=True)


def _case_errors(suite: Suite, offered: ScopeTools, metrics: Metrics) -> Findings:
    for scope in case_scopes(suite, offered):
        yield from readable(
            *_shared_errors(scope.case, suite, scope.at, scope.tools, metrics),
            *(errors(scope) for errors in _OF_CASES),
            policies.policy_errors(scope.case.policies, scope.at, scope.tools),
            _errors_of_parts(scope),
            _refusals(scope),
            *(errors(scope) for errors in _OF_KINDS[scope.case.kind]),
        )


def _errors_of_parts(scope: Scope) -> Findings:
    checks = _OF_PARTS + (_OF_PARTS_OF_CONVERSATIONS if scope.case.kind == "conversation" else ())
    for each in scope.all:
        yield from readable(*(errors(each) for errors in checks))


def _refusals(scope: Scope) -> Findings:
    refused = _REFUSED[scope.case.kind]
    for field in scope.case.model_fields_set & refused.keys():
        if getattr(scope.case, field) != DEFAULTS[field]:
            yield Finding((*scope.at, field), refused[field], at_key=True)
