"""Tool selection: is a called tool one of the expected ones?

Names ignore case, unless two offered tools differ only in case. Under `bfcl`, case counts, and an
expected `.` also matches `_`, with which providers replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.names import same_tool
from ..record.results import NO_TOOL, Check, FailureCategory
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL, ExpectedCall
from ..suite.tools import Tool
from ..text import printable, shorten
from .assessment import Line

NOT_OFFERED = "a tool that was not offered"


def same_name(expected: str, called: str, case: ResolvedCase) -> bool:
    """True if a called name is the expected one."""
    if expected == called:
        return True
    if MODES[case.param_scoring].exact_names:
        return expected.replace(".", "_") == called
    return same_tool(expected, called, (tool.name for tool in case.tools))


def accepts(tools: Sequence[str], called: str, case: ResolvedCase) -> bool:
    """True if a called name is one of the expected ones; `"*"` accepts any."""
    if called in tools or ANY_TOOL in tools:
        return True
    return any(same_name(tool, called, case) for tool in tools)


def is_expected(name: str, case: ResolvedCase) -> bool:
    """True if the case expects a call to this tool, not counting prerequisites."""
    return is_among(name, case.expected.calls or (), case)


def is_among(name: str, expected: Iterable[ExpectedCall], case: ResolvedCase) -> bool:
    """True if one of these calls is to this tool."""
    return any(accepts(each.tools, name, case) for each in expected)


def find_tool(case: ResolvedCase, name: str) -> Tool | None:
    """Return the offered tool with this name; None if there is none."""
    for tool in case.tools:
        if tool.name == name:
            return tool
    for tool in case.tools:
        if same_name(tool.name, name, case):
            return tool
    return None


def wrong_name(case: ResolvedCase, call: ToolCall) -> FailureCategory:
    """Return the failure category of a call to a tool that is not expected."""
    return "hallucinated_tool" if find_tool(case, call.name) is None else "wrong_tool"


def shown_names(tools: Sequence[str]) -> str:
    """Return expected tools as a short text."""
    if not tools:
        return NO_TOOL
    names = ["any tool" if tool == ANY_TOOL else printable(tool) for tool in tools]
    return shorten(" or ".join(names))


def shown_call(call: ToolCall | None) -> str:
    """Return the tool name of a call as a short text."""
    return NO_TOOL if call is None else printable(shorten(call.name, 80)) or "(no name)"


def check(case: ResolvedCase, tools: Sequence[str], call: ToolCall | None, place: str = "") -> Line:
    """Compare the expected tools with the tool of a call."""
    right = call is not None and accepts(tools, call.name, case)
    says = _other_called
    if call is None:
        why, says = "was not called", _not_called
    elif right:
        same = call.name in tools or ANY_TOOL in tools
        why = "called" if same else "called; the name is spelled differently"
    elif find_tool(case, call.name) is not None:
        why = "different tool"
    else:
        why, says = NOT_OFFERED, _unknown_called
    return Line(Check("tool", shown_names(tools), shown_call(call), float(right), why, place), says)


def _place(check: Check) -> str:
    return f"{check.place}: " if check.place else ""


def _not_called(check: Check) -> str:
    ending = "which was not called" if check.place else "no tool was called"
    return f"{_place(check)}expected {check.expected}, {ending}"


def _other_called(check: Check) -> str:
    return f"{_place(check)}expected {check.expected}, called {check.actual}"


def _unknown_called(check: Check) -> str:
    return f"{_other_called(check)}: {check.reason}"
