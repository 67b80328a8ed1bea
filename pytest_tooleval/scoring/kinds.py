"""The kinds of cases, each with its own module to judge a transcript."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..record.metrics import BUILT_IN
from ..record.results import FailureCategory
from ..record.transcript import Transcript
from ..suite.case import CaseKind, ResolvedCase
from . import calls, chain, conversation
from .arguments_schema import argument_flaw, score_arguments
from .assessment import Assessment
from .policies import score_policies
from .tool_found import has_deferred, score_found

KINDS: Mapping[CaseKind, Callable[[ResolvedCase, Transcript], Assessment]] = {
    "calls": calls.assess,
    "chain": chain.assess,
    "conversation": conversation.assess,
}


def assess(case: ResolvedCase, transcript: Transcript) -> Assessment:
    """Judge a transcript, with all built-in scores.

    Raises CannotCompare if the suite asks for a comparison that cannot be made.
    """
    found = KINDS[case.kind](case, transcript)
    found.drafts["arguments_valid"] = score_arguments(found.calls)
    if case.policies:
        found.drafts["policies"] = score_policies(case, transcript)
    if case.kind != "conversation" and has_deferred(case):
        found.drafts["tool_found"] = score_found(case, transcript)
    return found


def failure_category(case: ResolvedCase, found: Assessment, failing: Collection[str]) -> FailureCategory:
    """Return the category of a failed trial; `failing` are the metrics below their thresholds."""
    if "policies" in failing:
        return "broken_policy"
    own = {metric for metric in failing if metric in BUILT_IN}
    if not own <= {"arguments_valid", "no_extra_calls"} and (failure := found.failure(own)):
        return failure
    if "arguments_valid" in own:
        flaw = argument_flaw(found.calls)
        if flaw == "hallucinated_tool" or "no_extra_calls" not in own:
            return flaw
    return "surplus_call" if "no_extra_calls" in own else "below_threshold"
