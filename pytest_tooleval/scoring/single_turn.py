"""A single reply that should have no call, one call or several calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..errors import CannotCompare
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.results import NO_TOOL
from ..record.results import Check
from ..record.results import FailureCategory
from ..suite.model import ANY_TOOL
from ..suite.model import ResolvedCase
from ..text import counted
from . import argument_scores
from . import tool_selection
from .argument_scores import Share
from .calls import MAX_ACTUAL
from .calls import MAX_EXPECTED
from .calls import Assignment
from .calls import Row
from .calls import pair
from .drafts import Draft
from .drafts import Explained
from .drafts import Pair

MORE_OFTEN = "more often than expected"
_SHOWN = 50  # surplus calls in an explanation


def overall(tool: float, arguments: float | None) -> float:
    """`0.6 * tool + 0.4 * arguments`; the tool alone if arguments are not scored."""
    return tool if arguments is None else 0.6 * tool + 0.4 * arguments


def no_extra_calls(case: ResolvedCase, extra: Sequence[ToolCall]) -> Draft:
    """`no_extra_calls`: None if any number of calls is right."""
    if any_number_is_right(case):
        return Draft(None, "any number of calls is right")
    return Draft(0.0 if extra else 1.0, partial(_explain_extra, case, extra))


def any_number_is_right(case: ResolvedCase) -> bool:
    return MODES[case.param_scoring].only_overall or ANY_TOOL in case.case.expected_tools


def _explain_extra(case: ResolvedCase, extra: Sequence[ToolCall]) -> Explained:
    if not extra:
        return "no more calls than expected", []
    text = f"{counted(len(extra), 'call')} more than expected"
    # If several calls are expected, or none, `overall` counts the extra ones as well.
    if case.case.expected_tools and "no_extra_calls" in case.thresholds:
        text += '; to let it pass: "thresholds": {"no_extra_calls": null}'
    return text, _surplus_rows(case, extra)


def _surplus_rows(case: ResolvedCase, calls: Sequence[ToolCall]) -> list[Check]:
    return [
        Check("tool", NO_TOOL, tool_selection.shown_call(call), 0.0, why, "surplus call")
        for call, why in ((call, _why_extra(case, call)) for call in calls[:_SHOWN])
    ]


def _why_extra(case: ResolvedCase, call: ToolCall) -> str:
    if tool_selection.find_tool(case, call.name) is None:
        return tool_selection.NOT_OFFERED
    if not tool_selection.is_expected(call.name, case):
        return "not expected"
    if case.case.call_order == "strict":
        return f"{MORE_OFTEN}, or out of order"
    return MORE_OFTEN


class NoCallExpected:
    """`expected_tool: null` or `expected_calls: []`: right only if nothing was called."""

    def __init__(self, case: ResolvedCase, calls: Sequence[ToolCall]) -> None:
        self._case = case
        self._calls = calls

    def scores(self) -> dict[str, Draft]:
        value = 0.0 if self._calls else 1.0
        return {
            "tool_selection": Draft(value, self._explain),
            "parameter_accuracy": Draft(None, "no call is expected"),
            "overall": Draft(value, self._explain),
            "no_extra_calls": no_extra_calls(self._case, self._calls),
        }

    def failure(self) -> FailureCategory | None:
        return "unexpected_call" if self._calls else None

    def argument_failure(self) -> FailureCategory | None:
        return None

    def pairs(self) -> list[Pair]:
        return [((), call) for call in self._calls] or [((), None)]

    def _explain(self) -> Explained:
        if not self._calls:
            row = Check("tool", NO_TOOL, NO_TOOL, 1.0, "as expected")
            return "no tool was called, as expected", [row]
        rows = [
            Check("tool", NO_TOOL, tool_selection.shown_call(call), 0.0, "no tool should be called")
            for call in self._calls
        ]
        return f"{counted(len(rows), 'call')}, but none is expected", rows


class Choice(NamedTuple):
    """The call that scores best; `share` is None if arguments are not scored."""

    call: ToolCall
    share: Share | None


def choose(case: ResolvedCase, calls: Sequence[ToolCall]) -> Choice | None:
    """The call to an expected tool with the best arguments, or None."""
    test = case.case
    best: Choice | None = None
    for call in calls:
        if tool_selection.accepts(test.expected_tools, call.name, case):
            if test.expected_params is None:
                return Choice(call, None)
            share = _compare(case, call)
            if best is None or best.share is None or share.value > best.share.value:
                best = Choice(call, share)
            if share.flaw is None:
                break
    return best


def _compare(case: ResolvedCase, call: ToolCall) -> Share:
    try:
        return argument_scores.compare(
            case.case.expected_params or {}, call.arguments, MODES[case.param_scoring]
        )
    except CannotCompare as error:
        raise error.within("expected_params") from None


class OneCallExpected:
    """`expected_tool`: the best call to an expected tool is scored."""

    def __init__(self, case: ResolvedCase, calls: Sequence[ToolCall]) -> None:
        self._case = case
        self._calls = calls
        choice = choose(case, calls)
        self._tool = 0.0 if choice is None else 1.0
        # Arguments are scored even if the tool is wrong: the two scores are independent.
        if choice is None and calls:
            scored = case.case.expected_params is not None
            choice = Choice(calls[0], _compare(case, calls[0]) if scored else None)
        self._call = choice.call if choice else None
        self._share = choice.share if choice else None
        if choice is None and case.case.expected_params is not None:
            self._share = argument_scores.NO_CALL
        self._extra = list(calls)
        if self._call is not None:
            self._extra.remove(self._call)

    def scores(self) -> dict[str, Draft]:
        accuracy = None if self._share is None else self._share.value
        return {
            "tool_selection": Draft(self._tool, self._explain_tool),
            "parameter_accuracy": Draft(accuracy, self._explain_arguments),
            "overall": Draft(overall(self._tool, accuracy), self._explain_overall),
            "no_extra_calls": no_extra_calls(self._case, self._extra),
        }

    def failure(self) -> FailureCategory | None:
        if self._call is None:
            return "missing_call"
        if not self._tool:
            return tool_selection.wrong_name(self._case, self._call)
        return self.argument_failure()

    def argument_failure(self) -> FailureCategory | None:
        return None if self._share is None else self._share.flaw

    def pairs(self) -> list[Pair]:
        extra = [] if any_number_is_right(self._case) else self._extra
        return [(self._case.case.expected_tools, self._call), *(((), call) for call in extra)]

    def _explain_tool(self) -> Explained:
        row = tool_selection.check(self._case, self._case.case.expected_tools, self._call)
        return f"expected {row.expected}, got {row.actual}", [row]

    def _explain_arguments(self) -> Explained:
        expected = self._case.case.expected_params
        if expected is None:
            return "expected_params is not given: arguments are not scored", []
        rows = argument_scores.checks(expected, self._call, MODES[self._case.param_scoring])
        return _counted(self._share or argument_scores.NO_CALL, self._call), rows

    def _explain_overall(self) -> Explained:
        if self._share is None:
            return f"{self._tool:.4g} = tool selection (arguments are not scored)", []
        tool, accuracy = self._tool, self._share.value
        value = overall(tool, accuracy)
        return f"{value:.4g} = 0.6 × {tool:.4g} (tool) + 0.4 × {accuracy:.4g} (arguments)", []


def _counted(share: Share, call: ToolCall | None) -> str:
    if call is None:
        return "no tool was called"
    if call.arguments is None:
        return call.why_malformed
    return f"{share.correct} of {share.total} arguments right"


class SeveralCallsExpected:
    """`expected_calls`: the best pairing's total over max(expected, actual)."""

    def __init__(self, case: ResolvedCase, calls: Sequence[ToolCall]) -> None:
        self._case = case
        self._calls = calls
        self._expected = case.case.expected_calls or []
        self._in_order = case.case.call_order == "strict"
        self._rules = MODES[case.param_scoring]
        if len(self._expected) > MAX_EXPECTED:
            most = f"at most {MAX_EXPECTED} can be scored; split the case"
            raise CannotCompare(f"{len(self._expected)} calls are expected, {most}", "expected_calls")
        allowed = {"contains": len(self._expected), "within": len(calls)}
        self._most = allowed.get(case.case.match or "", max(len(self._expected), len(calls)))
        self._scored = sum(expected.params is not None for expected in self._expected)
        self._rows = [
            Row([self._share(index, call) for call in calls[:MAX_ACTUAL]], expected.params is not None)
            for index, expected in enumerate(self._expected)
        ]
        self._pairing = self._pair(self._in_order)
        more = len(calls) > len(self._expected)
        self._extra = self._surplus(self._pairing) if more else []

    def _pair(self, in_order: bool) -> Assignment:
        return pair(self._rows, in_order=in_order) if self._calls else Assignment({}, (), 0.0, 0.0)

    def _share(self, index: int, call: ToolCall) -> Share | None:
        expected = self._expected[index]
        if not tool_selection.accepts(expected.tools, call.name, self._case):
            return None
        if expected.params is None:
            return argument_scores.ALL
        try:
            return argument_scores.compare(expected.params, call.arguments, self._rules)
        except CannotCompare as error:
            raise error.within(f"expected_calls[{index}].params") from None

    def scores(self) -> dict[str, Draft]:
        pairing, scored = self._pairing, self._scored
        accuracy = pairing.arguments / scored if scored else None
        return {
            "tool_selection": Draft(len(pairing.pairs) / self._most, self._explain_tools),
            "parameter_accuracy": Draft(accuracy, self._explain_arguments),
            "overall": Draft(pairing.total / self._most, self._explain_overall),
            "no_extra_calls": no_extra_calls(self._case, self._extra),
        }

    def failure(self) -> FailureCategory | None:
        if not self._calls:
            return "missing_call"
        if len(self._pairing.pairs) < self._most:
            free = self._free()
            surplus = self._surplus(free)
            missing = len(free.pairs) < len(self._expected)
            if any(tool_selection.find_tool(self._case, call.name) is None for call in surplus):
                return "hallucinated_tool"
            if surplus:
                return "wrong_tool" if missing else "surplus_call"
            if missing:
                return "missing_call"
        if self._in_order and self._pair(in_order=False).total > self._pairing.total:
            return "wrong_order"
        return self.argument_failure()

    def argument_failure(self) -> FailureCategory | None:
        return next((share.flaw for share in self._pairing.shares if share.flaw is not None), None)

    def pairs(self) -> list[Pair]:
        """Unpaired calls are, in order, taken to be made instead of the missing ones."""
        free = self._free()
        surplus = iter(self._surplus(free))
        found: list[Pair] = []
        for index, expected in enumerate(self._expected):
            j = free.pairs.get(index)
            found.append((expected.tools, next(surplus, None) if j is None else self._calls[j]))
        found += [((), call) for call in surplus]
        return found or [((), None)]

    def _free(self) -> Assignment:
        """The best pairing in any order."""
        return self._pair(in_order=False) if self._in_order else self._pairing

    def _surplus(self, pairing: Assignment) -> list[ToolCall]:
        paired = set(pairing.pairs.values())
        return [call for j, call in enumerate(self._calls) if j not in paired]

    def _explain_tools(self) -> Explained:
        rows = []
        for i, expected in enumerate(self._expected):
            call = self._paired(i)
            rows.append(tool_selection.check(self._case, expected.tools, call, f"call {i + 1}"))
        rows += _surplus_rows(self._case, self._surplus(self._pairing))
        count = len(self._pairing.pairs)
        return f"{count} of {self._most} calls to the right tool{self._counts()}", rows

    def _explain_arguments(self) -> Explained:
        rows = []
        for i, expected in enumerate(self._expected):
            if expected.params is not None:
                call = self._paired(i)
                rows += argument_scores.checks(expected.params, call, self._rules, f"call {i + 1}")
        if not self._scored:
            return "no expected call has params: arguments are not scored", []
        return f"mean over {self._scored} expected calls; a missing call counts 0", rows

    def _explain_overall(self) -> Explained:
        parts = []
        for i in range(min(len(self._expected), 10)):
            call = self._paired(i)
            share = None if call is None else self._share(i, call)
            parts.append(f"{0.0 if share is None else overall(1.0, share.value):.4g}")
        value, more = self._pairing.total / self._most, " + …" * (len(self._expected) > 10)
        return f"{value:.4g} = ({' + '.join(parts)}{more}) / {self._most}{self._counts()}", []

    def _paired(self, index: int) -> ToolCall | None:
        j = self._pairing.pairs.get(index)
        return None if j is None else self._calls[j]

    def _counts(self) -> str:
        if len(self._expected) == len(self._calls):
            return ""
        return f" ({len(self._expected)} expected, {len(self._calls)} made)"
