"""Errors and warnings in policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ...explain import describe, listing, nearest, show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.parameters import described
from ...matchers.matcher import matcher_findings
from ..expectations import ANY_TOOL
from ..fields import wrong_value
from ..policies import FROM, SAME, EarlierAnswer, OtherCall, Policy, operands, with_stand_ins
from ..reading import findings_of
from .scope import KnownTools

_CONDITIONS = ("only_after", "never_after", "after_approval", "at_most", "at_least", "expected_params")


def policy_errors(
    policies: Sequence[Policy], at: Loc, tools: KnownTools, *, of_suite: bool = False
) -> Findings:
    """Undefined tools, invalid matchers and pointers, and policies that require nothing."""
    for index, policy in enumerate(policies):
        here = (*at, "policies", index)
        yield from _tools(policy.tool, (*here, "tool"), tools)
        yield from matcher_findings(policy.params or {}, (*here, "params"))
        for field, other in policy.others:
            is_short = isinstance(getattr(policy, field), str)
            yield from _other(other, (*here, field), tools, is_short=is_short)
        if policy.expected_params is not None:
            place = (*here, "expected_params")
            for source, value in operands(FROM, policy.expected_params, place):
                yield from _from(value, source, tools)
            yield from matcher_findings(with_stand_ins(policy.expected_params, FROM), place)
        if all(getattr(policy, field) is None for field in _CONDITIONS):
            yield Finding(here, f"requires nothing; add one of {', '.join(_CONDITIONS)}")
        if of_suite and policy.at_least is not None:
            message = "only in a case: not every case of the suite has to call it; move the policy there"
            yield Finding((*here, "at_least"), message, at_key=True)
        if policy.at_least and policy.at_most is not None and policy.at_least > policy.at_most:
            message = (
                f"is more than at_most ({policy.at_most}), so no answer can pass; fix one of the two"
            )
            yield Finding((*here, "at_least"), message)


def _tools(names: str | list[str], at: Loc, tools: KnownTools) -> Findings:
    for name in [names] if isinstance(names, str) else names:
        if name == ANY_TOOL:
            message = '"*" is no tool; name the tools, or limit all calls'
            yield Finding(at, f'{message} with "thresholds": {{"max_calls": ...}}')
            return
    yield from tools.undefined(names, at)


def _other(other: OtherCall, at: Loc, tools: KnownTools, *, is_short: bool = False) -> Findings:
    """What is wrong with the other call of a policy, or of `$from`."""
    yield from _tools(other.tool, at if is_short else (*at, "tool"), tools)
    params = other.params or {}
    for place, pointer in operands(SAME, params, (*at, "params")):
        if not is_pointer(pointer):
            message = f'expected a JSON Pointer such as "/order", got {describe(pointer)}'
            yield Finding(place, message)
    yield from matcher_findings(with_stand_ins(params, SAME), (*at, "params"))


def _from(value: Any, at: Loc, tools: KnownTools) -> Findings:
    if not isinstance(value, dict):
        yield Finding(at, wrong_value(EarlierAnswer.EXPECTS, value))
        return
    try:
        yield from _other(EarlierAnswer.model_validate(value), at, tools)
    except ValidationError as error:
        for found in findings_of(EarlierAnswer, error, value):
            yield found._replace(loc=(*at, *found.loc))


def is_pointer(value: Any) -> bool:
    """True for a JSON Pointer (RFC 6901)."""
    return isinstance(value, str) and (not value or value.startswith("/"))


def pointer_warnings(policies: Sequence[Policy], at: Loc, tools: KnownTools) -> Findings:
    """Pointers of `$same` to parameters that the judged tools do not have, which break the policy."""
    for index, policy in enumerate(policies):
        known = {name for tool in tools.named(policy.tools) for name in described(tool.parameters)}
        for place, pointer in operands(SAME, policy.model_dump(), (*at, "policies", index)):
            if not is_pointer(pointer):
                continue  # an error
            first = pointer.split("/")[1].replace("~1", "/").replace("~0", "~") if pointer else ""
            if known and pointer and first not in known:
                near = nearest(first, known)
                hint = f", did you mean /{near}?" if near else f"; it has {listing(sorted(known))}"
                yield Finding(place, f"{show(policy.tools[0])} has no parameter {show(first)}{hint}")
