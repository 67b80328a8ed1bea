"""`arguments_valid`: do the arguments of every call validate against the called tool's own schema?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..record.calls import ToolCall
from ..record.results import Check
from ..suite.model import ResolvedCase
from ..text import json_text
from ..text import printable
from ..text import shorten
from .drafts import Draft
from .json_schema import errors
from .json_schema import is_valid
from .problems import CannotCompare
from .tool_selection import find_tool
from .tool_selection import shown_call


def score_arguments(case: ResolvedCase, calls: Sequence[ToolCall]) -> Draft:
    """1.0 when all arguments are valid, else 0.0; None without a call.

    A call to a tool that was not offered, or with arguments that are not a JSON object, is not
    valid. A schema that cannot be used is the suite's mistake: CannotCompare when the case has a
    threshold on this metric, else None.
    """
    if not calls:
        return Draft(None, "no tool was called")
    try:
        valid = all(_valid(case, call) for call in calls)
    except CannotCompare as error:
        if "arguments_valid" in case.thresholds:
            raise
        return Draft(None, f"{error.place}: {error.message}")
    return Draft(float(valid), partial(_explain, case, calls))


def _valid(case: ResolvedCase, call: ToolCall) -> bool:
    if call.arguments is None:
        return False
    tool = find_tool(case, call.name)
    if tool is None:
        return False
    schema = tool.function.parameters
    try:
        return schema is None or is_valid(schema, call.arguments)
    except CannotCompare as error:
        raise error.within(f"tools.{printable(tool.name)}.parameters") from None


def _explain(case: ResolvedCase, calls: Sequence[ToolCall]) -> tuple[str, list[Check]]:
    checks = [_check(case, call) for call in calls]
    wrong = [check for check in checks if not check.value]
    if not wrong:
        return "the arguments of every call are valid under its tool's schema", checks
    return f"{len(wrong)} of {len(calls)} calls: {wrong[0].what}: {wrong[0].reason}", checks


def _check(case: ResolvedCase, call: ToolCall) -> Check:
    what, expected = shown_call(call), "arguments valid under the tool's schema"
    if call.arguments is None:
        got = shorten(printable(shorten(call.raw_arguments or "", 81))) or "(empty)"
        return Check(what, expected, got, 0.0, "the arguments are not a JSON object")
    got = json_text(call.arguments)
    tool = find_tool(case, call.name)
    if tool is None:
        return Check(what, expected, got, 0.0, "a tool that was not offered")
    if _valid(case, call):
        return Check(what, expected, got, 1.0, "valid")
    why = "; ".join(errors(tool.function.parameters, call.arguments))
    return Check(what, expected, got, 0.0, shorten(printable(why), 200))
