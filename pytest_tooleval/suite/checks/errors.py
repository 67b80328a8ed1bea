"""What is wrong with a suite beyond its types: duplicate ids, undefined tools, contradictions."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection

from ...findings import Findings
from ...findings import Loc
from ..fields import until_unread
from ..kinds import KINDS
from ..model import Suite
from ..model import TestCase
from . import cases
from . import expectations
from . import thresholds
from . import tools
from .scope import KnownTools
from .scope import Scope
from .scope import case_scopes
from .scope import tools_of_suite

_OF_CASES = (
    cases.tag_errors,
    cases.reason_errors,
    thresholds.judging_errors,
    tools.prerequisite_errors,
    tools.approval_errors,
    tools.mock_errors,
)
_OF_PARTS = (
    expectations.prompt_errors,
    expectations.tool_errors,
    expectations.params_errors,
    expectations.order_errors,
    expectations.expected_call_errors,
    expectations.forbidden_call_errors,
    expectations.contradiction_errors,
)


def suite_errors(
    suite: Suite, line_of: Callable[[Loc], int], metrics: Collection[str] | None
) -> Findings:
    """All of it, in no particular order; `line_of` gives the line of a path.

    `metrics` are the metrics of other scorers that thresholds may use; None allows any.
    """
    offered = tools_of_suite(suite)
    yield from _shared_errors(suite, suite, (), offered, metrics)
    yield from until_unread(_forbidden_errors(suite, offered))
    yield from until_unread(cases.id_errors(suite, line_of))
    yield from until_unread(_case_errors(suite, offered, metrics))


def _shared_errors(
    holder: Suite | TestCase,
    suite: Suite,
    at: Loc,
    offered: KnownTools,
    metrics: Collection[str] | None,
) -> Findings:
    """Of fields that suites and cases have."""
    yield from until_unread(tools.definition_errors(holder, at))
    yield from until_unread(tools.live_tool_errors(holder, suite, at, offered))
    yield from until_unread(thresholds.threshold_errors(holder, at, metrics))
    yield from until_unread(cases.pass_rule_errors(holder, suite, at))


def _forbidden_errors(suite: Suite, offered: KnownTools) -> Findings:
    """A case that has the tool is enough."""
    every = [*suite.tools, *(tool for case in suite.test_cases for tool in case.tools or ())]
    everywhere = KnownTools(every, "the suite or its cases", complete=offered.complete)
    yield from expectations.call_errors(suite.forbidden_calls, ("forbidden_calls",), everywhere)


def _case_errors(suite: Suite, offered: KnownTools, metrics: Collection[str] | None) -> Findings:
    for scope in case_scopes(suite, offered):
        yield from _shared_errors(scope.case, suite, scope.at, scope.tools, metrics)
        for errors in _OF_CASES:
            yield from until_unread(errors(scope))
        yield from until_unread(_part_errors(scope))
        yield from until_unread(_kind_errors(scope))


def _part_errors(scope: Scope) -> Findings:
    for part in scope.parts:
        for errors in _OF_PARTS:
            yield from until_unread(errors(part))


def _kind_errors(scope: Scope) -> Findings:
    kind = KINDS[scope.case.kind]
    yield from kind.refusals(scope)
    for errors in kind.errors:
        yield from until_unread(errors(scope))
    for part in scope.parts:
        for errors in kind.part_errors:
            yield from until_unread(errors(part))
