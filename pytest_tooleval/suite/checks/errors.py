"""Errors in a suite beyond its types: duplicate ids, undefined tools, contradictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...findings import Findings, Loc
from ..case import TestCase
from ..fields import readable
from ..kinds import KINDS
from ..model import Suite
from . import cases, expectations, features, policies, thresholds, tools
from .scope import Check, KnownTools, Scope, case_scopes, tools_of_suite

Metrics = Collection[str] | None
_OF_CASES = (
    cases.mark_errors,
    thresholds.judging_errors,
    tools.named_tool_errors,
    expectations.choice_errors,
    expectations.stop_errors,
)
_OF_PARTS = (
    expectations.prompt_errors,
    expectations.tool_errors,
    expectations.params_errors,
    expectations.expected_call_errors,
    expectations.forbidden_call_errors,
)


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
    holder: Suite | TestCase, suite: Suite, at: Loc, offered: KnownTools, metrics: Metrics
) -> tuple[Findings, ...]:
    """Errors in the fields that suites and cases share."""
    return (
        tools.tool_errors(holder, suite, at, offered),
        features.feature_errors(holder, suite, at),
        features.choice_errors(holder, at, offered),
        thresholds.threshold_errors(holder, at, metrics),
        cases.pass_rule_errors(holder, suite, at),
        cases.now_errors(holder, at),
    )


def _errors_everywhere(suite: Suite, offered: KnownTools) -> Findings:
    """Errors in the suite's forbidden calls and policies; tools of any case count as defined."""
    every = [*suite.tools, *(tool for case in suite.test_cases for tool in case.tools or ())]
    everywhere = KnownTools(every, "the suite or its cases", complete=offered.complete)
    yield from expectations.call_errors(suite.forbidden_calls, ("forbidden_calls",), everywhere)
    yield from policies.policy_errors(suite.policies, (), everywhere, of_suite=True)


def _case_errors(suite: Suite, offered: KnownTools, metrics: Metrics) -> Findings:
    for scope in case_scopes(suite, offered):
        yield from readable(
            *_shared_errors(scope.case, suite, scope.at, scope.tools, metrics),
            *(errors(scope) for errors in _OF_CASES),
            policies.policy_errors(scope.case.policies, scope.at, scope.tools),
            _errors_of_parts(scope, _OF_PARTS),
            _errors_of_kind(scope),
        )


def _errors_of_parts(scope: Scope, checks: Sequence[Check]) -> Findings:
    for part in scope.parts if checks else ():
        yield from readable(*(errors(part) for errors in checks))


def _errors_of_kind(scope: Scope) -> Findings:
    kind = KINDS[scope.case.kind]
    yield from readable(
        kind.refusals(scope),
        *(errors(scope) for errors in kind.errors),
        _errors_of_parts(scope, kind.part_errors),
    )
