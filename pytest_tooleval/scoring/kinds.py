"""The kinds of cases, each with its own module to judge a transcript, and the choices that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..record.call_pairs import CallPair
from ..record.calls import ToolCall
from ..record.transcript import Transcript
from ..suite.case import CaseKind, ResolvedCase
from ..suite.expectations import ANY_TOOL
from ..suite.resolved import accepts, find_tool
from . import calls, chain, conversation
from .arguments_schema import score_arguments
from .assessment import Assessment, Draft, ToolsAndCall
from .hosted import with_listed_names
from .policies import score_policies
from .scored_calls import missed_stop, scored_transcript, without_asked, without_stop
from .tool_found import has_deferred, score_found, unfound
from .turns import forbidden_in

ASSESS_KIND: Mapping[CaseKind, Callable[[ResolvedCase, Transcript], Assessment]] = {
    "calls": calls.assess_calls,
    "chain": chain.assess_chain,
    "conversation": conversation.assess_conversation,
}


def assess(case: ResolvedCase, transcript: Transcript) -> Assessment:
    """Judge a transcript: what of it counts, and all that does not depend on thresholds.

    Raises CannotCompare if the suite asks for a comparison that cannot be made.
    """
    usable = without_stop(case, transcript)
    made_by_all = with_listed_names(case, usable)
    scored = scored_transcript(case, made_by_all)
    assessment = (_of_test if case.by_test else ASSESS_KIND[case.kind])(case, scored)
    valid = score_arguments(assessment.calls, assessment.turns)
    drafts = {**assessment.drafts, "arguments_valid": valid}
    if case.policies:
        drafts["policies"] = score_policies(case, without_asked(case, made_by_all))
    if case.kind != "conversation" and has_deferred(case):
        drafts["tool_found"] = score_found(case, scored)
    forbidden = forbidden_in(case, usable) if case.forbids else None
    running = missed_stop(case, transcript)
    if fatal := forbidden or running:
        drafts["overall"] = Draft(0.0, fatal)
    return assessment._replace(
        drafts=drafts, usable_transcript=usable, scored=scored, forbidden=forbidden, running=running
    )


def _of_test(case: ResolvedCase, transcript: Transcript) -> Assessment:
    """Judge a case of a Python test, whose body is its scorer: nothing is expected here."""
    calls = [(case, call) for reply in transcript.replies if not reply.is_inner for call in reply.calls]
    turns = transcript.turns if case.kind == "conversation" else ()
    return Assessment({}, calls, lambda _: "failed_assertion", lambda _: (), turns=turns)


def call_pairs_of(case: ResolvedCase, assessment: Assessment) -> tuple[CallPair, ...]:
    """Return each expected call against the call made for it.

    Every expected call and every actual call is in exactly one pair, with these exceptions: if any
    tool is right (`"*"`), there is nothing to confuse; if any number of calls is right, extra ones are
    left out. In a chain, only the completing call and surplus ones count, as others are not mistakes.
    Conversations have no pairs. Without a usable answer, only missed calls count.
    """
    if assessment.scored.no_answer is None:
        return tuple(_named(case, assessment.pairs(), unfound(case, assessment.scored)))
    missed = ASSESS_KIND[case.kind](case, Transcript()).pairs()
    return tuple(pair for pair in _named(case, missed) if pair.expected is not None)


def _named(
    case: ResolvedCase, pairs: Iterable[ToolsAndCall], lost: Sequence[Sequence[str]] = ()
) -> Iterator[CallPair]:
    for tools, call in pairs:
        if ANY_TOOL not in tools:
            called, hallucinated = _called(case, call)
            not_found = False
            if not tools:
                expected = None
            elif call is not None and accepts(tools, call.name, case):
                expected = called
            else:
                expected = _offered(case, tools[0]) or tools[0]
                not_found = tools in lost
            yield CallPair(
                expected=expected, called=called, hallucinated=hallucinated, not_found=not_found
            )


def _called(case: ResolvedCase, call: ToolCall | None) -> tuple[str | None, bool]:
    if call is None:
        return None, False
    offered = _offered(case, call.name)
    return (call.name, not call.hosted) if offered is None else (offered, False)


def _offered(case: ResolvedCase, name: str) -> str | None:
    """Return the name as spelt in the suite; None if the tool was not offered."""
    tool = find_tool(case, name)
    return None if tool is None else tool.name
