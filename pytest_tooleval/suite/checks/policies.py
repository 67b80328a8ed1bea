"""Errors and warnings in policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ...explain import describe, listing, nearest, show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.parameters import described_names
from ...matchers.matcher import matcher_findings
from ..fields import wrong_value
from ..policies import FROM, SAME, EarlierAnswer, Need, OtherCall, Policy, operands, with_stand_ins
from ..reading import findings_of
from .schemas import impossible_params, unknown_params
from .scope import ScopeTools
from .texts import text_findings

_CONDITIONS = ("only_after", "never_after", "after_approval", "at_most", "at_least", "expected_params")


def policy_errors(
    policies: Sequence[Policy], at: Loc, tools: ScopeTools, *, of_suite: bool = False
) -> Findings:
    """Undefined tools, invalid matchers and pointers, and policies that require nothing."""
    for index, policy in enumerate(policies):
        here = (*at, "policies", index)
        yield from tools.find_undefined(policy.tool, (*here, "tool"), by_pattern=True)
        yield from matcher_findings(policy.params or {}, (*here, "params"))
        yield from unknown_params(policy.tools, policy.params, (*here, "params"), tools)
        yield from matcher_findings({"result": policy.result}, here)
        for field, other in policy.others:
            is_short = isinstance(getattr(policy, field), str)
            yield from _other(other, (*here, field), tools, is_short=is_short)
        if isinstance(policy.only_after, Need):
            yield from _needed(policy.only_after, (*here, "only_after"))
        if policy.expected_params is not None:
            path = (*here, "expected_params")
            for source, value in operands(FROM, policy.expected_params, path):
                yield from _from(value, source, tools)
            yield from matcher_findings(with_stand_ins(policy.expected_params, FROM), path)
        if all(getattr(policy, field) is None for field in _CONDITIONS):
            yield Finding(here, f"requires nothing; add one of {', '.join(_CONDITIONS)}")
        if of_suite and policy.at_least is not None:
            message = "only in a case: not every case of the suite has to call it; move the policy there"
            yield Finding((*here, "at_least"), message, at_key=True)
        yield from _limits(policy, here)
        if policy.at_least and policy.at_most is not None and policy.at_least > policy.at_most:
            message = (
                f"is more than at_most ({policy.at_most}), so no answer can pass; fix one of the two"
            )
            yield Finding((*here, "at_least"), message)


def _needed(needed: Need, at: Loc) -> Findings:
    """The problems of a user's message that a policy needs."""
    if needed.user is None:
        if needed.tool is None:
            yield Finding(at, 'needs a tool, or "user", what the user must say')
        return
    yield from text_findings(needed.user, (*at, "user"))
    for field in ("tool", "params", "status", "result", "agent"):
        if field in needed.model_fields_set:
            message = "cannot be combined with user; write a policy for each"
            yield Finding((*at, field), message, at_key=True)


def _limits(policy: Policy, at: Loc) -> Findings:
    """Limits that are no numbers of calls, and words about limits without one."""
    limits = {field: getattr(policy, field) for field in ("at_most", "at_least")}
    for field, limit in limits.items():
        if limit is None or policy.sum is not None:
            continue
        least = 1 if field == "at_least" else 0
        if not isinstance(limit, int) or limit < least:
            message = f"expected a whole number of at least {least}, got {describe(limit)}"
            yield Finding((*at, field), f'{message}; with "sum", any number is right')
    if all(limit is None for limit in limits.values()):
        for field in ("per", "sum"):
            if getattr(policy, field) is not None:
                yield Finding((*at, field), "has no effect without at_most or at_least", at_key=True)


def _other(other: OtherCall, at: Loc, tools: ScopeTools, *, is_short: bool = False) -> Findings:
    """The problems of the other call of a policy, or of `$from`."""
    yield from tools.find_undefined(other.tool, at if is_short else (*at, "tool"), by_pattern=True)
    params = other.params or {}
    yield from unknown_params(other.tools, params, (*at, "params"), tools)
    for path, pointer in operands(SAME, params, (*at, "params")):
        yield from _pointer(pointer, path)
    yield from matcher_findings(with_stand_ins(params, SAME), (*at, "params"))
    for path, pointer in operands(SAME, other.result, (*at, "result")):
        yield from _pointer(pointer, path)
    yield from matcher_findings({"result": with_stand_ins(other.result, SAME)}, at)


def _pointer(value: Any, at: Loc) -> Findings:
    if not is_pointer(value):
        yield Finding(at, f'expected a JSON Pointer such as "/order", got {describe(value)}')


def _from(value: Any, at: Loc, tools: ScopeTools) -> Findings:
    if not isinstance(value, dict):
        yield Finding(at, wrong_value(EarlierAnswer.EXPECTS, value))
        return
    try:
        yield from _other(EarlierAnswer.model_validate(value), at, tools)
    except ValidationError as error:
        for finding in findings_of(EarlierAnswer, error, value):
            yield finding._replace(loc=(*at, *finding.loc))


def is_pointer(value: Any) -> bool:
    """True for a JSON Pointer (RFC 6901)."""
    return isinstance(value, str) and (not value or value.startswith("/"))


def policy_warnings(policies: Sequence[Policy], at: Loc, tools: ScopeTools) -> Findings:
    """Params that no call can have, so that the policy judges none, and wrong pointers of `$same`."""
    for index, policy in enumerate(policies):
        names = {name for tool in tools.find(policy.tools) for name in described_names(tool.parameters)}
        here = (*at, "policies", index)
        yield from impossible_params(policy.tools, policy.params or {}, (*here, "params"), tools)
        fields = [((*here, field), getattr(policy, field)) for field in ("per", "sum")]
        pointers = (each for each in fields if each[1] is not None)
        for path, pointer in (*operands(SAME, policy.model_dump(), here), *pointers):
            if not is_pointer(pointer):
                continue  # an error
            first = pointer.split("/")[1].replace("~1", "/").replace("~0", "~") if pointer else ""
            if names and pointer and first not in names:
                near = nearest(first, names)
                hint = f", did you mean /{near}?" if near else f"; it has {listing(sorted(names))}"
                yield Finding(path, f"{show(policy.tools[0])} has no parameter {show(first)}{hint}")
