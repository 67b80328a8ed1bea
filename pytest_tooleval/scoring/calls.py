"""Replies that should contain one call to an expected tool, several expected calls, or none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..record.call_records import call_records
from ..record.results import FailureCategory
from ..record.transcript import Transcript
from ..suite.case import ResolvedCase
from .assessment import Assessment, Draft, SpanCheck, held_text
from .expected_tool import OneCall
from .extra_calls import no_extra_calls, telling_metrics
from .one_reply import reply_checks
from .paired_calls import PairedCalls
from .texts import mean_with, text_checks, with_texts
from .turns import Span


def assess_calls(case: ResolvedCase, transcript: Transcript) -> Assessment:
    """Judge the calls by the alternative under which they score best; the first one of several."""
    assessed = [(_assess(each, transcript), _replies(each, transcript)) for each in case.variations]
    values = [mean_with(each.drafts["overall"].value or 0.0, replies) for each, replies in assessed]
    number = values.index(max(values))
    best, replies = assessed[number]
    if len(assessed) > 1:
        which = f"by alternative {number + 1} of {len(assessed)}: "
        draft = best.drafts["overall"]
        best.drafts["overall"] = draft.reword(lambda text, lines: (which + text, lines))
    texts = text_checks(case, transcript)
    if replies or texts:
        best.drafts["overall"] = _with_checks(best.drafts["overall"], replies, texts)
    best = best._replace(calls=[(case, call) for call in transcript.calls])
    return with_texts(_with_replies(best, replies), texts)


def _replies(case: ResolvedCase, transcript: Transcript) -> list[SpanCheck]:
    span = Span("", case.expected, transcript.replies, 0, (), call_records(transcript.replies))
    return list(reply_checks("overall", case, span, case.expected, "exact"))


def _with_checks(of_calls: Draft, replies: Sequence[SpanCheck], texts: Sequence[SpanCheck]) -> Draft:
    more = [*replies, *texts]
    value = mean_with(of_calls.value or 0.0, more)
    each = [("replies", replies), ("text", texts)]
    held_of = "".join(f", {name} {held_text(checks)}" for name, checks in each if checks)
    text = f"{value:.4g} = the mean of {1 + len(more)} checks: calls {of_calls.value:.4g}{held_of}"
    own = [line for check in replies for line in check.lines()]
    return of_calls._replace(value=value).reword(lambda _, lines: (text, [*lines, *own]))


def _with_replies(assessment: Assessment, replies: Sequence[SpanCheck]) -> Assessment:
    def failure(failing: Collection[str]) -> FailureCategory | None:
        failures = (check.failure for check in replies if check.value < 1.0)
        return assessment.failure(failing) or next(failures, None)

    return assessment._replace(failure=failure) if replies else assessment


def _assess(case: ResolvedCase, transcript: Transcript) -> Assessment:
    wanted, calls = case.expected, transcript.calls
    compared: OneCall | PairedCalls
    if wanted.expected_tools:
        compared = OneCall(case, calls)
    else:
        compared = PairedCalls(case, wanted.calls or (), calls, in_order=wanted.call_order == "strict")
    drafts = {**compared.drafts(), "no_extra_calls": no_extra_calls(case, compared.extra)}
    return Assessment(drafts, (), compared.failure, telling_metrics, compared.pairs, compared.malformed)
