"""Warnings about a valid suite: things that load but are probably mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Problem
from ..explain import field_path
from ..findings import Finding, Findings, Loc
from .case import CaseKind
from .checks import cases, chain, conversation, expectations, features, policies, schemas, thresholds
from .checks.scope import CheckRule, case_scopes, tools_of_suite
from .model import Suite
from .source import SuiteSource
from .tools import Choice

_OF_CASES = (
    expectations.impossible_warnings,
    thresholds.threshold_warnings,
    cases.tag_warnings,
    cases.placeholder_warnings,
    cases.reason_warnings,
    schemas.params_warnings,
)
_OF_KINDS: Mapping[CaseKind, tuple[CheckRule, ...]] = {
    "calls": (),
    "chain": (chain.length_warnings, chain.mock_warnings),
    "conversation": (
        conversation.silent_match_warnings,
        schemas.case_world_warnings,
    ),
}


def lint_suite(
    suite: Suite,
    document: SuiteSource | None = None,
    *,
    for_vertex: bool = False,
    tool_choice: Choice | None = None,
    without_agents: bool = False,
) -> list[Problem]:
    """Return warnings in file order; what only models on Vertex AI lack is for those who use one.

    `tool_choice` is the command line's. `without_agents`: only plain models are asked, which answer no
    calls themselves.

    With the `document` from `load_document`, each warning has its exact place. Without it, the path is
    empty, the line is that of the case (1 for fields of the suite), and the column is 1.
    """
    findings = [
        *_findings(suite, tool_choice, without_agents),
        *(schemas.vertex_warnings(suite) if for_vertex else ()),
    ]
    if document is not None:
        document.places = list(suite._places) or None
        return document.problems(findings, limit=None)
    lines: dict[Loc, int] = {
        ("test_cases", index): case.line or 1 for index, case in enumerate(suite.test_cases)
    }
    placed = [
        Problem("", lines.get(finding.loc[:2], 1), 1, field_path(finding.loc), finding.message)
        for finding in findings
    ]
    return sorted(placed, key=lambda problem: problem.line)


def _findings(suite: Suite, tool_choice: Choice | None, without_agents: bool) -> Findings:
    if not suite.test_cases:
        yield Finding(("test_cases",), "no cases: this suite tests nothing")
    for path, variable in suite._key_places:
        yield Finding(
            path,
            f"this is the value of the variable {variable}, which no run may show; where {variable} is "
            "not set, such as in a replay, nothing equals it: use a made-up key",
        )
    seen: set[str] = set()
    yield from schemas.tool_warnings(suite.tools, (), seen)
    yield from features.feature_warnings(suite.tools, ())
    yield from schemas.world_warnings(suite)
    yield from thresholds.suite_threshold_warnings(suite)
    yield from conversation.choice_warnings(suite, tool_choice)
    offered = tools_of_suite(suite)
    yield from schemas.forbidden_params_warnings(suite.forbidden_calls, (), offered)
    yield from policies.policy_warnings(suite.policies, (), offered)
    yield from cases.row_warnings(suite)
    for scope in case_scopes(suite, offered):
        yield from schemas.tool_warnings(scope.case.tools or (), scope.at, seen)
        yield from policies.policy_warnings(scope.case.policies, scope.at, scope.tools)
        yield from features.feature_warnings(scope.case.tools or (), scope.at)
        yield from expectations.forced_warnings(scope, tool_choice)
        if without_agents and scope.case.kind == "conversation":
            yield from conversation.answer_warnings(scope)
        for warnings in (*_OF_CASES, *_OF_KINDS[scope.case.kind]):
            yield from warnings(scope)
