"""A chain of calls on the way to an expected tool, and the seed's four metrics of it.

The chain ends with the reply that holds a call to an expected tool, with a reply without calls, or
after `max_rounds` replies. Every call of every reply up to there is a hop.

    completion  0.6 + 0.4 x parameters of the call to the expected tool; 0 when there is none
    efficiency  optimal_hops / hops, at most 1; None, and 1 in the formula, without optimal_hops
    redundancy  0.1 per call identical to the one before it (tool and arguments), at most 1; not where
                the two were answered differently, as a second half refund is
    detours     0.1 per call, other than the completing one, to a tool that is neither a
                prerequisite nor expected, at most 1
    overall     completion * efficiency - redundancy - detours, between 0 and 1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import structs

from ..record.calls import ToolCall
from ..record.results import Check
from ..record.results import FailureCategory
from ..record.transcript import Round
from ..record.transcript import Transcript
from ..suite.model import DEFAULT_MAX_ROUNDS
from ..suite.model import ResolvedCase
from ..text import counted
from ..text import json_text
from . import parameters
from . import tool_selection
from .drafts import Draft
from .drafts import Explained
from .drafts import Pair
from .matchers import RULES
from .matchers import identical
from .overall import overall
from .problems import CannotCompare
from .single_turn import Choice
from .single_turn import called_for_nothing
from .single_turn import choose

PENALTY = 0.1
_REPEATED = "the same call as the one before it"
_DETOUR = "a detour: neither a prerequisite nor expected"


class Chain:
    """The trajectory of a multi-turn case."""

    def __init__(self, case: ResolvedCase, transcript: Transcript) -> None:
        self._case = case
        if case.case.expected_calls:
            raise CannotCompare("a multi-turn case needs expected_tool instead", "expected_calls")
        self.hops, self._contents, self._final = _walk(case, transcript)
        self._replied = any(not round_.reply.calls for round_ in _rounds(case, transcript))
        optimal = case.case.optimal_hops
        if case.case.expects_nothing:
            self._completion = 0.0 if self.hops else 1.0
        elif self._final is None:
            self._completion = 0.0
        else:
            share = self._final.share
            self._completion = overall(1.0, None if share is None else share.value)
        self._efficiency = _efficiency(optimal, len(self.hops))
        self._redundant = [i for i in range(1, len(self.hops)) if self._repeats(i)]
        self._detours = [i for i in range(len(self.hops)) if self._is_detour(i)]

    def _repeats(self, index: int) -> bool:
        before, content = self._contents[index - 1 : index + 1]
        told_more = None not in (before, content) and before != content
        return not told_more and same_call(self._case, self.hops[index - 1], self.hops[index])

    def _is_detour(self, index: int) -> bool:
        test, name = self._case.case, self.hops[index].name
        mode = self._case.param_scoring
        return not (
            tool_selection.accepts(test.expected_tools, name, mode)
            or tool_selection.accepts(test.valid_prerequisites, name, mode)
        )

    def scores(self) -> dict[str, Draft]:
        final, test = self._final, self._case.case
        accuracy = final.share.value if final and final.share else None
        if final is None and test.expected_params is not None and not test.expects_nothing:
            accuracy = 0.0
        reached = final is not None or (test.expects_nothing and not self.hops)
        redundancy, detours = _penalty(self._redundant), _penalty(self._detours)
        efficiency = 1.0 if self._efficiency is None else self._efficiency
        value = self._completion * efficiency - redundancy - detours
        return {
            "completion": Draft(self._completion, self._explain_completion),
            "efficiency": Draft(self._efficiency, self._explain_efficiency),
            "redundancy_penalty": Draft(redundancy, self._explain_redundancy),
            "detour_penalty": Draft(detours, self._explain_detours),
            "tool_selection": Draft(float(reached), self._explain_tool),
            "parameter_accuracy": Draft(accuracy, self._explain_parameters),
            "overall": Draft(min(1.0, max(0.0, value)), self._explain_overall),
        }

    def failure(self) -> FailureCategory | None:
        if self._case.case.expects_nothing:
            return "unexpected_call" if self.hops else None
        if self._final is None:
            return "unfinished_chain" if self.hops else "missing_call"
        found = self.parameter_failure()
        if found is not None:
            return found
        inefficient = self._redundant or self._detours or (self._efficiency or 1.0) < 1.0
        return "inefficient_chain" if inefficient else None

    def parameter_failure(self) -> FailureCategory | None:
        return self._final.share.flaw if self._final and self._final.share else None

    def pairs(self) -> list[Pair]:
        """The call that the chain ended with; those on the way are nobody's mistake."""
        if self._case.case.expects_nothing:
            return called_for_nothing(self.hops)
        last = self.hops[-1] if self.hops else None
        return [(self._case.case.expected_tools, self._final.call if self._final else last)]

    def _explain_completion(self) -> Explained:
        if self._case.case.expects_nothing:
            return ("a tool was called where none should be" if self.hops else "no tool was called"), []
        if self._final is None:
            wanted = tool_selection.shown_names(self._case.case.expected_tools)
            return f"the chain never reached {wanted}", []
        if self._final.share is None:
            return "reached the expected tool (parameters are not scored)", []
        accuracy = self._final.share.value
        return f"{self._completion:.4g} = 0.6 + 0.4 × {accuracy:.4g} (parameters)", []

    def _explain_efficiency(self) -> Explained:
        optimal = self._case.case.optimal_hops
        if optimal is None:
            return "optimal_hops is not given: efficiency is not scored", []
        return f"{optimal} optimal / {len(self.hops)} actual hops", self._hop_rows(range(len(self.hops)))

    def _explain_redundancy(self) -> Explained:
        calls = counted(len(self._redundant), "call")
        text = f"{calls} identical to the one before, {PENALTY:g} each"
        return text, self._hop_rows(self._redundant)

    def _explain_detours(self) -> Explained:
        calls = counted(len(self._detours), "call")
        return f"{calls} to tools off the way, {PENALTY:g} each", self._hop_rows(self._detours)

    def _explain_tool(self) -> Explained:
        tools = self._case.case.expected_tools
        if not tools:
            return self._explain_completion()
        row = tool_selection.check(self._case, tools, self._final.call if self._final else None)
        ending = f"ended with {row.actual}"
        if self._final is None:
            # The last call may have been right: it only was not enough.
            reply = "with a reply " if self._replied else ""
            ending = f"ended {reply}after {counted(len(self.hops), 'call')}"
            row = structs.replace(row, reason=ending) if self.hops else row
        return f"expected {row.expected}, the chain {ending}", [row]

    def _explain_parameters(self) -> Explained:
        expected = self._case.case.expected_params
        if expected is None or self._case.case.expects_nothing:
            return "parameters are not scored", []
        call = self._final.call if self._final else None
        rows = parameters.checks(expected, call, RULES[self._case.param_scoring])
        text = "parameters of the completing call" if call else "the chain has no completing call"
        return text, rows

    def _explain_overall(self) -> Explained:
        efficiency = 1.0 if self._efficiency is None else self._efficiency
        redundancy, detours = _penalty(self._redundant), _penalty(self._detours)
        value = self._completion * efficiency - redundancy - detours
        text = (
            f"{max(0.0, value):.4g} = "
            f"{self._completion:.4g} (completion) × {efficiency:.4g} (efficiency) "
            f"- {redundancy:.4g} (redundancy) - {detours:.4g} (detours)"
        )
        return text + (", at least 0" if value < 0 else ""), self._hop_rows(range(len(self.hops)))

    def _hop_rows(self, hops: Sequence[int]) -> list[Check]:
        """What is said of these hops; once, where it is the same of several in a row."""
        rows: list[Check] = []
        said = ((*self._said_of(hop), hop - place) for place, hop in enumerate(hops))
        end = 0
        for (shown, why, value, before), same in groupby(said):
            first = before + end + 1
            end += len(list(same))
            last = before + end
            numbers = f"{first}-{last}" if last > first else f"{first}"
            rows.append(Check(f"hop {numbers}", "", shown, value, why, "the chain"))
        return rows

    def _said_of(self, index: int) -> tuple[str, str, float]:
        """The call, what it is in the chain, and what that counts."""
        call = self.hops[index]
        arguments = call.raw_arguments if call.arguments is None else call.arguments
        shown = f"{tool_selection.shown_call(call)} {json_text(arguments, 60)}"
        flaws = [
            text
            for text, found in ((_REPEATED, self._redundant), (_DETOUR, self._detours))
            if index in found
        ]
        if flaws:
            return shown, ", and ".join(flaws), 0.0
        completes = self._final is not None and call is self._final.call
        return shown, "the completing call" if completes else "on the way", 1.0


def _rounds(case: ResolvedCase, transcript: Transcript) -> Sequence[Round]:
    return transcript.rounds[: case.case.max_rounds or DEFAULT_MAX_ROUNDS]


def _walk(
    case: ResolvedCase, transcript: Transcript
) -> tuple[tuple[ToolCall, ...], Sequence[object], Choice | None]:
    """The calls, what each was answered (None where that is unknown), and the completing call."""
    hops: tuple[ToolCall, ...] = ()
    contents: list[object] = []
    for round_ in _rounds(case, transcript):
        calls = round_.reply.calls
        hops += calls
        told = [answer.get("content") for answer in round_.answers]
        contents += [*told, *[None] * len(calls)][: len(calls)]
        final = choose(case, calls)
        if final is not None or not calls:
            return hops, contents, final
    return hops, contents, None


def _efficiency(optimal: int | None, hops: int) -> float | None:
    if optimal is None:
        return None
    return min(1.0, optimal / hops) if hops else 0.0


def _penalty(calls: Sequence[int]) -> float:
    # A tenth each, by one division: 0.1 * 3 is not 0.3.
    return min(1.0, len(calls) / 10)


def same_call(case: ResolvedCase, one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls name the same tool and give it identical arguments."""
    if not tool_selection.same_name(one.name, other.name, case.param_scoring):
        return False
    if one.arguments is None or other.arguments is None:
        return one.arguments is other.arguments and one.raw_arguments == other.raw_arguments
    try:
        return one.arguments == other.arguments and identical(one.arguments, other.arguments)
    except RecursionError:
        return one.raw_arguments == other.raw_arguments
