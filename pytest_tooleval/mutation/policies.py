"""Policies that no case would notice if an answer broke them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import ScoringError
from ..record.calls import ToolCall
from ..suite.case import ResolvedCase
from ..suite.model import Suite
from ..suite.policies import Policy
from .answers import Turn, UnknownError, offered_call, other_call, score


def unnoticed(suite: Suite, cases: Sequence[ResolvedCase]) -> Iterator[str]:
    """Yield these policies of a suite and its cases, in words, after their path."""
    for index, policy in enumerate(suite.policies):
        if not any(_notices(case, policy) for case in cases):
            yield f"policies[{index}]: {_text(policy)}"
    for case in cases:
        for index, policy in enumerate(case.policies[len(suite.policies) :]):
            if not _notices(case, policy):
                yield f"{case.id}: policies[{index}]: {_text(policy)}"


def _text(policy: Policy) -> str:
    return " and ".join(policy.texts.values())


def _notices(case: ResolvedCase, policy: Policy) -> bool:
    if "policies" not in case.thresholds:
        return False
    try:
        replies = _breaking(case, policy)
        turns = [Turn((), "Done.")] * max(1, len(case.turns))
        turns[-1] = Turn(replies, None if case.kind == "calls" else "Done.")
        # An approval is what such a policy would miss.
        approved = policy.after_approval is None
        value = score(case, turns, approved=approved).values.get("policies")
    except (ScoringError, UnknownError):
        return False
    return value is not None and value < case.thresholds["policies"]


def _breaking(case: ResolvedCase, policy: Policy) -> tuple[tuple[ToolCall, ...], ...]:
    """The calls that break a policy, by reply; none to a tool that the case does not offer."""
    judged = offered_call(case, policy.tools, policy.params)
    if policy.at_least is not None or judged is None:
        return ()
    calls = [judged] * (1 if policy.at_most is None else policy.at_most + 1)
    for field, other in policy.others:
        if field == "never_after" and (earlier := other_call(case, other, judged)) is not None:
            calls.insert(0, earlier)
    # Nothing was looked up, and the arguments are none that the policy names.
    return (tuple(calls),) if case.kind == "calls" else tuple((call,) for call in calls)
