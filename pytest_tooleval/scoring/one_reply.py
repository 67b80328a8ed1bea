"""Were several expected calls made in one reply, or each in its own? For `parallel`.

An agent with its own loop makes each call in a reply. There, calls that began before the others were
answered are in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..record.call_records import CallRecord
from ..record.calls import NO_TOOL, shown_tool
from ..record.results import Check
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL, Expectations, Match
from .assessment import SpanCheck, span_check
from .one_call import same_call
from .paired_calls import PairedCalls
from .turns import Span

_WANTED = {True: "all calls in one reply", False: "each call in its own reply"}


class _CountedCall(NamedTuple):
    """A call that counts, and its first attempt, which a fault of a variant may have made it repeat."""

    record: CallRecord
    first: CallRecord
    is_inner: bool

    def is_with(self, other: _CountedCall) -> bool:
        """Whether both are in one reply; an agent's are never in one with those of an agent it used."""
        one, two = self.first, other.first
        if one.reply_index == two.reply_index:
            return True
        return self.is_inner == other.is_inner and not one.came_after(two) and not two.came_after(one)


def reply_checks(
    metric: str, case: ResolvedCase, span: Span, expected: Expectations, match: Match
) -> Iterator[SpanCheck]:
    """Yield the check of `parallel`. It also needs each required call, but for those of `"*"`."""
    if expected.parallel is None:
        return
    named = [each for each in expected.calls or () if ANY_TOOL not in each.tools]
    begun = _begun(case, span)

    def paired(calls: Sequence[_CountedCall]) -> PairedCalls:
        return PairedCalls(
            case,
            named,
            [each.record.call for each in calls],
            in_order=expected.call_order == "strict",
            match="within" if match == "within" else "contains",
            ended=[each.record for each in calls],
        )

    whole, groups = paired(begun).pairing, _groups(begun)
    judged = sorted(whole.pairs.values())
    missing = [i for i, each in enumerate(named) if i not in whole.pairs and not each.optional]
    if missing and match != "within":
        right = False
    elif expected.parallel:
        # A call that another reply repeats does not decide which of the two is meant.
        met = (paired([begun[i] for i in group]).pairing.exact for group in groups)
        right = not judged or any(each >= whole.exact for each in met)
    else:
        right = all(len([i for i in judged if i in group]) < 2 for group in groups)
    replies = _shown([begun[i] for i in judged])
    row = Check("replies", _WANTED[expected.parallel], replies, float(right), "parallel")
    yield span_check(metric, "wrong_replies", span.place, row)


def _begun(case: ResolvedCase, span: Span) -> list[_CountedCall]:
    counts = {id(each.call) for each in span.scored_calls}
    begun: list[_CountedCall] = []
    tried: list[CallRecord] = []
    for reply, ended in zip(span.replies, span.made_by_reply, strict=True):
        for record in ended:
            if id(record.call) in counts:
                earlier = (each for each in tried if same_call(case, each.call, record.call))
                begun.append(_CountedCall(record, next(earlier, record), reply.is_inner))
            elif not reply.is_inner:
                tried.append(record)
    return begun


def _groups(begun: Sequence[_CountedCall]) -> list[list[int]]:
    """The places of each reply's calls, with those of earlier replies not answered when it began."""
    last = {each.first.reply_index: index for index, each in enumerate(begun)}
    return [[i for i in range(index + 1) if begun[i].is_with(begun[index])] for index in last.values()]


def _shown(calls: Sequence[_CountedCall]) -> str:
    """Calls such as `a and b, then c`."""
    text = ""
    for number, each in enumerate(calls):
        joint = " and " if number and each.is_with(calls[number - 1]) else ", then "
        text += (joint if text else "") + shown_tool(each.record.call)
    return text or NO_TOOL
