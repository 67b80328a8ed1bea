"""Calls beyond the expected ones, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..matchers.modes import MODES
from ..record.calls import NO_TOOL, ToolCall, shown_tool
from ..record.results import Check, FailureCategory
from ..suite.case import ResolvedCase
from ..suite.expectations import ExpectedCall
from ..suite.resolved import find_tool, is_among, is_unknown
from ..text import plural
from .assessment import CheckLine, Draft, Explained
from .one_call import NOT_OFFERED

MORE_OFTEN = "more often than expected"
UNEXPECTED = "called {0.actual}: {0.reason}"
_PARTS = ("tool_selection", "parameter_accuracy", "text")
_SHOWN = 50  # surplus calls in an explanation


def telling_metrics(category: FailureCategory) -> Sequence[str]:
    return ("no_extra_calls", *_PARTS) if category == "surplus_call" else _PARTS


def weigh(tool: float, arguments: float | None) -> float:
    """Return `0.6 * tool + 0.4 * arguments`, or just `tool` if arguments are not scored."""
    return tool if arguments is None else 0.6 * tool + 0.4 * arguments


def no_extra_calls(case: ResolvedCase, extra: Sequence[ToolCall]) -> Draft:
    """Score `no_extra_calls`; None if any number of calls is right, and under `bfcl`."""
    if case.expected.takes_any:
        return Draft(None, "any number of calls is right")
    if MODES[case.param_scoring].only_overall:
        return Draft(None, "overall counts the calls beyond the expected")
    return Draft(0.0 if extra else 1.0, partial(explain_extra, case, extra))


def shared_out(case: ResolvedCase, value: float, extra: Sequence[ToolCall]) -> tuple[float, str]:
    """Return `overall` divided by the number of calls under `bfcl`, and the divisor as text."""
    if not extra or not MODES[case.param_scoring].only_overall:
        return value, ""
    return value / (1 + len(extra)), f" / {1 + len(extra)} (calls)"


def explain_extra(case: ResolvedCase, extra: Sequence[ToolCall]) -> Explained:
    if not extra:
        return "no more calls than expected", ()
    wanted = case.expected
    text = f"{plural(len(extra), 'call')} more than expected"
    # If several calls are expected, or none, `overall` also counts the extra ones.
    if wanted.expected_tools and "no_extra_calls" in case.thresholds:
        text += '; to let it pass: "thresholds": {"no_extra_calls": null}'
    return text, surplus_lines(case, wanted.calls or (), extra, in_order=wanted.call_order == "strict")


def surplus_lines(
    case: ResolvedCase, expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], *, in_order: bool
) -> list[CheckLine]:
    lines = []
    for call in calls[:_SHOWN]:
        says = UNEXPECTED
        if is_unknown(case, call):
            why = NOT_OFFERED
        elif find_tool(case, call.name) is None:
            why = "the provider's own tool, which provider_tools does not list"
        elif not is_among(call.name, expected, case):
            why = "not expected"
        else:
            says = "called {0.actual} {0.reason}"
            why = f"{MORE_OFTEN}, or out of order" if in_order else MORE_OFTEN
        lines.append(CheckLine(Check("tool", NO_TOOL, shown_tool(call), 0.0, why, "surplus call"), says))
    return lines
