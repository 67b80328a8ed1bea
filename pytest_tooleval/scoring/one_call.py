"""A call compared with an expected one: its tool, and its arguments.

Names of tools ignore case, unless two offered tools differ only in case. Under `bfcl`, case counts, and
an expected `.` also matches `_`, with which providers replace it.

Parameter accuracy is the share of expected arguments that a call got right. Each expected argument
counts 0 or 1: `correct / total`. Absent optional arguments count in neither. Unexpected arguments are
not scored, except under `bfcl`, where each counts as a wrong one. If nothing is expected (`{}`), the
accuracy is 1.0. Malformed arguments always score 0, even if none are expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from ..errors import CannotCompare, ScoringError
from ..jsonschemas.exact import frozen
from ..jsonschemas.parameters import takes_null
from ..matchers.compare import compare_with_reason, matches, with_keys_of
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES, Mode, ParamScoring
from ..record.calls import NO_TOOL, ToolCall, shown_tool
from ..record.results import ABSENT, Check, FailureCategory
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL
from ..suite.resolved import accepts, find_tool, is_unknown, same_name
from ..text import MOST_SHOWN, fold, json_text, printable, shorten, shown
from .assessment import EXPECTED_GOT, CheckLine

NOT_OFFERED = "a tool that was not offered"


def wrong_name(case: ResolvedCase, call: ToolCall) -> FailureCategory:
    """Return the failure category of a call to a tool that is not expected."""
    return "hallucinated_tool" if is_unknown(case, call) else "wrong_tool"


def shown_names(tools: Sequence[str]) -> str:
    """Return expected tools as a short text."""
    if not tools:
        return NO_TOOL
    names = ["any tool" if tool == ANY_TOOL else printable(tool) for tool in tools]
    return shorten(" or ".join(names))


def caller_of(call: ToolCall, calls: Iterable[ToolCall]) -> str:
    """Return the agent that made a call, as a short text; empty unless several made these calls."""
    if call.agent is None or len({each.agent for each in calls}) < 2:
        return ""
    return printable(shorten(call.agent, 80))


def check_tool(
    case: ResolvedCase, tools: Sequence[str], call: ToolCall | None, place: str = ""
) -> CheckLine:
    """Compare the expected tools with the tool of a call."""
    right = call is not None and accepts(tools, call.name, case)
    where = "{0.place}: " if place else ""
    says = f"{where}expected {{0.expected}}, called {{0.actual}}"
    if call is None:
        why, ending = "was not called", "which was not called" if place else "no tool was called"
        says = f"{where}expected {{0.expected}}, {ending}"
    elif right:
        same = call.name in tools or ANY_TOOL in tools
        why = "called" if same else "called; the name is spelled differently"
    elif not is_unknown(case, call):
        why = "different tool"
    else:
        why, says = NOT_OFFERED, f"{says}: {{0.reason}}"
    return CheckLine(Check("tool", shown_names(tools), shown_tool(call), float(right), why, place), says)


class CorrectShare(NamedTuple):
    """`correct` of `total` arguments; `total` is at least 1.

    `flaw` is the most important mistake, None if there is none. A missing argument outranks an
    unexpected one, which outranks a wrong value, so a misspelt name counts as missing.
    """

    correct: int
    total: int
    flaw: FailureCategory | None = None

    @property
    def value(self) -> float:
        return self.correct / self.total

    def with_more(self, other: CorrectShare) -> CorrectShare:
        """The share of what both count."""
        return CorrectShare(
            self.correct + other.correct, self.total + other.total, self.flaw or other.flaw
        )


RIGHT = CorrectShare(1, 1)
NOT_AN_OBJECT = CorrectShare(0, 1, "invalid_arguments")
NO_CALL = CorrectShare(0, 1, "missing_call")


def share_of(
    case: ResolvedCase, expected: Mapping[str, Any] | None, call: ToolCall
) -> CorrectShare | None:
    """Return the share of expected arguments that a call got right; None if they are not scored."""
    if expected is None:
        return NOT_AN_OBJECT if call.arguments is None else None
    return compare_arguments(expected, _given(case, expected, call), MODES[case.param_scoring])


def _given(case: ResolvedCase, expected: Mapping[str, Any], call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments without the nulls by which strict tools leave out what may be absent."""
    arguments = call.arguments or {}
    absent = (name for name, value in arguments.items() if value is None)
    nulls = [name for name in absent if is_optional(expected.get(name))]
    tool = find_tool(case, call.name) if nulls else None
    if tool is None:
        return call.arguments
    left_out = [name for name in nulls if takes_null(tool.parameters, name)]
    return {name: value for name, value in arguments.items() if name not in left_out}


def compare_arguments(
    expected: Mapping[str, Any], arguments: Mapping[str, Any] | None, rules: Mode
) -> CorrectShare:
    """Return the share of expected arguments that the arguments got right."""
    if arguments is None:
        return NOT_AN_OBJECT
    correct = present = missing = 0
    flaw: FailureCategory | None = None
    name = ""
    arguments = with_keys_of(expected, arguments, rules)
    try:
        for name, value in expected.items():
            if name in arguments:
                present += 1
                if matches(value, arguments[name], rules):
                    correct += 1
                else:
                    flaw = "wrong_value"
            elif not is_optional(value):
                missing += 1
    except CannotCompare as error:
        raise error.within(name) from None
    except RecursionError:
        raise CannotCompare("the expected value is nested too deeply", name) from None
    unexpected = len(arguments) - present if rules.counts_unexpected else 0
    if unexpected:
        flaw = "unexpected_argument"
    if missing:
        flaw = "missing_argument"
    total = present + missing + unexpected
    return CorrectShare(correct, total, flaw) if total else RIGHT


def params_match(expected: Mapping[str, Any], arguments: Mapping[str, Any], mode: ParamScoring) -> bool:
    """True if all arguments are right. Raises ScoringError as scoring does."""
    try:
        return compare_arguments(expected, arguments, MODES[mode]).flaw is None
    except CannotCompare as error:
        raise ScoringError(f"{error.place}: {error.message}") from None


def shown_arguments(call: ToolCall) -> str:
    """Return the arguments as a short text, even if they are not JSON."""
    if call.arguments is not None:
        return json_text(call.arguments)
    return shown(call.raw_arguments or "") or "(empty)"


def check_arguments(
    case: ResolvedCase, expected: Mapping[str, Any], call: ToolCall | None, place: str = ""
) -> list[CheckLine]:
    """Return a line per expected argument and, under `bfcl`, per unexpected argument."""
    rules = MODES[case.param_scoring]
    cleaned = None if call is None else structs.replace(call, arguments=_given(case, expected, call))
    return argument_lines(expected, cleaned, rules, place)


def argument_lines(
    expected: Mapping[str, Any], call: ToolCall | None, rules: Mode, place: str = ""
) -> list[CheckLine]:
    """Return a line per expected argument and, if these rules count them, per unexpected argument."""

    def line(name: str, got: str, why: str, says: str = EXPECTED_GOT, right: bool = False) -> CheckLine:
        wanted = json_text(expected[name], MOST_SHOWN) if name in expected else ABSENT
        return CheckLine(
            Check(printable(shorten(name, 60)), wanted, got, float(right), why, place), says
        )

    if call is None:
        return [
            line(name, NO_TOOL, "is missing")
            for name, value in expected.items()
            if not is_optional(value)
        ]
    arguments: Mapping[str, Any] | None = call.arguments
    if arguments is None:
        got, why = shown_arguments(call), call.why_malformed
        wanted = json_text(expected, MOST_SHOWN) if expected else "a JSON object"
        return [CheckLine(Check("arguments", wanted, got, 0.0, why, place), "{0.reason}: {0.actual}")]
    lines = []
    arguments = with_keys_of(expected, arguments, rules)
    # Reversed, so that the first of several names that differ only in case wins.
    unexpected = {fold(name): name for name in reversed([*arguments]) if name not in expected}
    for name, value in expected.items():
        if name in arguments:
            right, why = compare_with_reason(value, arguments[name], rules)
            lines.append(line(name, json_text(arguments[name], MOST_SHOWN), why, right=right))
        elif is_optional(value):
            lines.append(line(name, ABSENT, "is absent, and may be", right=True))
        else:
            lines.append(
                line(
                    name,
                    ABSENT,
                    _missing(unexpected.get(fold(name))),
                    "{0.name} {0.reason} (expected {0.expected})",
                )
            )
    if rules.counts_unexpected:
        lines += [
            line(
                name, json_text(value, MOST_SHOWN), "is not expected", "{0.name}: {0.actual} {0.reason}"
            )
            for name, value in arguments.items()
            if name not in expected
        ]
    return lines


def _missing(like: str | None) -> str:
    return "is missing" if like is None else f"is missing; {json_text(like)} is a different name"


def same_call(case: ResolvedCase, one: ToolCall, other: ToolCall) -> bool:
    """True if two calls have the same tool and the same arguments: 5 is 5.0, but 1 is not true."""
    if not same_name(one.name, other.name, case):
        return False
    if one.arguments is None or other.arguments is None:
        return one.arguments is other.arguments and one.raw_arguments == other.raw_arguments
    return bool(frozen(one.arguments) == frozen(other.arguments))
