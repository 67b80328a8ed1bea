"""A conversation of several turns: each expectation is a check from 0 to 1, and `overall` is their mean.

The checks of each metric:

    calls    expected_calls with match exact, contains and within
    state    expected_state, and expected_calls with match state: the model's calls run on a new world,
             except those that changed nothing, and the expected calls on another
    results  with "results": true, the model got every answer that the turn's expected calls give
    text     expected_text
    conduct  forbidden_calls, max_calls and parallel; 0 for a turn that did not end
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from ..matchers.modes import MODES
from ..record.calls import NO_TOOL
from ..record.metrics import CONVERSATION
from ..record.results import Check, FailureCategory
from ..record.transcript import Transcript
from ..suite.case import ResolvedCase, Turn
from ..suite.expectations import ExpectedCall
from ..text import plural
from ..worlds.play import Plays
from .assessment import (
    EXPECTED_GOT,
    Assessment,
    CheckLine,
    Draft,
    Explained,
    SpanCheck,
    explain_all,
    held_text,
    mean,
    span_check,
)
from .extra_calls import surplus_lines
from .one_reply import reply_checks
from .paired_calls import PairedCalls
from .references import StateComparison, judged_by_state, match_of, state_row, world_checks
from .texts import text_parts
from .turns import CaseTurns, Span

_UNWANTED = "{0.name}: {0.actual}: {0.reason}"


def assess_conversation(case: ResolvedCase, transcript: Transcript) -> Assessment:
    checks = _Checks(CaseTurns(case, transcript))
    # No pairs: most calls only gather information, which is no mistake.
    return Assessment(
        checks.drafts(),
        checks.conversation.own_calls,
        checks.failure,
        _parts,
        malformed=checks.malformed,
        turns=transcript.turns,
        not_played=checks.states.not_played,
        differing=checks.states.differing,
    )


def _parts(category: FailureCategory) -> Sequence[str]:
    return ("conduct",) if category == "unfinished_turn" else CONVERSATION


class _Checks:
    """The checks of a conversation."""

    def __init__(self, conversation: CaseTurns) -> None:
        self.conversation = conversation
        self.states = StateComparison(conversation)
        self._checks = list(self._all_checks())
        self._by_metric = {
            metric: [check for check in self._checks if check.metric == metric]
            for metric in CONVERSATION
        }
        # A forbidden call makes `overall` 0; that there is none does not raise it.
        self._in_overall = [check for check in self._checks if check.failure != "forbidden_call"]
        self.malformed = next((each.malformed for each in self._checks if each.malformed), None)

    def drafts(self) -> dict[str, Draft]:
        drafts = {"overall": Draft(mean(self._in_overall), self._explain_overall)}
        for metric, checks in self._by_metric.items():
            value = mean(checks) if checks else None
            drafts[metric] = Draft(value, partial(explain_all, checks) if checks else "nothing to check")
        if "no_extra_calls" in self.conversation.case.thresholds:
            drafts["no_extra_calls"] = self._no_extra_calls()
        return drafts

    def _no_extra_calls(self) -> Draft:
        case = self.conversation.case
        checks = [check for span in self.conversation.spans for check in _extra(case, span)]
        if not checks:
            return Draft(None, "any number of calls is right")
        return Draft(min(check.value for check in checks), partial(explain_all, checks))

    def failure(self, failing: Collection[str]) -> FailureCategory | None:
        wrong = [check for check in self._checks if check.value < 1.0]
        if any(check.failure == "unfinished_turn" for check in wrong):
            return "unfinished_turn"
        wrong.sort(key=lambda check: CONVERSATION.index(check.metric))
        return wrong[0].failure if wrong else None

    def _explain_overall(self) -> Explained:
        checks = plural(len(self._in_overall), "check")
        by_metric = {name: [p for p in self._in_overall if p.metric == name] for name in CONVERSATION}
        each = ", ".join(f"{name} {held_text(some)}" for name, some in by_metric.items() if some)
        return f"{mean(self._in_overall):.4g} = the mean of {checks}: {each}", ()

    def _all_checks(self) -> Iterator[SpanCheck]:
        conversation = self.conversation
        case, turns, fails = conversation.case, conversation.turns, conversation.fails
        for span in turns:
            yield from _end(span, case.round_limit)
        if self.states.too_many:
            row = Check("state", "a world that could play the calls", "none", 0.0, self.states.too_many)
            yield span_check("state", "wrong_state", "", row)
        played, references = self.states.played, self.states.references()
        for span, forbidden, reference in zip(
            conversation.spans, conversation.forbidden, references, strict=True
        ):
            if not span.replies and span.turn:
                continue  # a turn that never began meets no expectation, not even to make no call
            yield from _calls(case, span)
            if played is not None:
                yield from _expected_states(case, span, played)
                if reference is not None:
                    yield from world_checks(case, span, played, reference)
            yield from text_parts(case, span, conversation.transcript, turns, fails=fails)
            yield from _conduct(span, forbidden, case)


def _end(span: Span, most: int) -> Iterator[SpanCheck]:
    """Yield a check for a turn that did not end."""
    if span.replies and not span.replies[-1].to_answer:
        return
    got, why = "no reply", "the turn never began"
    if span.replies:
        got, why = "calls", "no reply follows them"
        if sum(not (reply.is_paused or reply.is_inner) for reply in span.replies) >= most:
            got, why = "calls in every reply", f"max_rounds ({most}) was reached"
    row = Check("end", "a reply without calls", got, 0.0, why)
    yield span_check("conduct", "unfinished_turn", span.place, row)


def _calls(case: ResolvedCase, span: Span) -> Iterator[SpanCheck]:
    if span.expected.calls is not None and not judged_by_state(case, span.expected):
        match = match_of(case, span.expected)
        alternatives = [
            (_of_list(case, span, each.calls or ()), *reply_checks("conduct", case, span, each, match))
            for each in span.expected.alternatives
        ]
        # The first one of several that score the same.
        yield from max(alternatives, key=lambda checks: [check.value for check in checks])


def _of_list(case: ResolvedCase, span: Span, expected: Sequence[ExpectedCall]) -> SpanCheck:
    """Return the check of a span's calls against one list."""
    calls, match = span.calls, match_of(case, span.expected)
    if (not expected and match == "contains") or (expected and match == "within" and not calls):
        return span_check("calls", "missing_call", span.place, Check("calls", "any", NO_TOOL, 1.0, ""))
    in_order = span.expected.call_order == "strict"
    paired = PairedCalls(case, expected, calls, in_order=in_order, match=match, ended=span.scored_calls)
    drafts, failure = paired.drafts(), paired.failure() or "missing_call"
    if failure in ("wrong_tool", "hallucinated_tool", "surplus_call") and match != "exact":
        failure = "missing_call" if match == "contains" else "surplus_call"
    lines = partial(_call_lines, match, drafts)
    overall = drafts["overall"].value or 0.0
    return SpanCheck("calls", overall, failure, lines, span.place, paired.malformed)


def _extra(case: ResolvedCase, span: Span) -> Iterator[SpanCheck]:
    """Yield a check of whether there are more calls than expected, unless any number is right."""
    match, in_order = match_of(case, span.expected), span.expected.call_order == "strict"
    is_free = match == "contains" or span.expected.takes_any
    if span.expected.calls is None or is_free or MODES[case.param_scoring].only_overall:
        return
    lists = (each.calls or () for each in span.expected.alternatives)
    surpluses = [(each, PairedCalls(case, each, span.calls, in_order=in_order).extra) for each in lists]
    expected, extra = min(surpluses, key=lambda each: len(each[1]))
    lines = partial(surplus_lines, case, expected, extra, in_order=in_order)
    yield SpanCheck("no_extra_calls", float(not extra), "surplus_call", lines, span.place)


def _conduct(span: Span, forbidden: str | None, case: ResolvedCase) -> Iterator[SpanCheck]:
    is_turn = isinstance(span.expected, Turn)
    if forbidden or (span.expected.forbidden_calls if is_turn else case.forbidden_calls):
        row = Check("forbidden calls", NO_TOOL, forbidden or NO_TOOL, float(not forbidden), "")
        yield span_check("conduct", "forbidden_call", span.place, row, _UNWANTED)
    most = span.expected.max_calls if isinstance(span.expected, Turn) else None
    if most is not None:
        count = len(span.calls)
        row = Check("calls made", f"at most {most}", str(count), float(count <= most), "max_calls")
        yield span_check("conduct", "surplus_call", span.place, row)


def _expected_states(case: ResolvedCase, span: Span, played: Plays) -> Iterator[SpanCheck]:
    """Yield the checks of `expected_state` after a span."""
    state = played.states[span.last_turn - 1]
    for path, wanted in (span.expected.expected_state or {}).items():
        row = state_row(case, state, path, wanted)
        yield span_check("state", "wrong_state", span.place, row)


def _call_lines(match: str, drafts: dict[str, Draft]) -> list[CheckLine]:
    """Return the lines about tools and arguments that count for this `match`."""
    lines = []
    for check, _ in drafts["tool_selection"].explanation()[1]:
        is_surplus = check.expected == NO_TOOL
        ignored = {"contains": is_surplus, "within": check.actual == NO_TOOL and not is_surplus}
        if not ignored.get(match):
            lines.append(CheckLine(check, _UNWANTED if is_surplus else EXPECTED_GOT))
    arguments = (line.check for line in drafts["parameter_accuracy"].explanation()[1])
    return lines + [CheckLine(check, EXPECTED_GOT) for check in arguments if check.actual != NO_TOOL]
