"""A chain of calls that leads to an expected tool, and its metrics.

The chain ends with the reply that calls an expected tool, with a reply without calls, or after
`max_rounds` replies. Every call up to that point counts. A paused reply is part of the next one.

    completion  0.6 + 0.4 x arguments of the call to the expected tool; 0 without one
    efficiency  optimal_hops / calls, at most 1; None without optimal_hops, taken as 1 in `overall`
    redundancy  0.1 per call identical to the one before it (tool and arguments), at most 1; not if the
                two got different answers, as when paying twice
    detours     0.1 per call, except the completing one, to a tool that is neither a prerequisite nor
                expected, at most 1
    overall     completion * efficiency - redundancy - detours, between 0 and 1; with expected texts, the
                mean of completion and these checks takes the place of completion

Another call to an expected tool in the last reply is surplus, and so is every later call, which only an
agent with its own loop makes, except retries of failed calls. They make `no_extra_calls` 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from msgspec import structs

from ..record.call_records import call_records
from ..record.calls import ToolCall, shown_tool
from ..record.results import Check, FailureCategory
from ..record.transcript import Reply, Transcript
from ..suite.case import ResolvedCase
from ..suite.resolved import accepts, is_expected
from ..text import json_text, plural
from .assessment import Assessment, CheckLine, Draft, Explained, SpanCheck, ToolsAndCall, held_text
from .expected_tool import BestCall, choose
from .extra_calls import MORE_OFTEN, explain_extra, no_extra_calls, shared_out, telling_metrics, weigh
from .one_call import check_arguments, check_tool, same_call, shown_names
from .texts import mean_with, text_checks, with_texts

_REPEATED = "the same call as the one before it"
_DETOUR = "a detour: neither a prerequisite nor expected"
_LATER = "not expected after the call that completes the chain"


def assess_chain(case: ResolvedCase, transcript: Transcript) -> Assessment:
    texts = text_checks(case, transcript)
    chain = _Chain(case, transcript, texts)
    calls = [(case, call) for call in chain.calls]
    mistakes = chain.failure, chain.telling_metrics, chain.pairs, chain.malformed
    return with_texts(Assessment(chain.drafts(), calls, *mistakes), texts)


class _Chain:
    """The calls of a chain."""

    def __init__(self, case: ResolvedCase, transcript: Transcript, texts: Sequence[SpanCheck]) -> None:
        self._case = case
        self._texts = texts
        rounds = [reply for reply in transcript.replies if not reply.is_paused]
        self.calls, self._contents, self._best, taken = _walk(case, rounds[: case.round_limit])
        self._completing = self._best.call if self._best else None
        self.malformed = self._best.bad_call if self._best else None
        self._completed_at = next((i for i, c in enumerate(self.calls) if c is self._completing), None)
        self._surplus: list[int] = []
        self._extra: list[ToolCall] = []
        if self._completing is not None and not case.expected.takes_any:
            ending = (i for i in range(len(self.calls)) if i != self._completed_at)
            self._surplus = [i for i in ending if is_expected(self.calls[i].name, case)]
            later = _surplus_later(case, rounds[taken - 1 :])
            self._extra = [*(self.calls[i] for i in self._surplus), *later]
        self._replied = any(not reply.calls for reply in rounds[: case.round_limit])
        share = self._best and self._best.share
        self._flaw = share.flaw if share else None
        self._accuracy = share.value if share else None
        self._completion = weigh(1.0, self._accuracy) if self._best else 0.0
        self._efficiency = _efficiency(case.optimal_hops, len(self.calls))
        self._redundant = [i for i in range(1, len(self.calls)) if self._repeats(i)]
        self._detours = [i for i in range(len(self.calls)) if self._is_detour(i)]
        self._factor = 1.0 if self._efficiency is None else self._efficiency
        self._lost = {
            "redundancy_penalty": _penalty(self._redundant),
            "detour_penalty": _penalty(self._detours),
        }
        self._checks = mean_with(self._completion, texts)
        value, self._divisor = shared_out(case, self._checks * self._factor, self._extra)
        self._value = value - self._lost["redundancy_penalty"] - self._lost["detour_penalty"]

    def _repeats(self, index: int) -> bool:
        before, content = self._contents[index - 1 : index + 1]
        new_answer = None not in (before, content) and before != content
        return not new_answer and same_call(self._case, self.calls[index - 1], self.calls[index])

    def _is_detour(self, index: int) -> bool:
        case, name = self._case, self.calls[index].name
        return not (
            accepts(case.expected.expected_tools, name, case)
            or accepts(case.valid_prerequisites, name, case)
        )

    def drafts(self) -> dict[str, Draft]:
        missed = self._best is None and self._case.expected.expected_params is not None
        return {
            "completion": Draft(self._completion, self._explain_completion),
            "efficiency": Draft(self._efficiency, self._explain_efficiency),
            "redundancy_penalty": self._penalty(self._redundant, "identical to the one before"),
            "detour_penalty": self._penalty(self._detours, "to tools that are not needed"),
            "tool_selection": Draft(float(self._best is not None), self._explain_tool),
            "parameter_accuracy": Draft(0.0 if missed else self._accuracy, self._explain_arguments),
            "overall": Draft(min(1.0, max(0.0, self._value)), self._explain_overall),
            "no_extra_calls": no_extra_calls(self._case, self._extra).reword(self._said_later),
        }

    def failure(self, failing: Collection[str]) -> FailureCategory | None:
        if failing == {"efficiency"}:
            return "inefficient_chain"
        if self._flaw is not None:
            return self._flaw
        if self._best is None:
            return "unfinished_chain" if self.calls else "missing_call"
        # A surplus call does more harm than a detour.
        if self._divisor or "no_extra_calls" in failing:
            return "surplus_call"
        inefficient = self._redundant or self._detours or (self._efficiency or 1.0) < 1.0
        return "inefficient_chain" if inefficient else None

    def telling_metrics(self, category: FailureCategory) -> Sequence[str]:
        lost = {**self._lost, "efficiency": self._completion * (1.0 - self._factor)}
        if category == "inefficient_chain":
            return sorted(lost, key=lambda metric: -lost[metric])
        return (*telling_metrics(category), *lost)

    def pairs(self) -> list[ToolsAndCall]:
        """The completing call, or else the last, and surplus calls; others are not mistakes."""
        last = self.calls[-1] if self.calls else None
        ending = self._completing or last
        return [(self._case.expected.expected_tools, ending), *(((), call) for call in self._extra)]

    def _said_later(self, text: str, lines: Sequence[CheckLine]) -> Explained:
        """The explanation of surplus calls. One to a prerequisite is expected elsewhere in the chain."""
        return text, [
            line._replace(check=structs.replace(line.check, reason=_LATER))
            if accepts(self._case.valid_prerequisites, line.check.actual, self._case)
            else line
            for line in lines
        ]

    def _explain_completion(self) -> Explained:
        if self._best is None:
            expected = shown_names(self._case.expected.expected_tools)
            return f"the chain never reached {expected}", ()
        if self._accuracy is None:
            return "reached the expected tool (arguments are not scored)", ()
        return f"{self._completion:.4g} = 0.6 + 0.4 × {self._accuracy:.4g} (arguments)", ()

    def _explain_efficiency(self) -> Explained:
        optimal = self._case.optimal_hops
        if optimal is None:
            return "optimal_hops is not given: efficiency is not scored", ()
        return f"{optimal} (optimal_hops) / {len(self.calls)} calls", self._lines()

    def _penalty(self, calls: Sequence[int], what: str) -> Draft:
        def explain() -> Explained:
            return f"{plural(len(calls), 'call')} {what}, 0.1 each", self._lines(calls)

        return Draft(_penalty(calls), explain)

    def _explain_tool(self) -> Explained:
        check, says = check_tool(self._case, self._case.expected.expected_tools, self._completing)
        ending = f"ended with {check.actual}"
        if self._completing is None:
            # Do not name the last call, which may have been right.
            reply = "with a reply " if self._replied else ""
            ending = f"ended {reply}after {plural(len(self.calls), 'call')}"
            check = structs.replace(check, reason=ending) if self.calls else check
        return f"expected {check.expected}, the chain {ending}", [CheckLine(check, says)]

    def _explain_arguments(self) -> Explained:
        expected = self._case.expected.expected_params
        if expected is None and not self.malformed:
            return "arguments are not scored", ()
        lines = check_arguments(self._case, expected or {}, self._completing)
        of = "arguments of the completing call" if self._best else "the chain has no completing call"
        return of, lines

    def _explain_overall(self) -> Explained:
        redundancy, detours = self._lost.values()
        checks = f"completion, text {held_text(self._texts)}" if self._texts else "completion"
        text = (
            f"{max(0.0, self._value):.4g} = "
            f"{self._checks:.4g} ({checks}) × {self._factor:.4g} (efficiency){self._divisor} "
            f"- {redundancy:.4g} (redundancy) - {detours:.4g} (detours)"
        )
        least = ", at least 0" if self._value < 0 else ""
        surplus = explain_extra(self._case, self._extra)[1] if self._divisor else ()
        return text + least, [*surplus, *self._lines()]

    def _lines(self, indexes: Sequence[int] | None = None) -> list[CheckLine]:
        """Return a line per call, by default for all; equal calls in a row share one."""
        indexes = range(len(self.calls)) if indexes is None else indexes
        lines: list[CheckLine] = []
        rows = ((*self._row(index), index - earlier) for earlier, index in enumerate(indexes))
        end = 0
        for (shown, why, value, before), same in groupby(rows):
            first = before + end + 1
            end += len(list(same))
            last = before + end
            numbers = f"{first}-{last}" if last > first else f"{first}"
            lines.append(CheckLine(Check(f"call {numbers}", "", shown, value, why, "the chain"), None))
        return lines

    def _row(self, index: int) -> tuple[str, str, float]:
        """Return a call as text, its role in the chain, and 1.0 if that is right, else 0.0."""
        call = self.calls[index]
        arguments = call.raw_arguments if call.arguments is None else call.arguments
        shown = f"{shown_tool(call)} {json_text(arguments, 60)}"
        flaws = [
            text
            for text, indexes in (
                (_REPEATED, self._redundant),
                (_DETOUR, self._detours),
                (MORE_OFTEN, self._surplus),
            )
            if index in indexes
        ]
        if flaws:
            return shown, ", and ".join(flaws), 0.0
        return shown, "the completing call" if index == self._completed_at else "on the way", 1.0


def _walk(
    case: ResolvedCase, replies: Sequence[Reply]
) -> tuple[tuple[ToolCall, ...], Sequence[str | None], BestCall | None, int]:
    """Return the calls, their answers (None if unknown), the completing call and the reply count."""
    chain: tuple[ToolCall, ...] = ()
    contents: list[str | None] = []
    ended = call_records(replies)
    for number, reply in enumerate(replies, 1):
        calls = reply.calls
        chain += calls
        contents += [each.answer for each in ended[number - 1]]
        final = choose(case, calls)
        if final is not None or not calls:
            return chain, contents, final, number
    return chain, contents, None, len(replies)


def _surplus_later(case: ResolvedCase, replies: Sequence[Reply]) -> list[ToolCall]:
    """Return the calls after the first reply, except retries of failed calls and their prerequisites."""
    failed: list[ToolCall] = []
    surplus: list[ToolCall] = []
    for number, of_reply in enumerate(call_records(replies)):
        for call, *_ in of_reply if number else ():
            first = next((each for each in failed if same_call(case, each, call)), None)
            if first is not None:
                failed.remove(first)
            elif not (failed and accepts(case.valid_prerequisites, call.name, case)):
                surplus.append(call)
        failed += [each.call for each in of_reply if each.failed]
    return surplus


def _efficiency(optimal: int | None, calls: int) -> float | None:
    if optimal is None:
        return None
    return min(1.0, optimal / calls) if calls else 0.0


def _penalty(calls: Sequence[int]) -> float:
    # 0.1 each; a division, as 0.1 * 3 is not 0.3.
    return min(1.0, len(calls) / 10)
