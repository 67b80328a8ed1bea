"""`expected_tool`: a reply that should contain one call to one of these tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..errors import CannotCompare
from ..record.calls import ToolCall
from ..record.results import FailureCategory
from ..suite.case import ResolvedCase
from ..suite.resolved import accepts
from .assessment import Draft, Explained, ToolsAndCall
from .extra_calls import explain_extra, shared_out, weigh
from .one_call import NO_CALL, CorrectShare, check_arguments, check_tool, share_of, wrong_name


class BestCall(NamedTuple):
    """The best-scoring call; `share` is None if arguments are not scored."""

    call: ToolCall
    share: CorrectShare | None

    @property
    def bad_call(self) -> ToolCall | None:
        return self.call if self.call.arguments is None else None


def choose(case: ResolvedCase, calls: Sequence[ToolCall]) -> BestCall | None:
    """Return the call to an expected tool with the best arguments, or None."""
    expected = case.expected
    best: BestCall | None = None
    for call in calls:
        if accepts(expected.expected_tools, call.name, case):
            share = _share(case, call)
            if best is None or best.share is None or share is None or share.value > best.share.value:
                best = BestCall(call, share)
            if share is None or share.flaw is None:
                break
    return best


def _share(case: ResolvedCase, call: ToolCall) -> CorrectShare | None:
    try:
        return share_of(case, case.expected.expected_params, call)
    except CannotCompare as error:
        raise error.within("expected_params") from None


class OneCall:
    """`expected_tool`: scores the best call to an expected tool."""

    def __init__(self, case: ResolvedCase, calls: Sequence[ToolCall]) -> None:
        self._case = case
        self._calls = calls
        choice = choose(case, calls)
        self._tool = 0.0 if choice is None else 1.0
        self.malformed = None if choice is None else choice.bad_call
        # Tool and argument scores are independent, so arguments are scored even for a wrong tool.
        if choice is None and calls:
            choice = BestCall(calls[0], _share(case, calls[0]))
        self._call = choice.call if choice else None
        self._share = choice.share if choice else None
        if choice is None and case.expected.expected_params is not None:
            self._share = NO_CALL
        self.extra = [] if case.expected.takes_any else list(calls)
        if self._call in self.extra:
            self.extra.remove(self._call)
        accuracy = self._share and self._share.value
        self._overall, self._divisor = shared_out(case, weigh(self._tool, accuracy), self.extra)

    def drafts(self) -> dict[str, Draft]:
        accuracy = None if self._share is None else self._share.value
        return {
            "tool_selection": Draft(self._tool, self._explain_tool),
            "parameter_accuracy": Draft(accuracy, self._explain_arguments),
            "overall": Draft(self._overall, self._explain_overall),
        }

    def failure(self, failing: Collection[str]) -> FailureCategory | None:
        flaw = None if self._share is None else self._share.flaw
        if flaw is None and self._divisor and self._tool:
            return "surplus_call"
        if flaw is not None and failing == {"parameter_accuracy"}:
            return flaw
        if self._call is None:
            return "missing_call"
        return flaw if self._tool else wrong_name(self._case, self._call)

    def pairs(self) -> list[ToolsAndCall]:
        return [(self._case.expected.expected_tools, self._call), *(((), call) for call in self.extra)]

    def _explain_tool(self) -> Explained:
        line = check_tool(self._case, self._case.expected.expected_tools, self._call)
        return f"expected {line.check.expected}, got {line.check.actual}", [line]

    def _explain_arguments(self) -> Explained:
        expected = self._case.expected.expected_params
        if expected is None and self._share is None:
            return "expected_params is not given: arguments are not scored", ()
        lines = check_arguments(self._case, expected or {}, self._call)
        return _arguments_right(self._share or NO_CALL, self._call), lines

    def _explain_overall(self) -> Explained:
        lines = explain_extra(self._case, self.extra)[1] if self._divisor else ()
        text = "tool selection (arguments are not scored)"
        if self._share is not None:
            text = f"0.6 × {self._tool:.4g} (tool) + 0.4 × {self._share.value:.4g} (arguments)"
            text = f"({text})" if self._divisor else text
        return f"{self._overall:.4g} = {text}{self._divisor}", lines


def _arguments_right(share: CorrectShare, call: ToolCall | None) -> str:
    if call is None:
        return "no tool was called"
    if call.arguments is None:
        return call.why_malformed
    return f"{share.correct} of {share.total} arguments right"
