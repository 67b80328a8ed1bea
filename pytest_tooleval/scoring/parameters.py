"""Parameter accuracy: the share of expected parameters that a call got right.

Each expected parameter counts 0 or 1: `correct / total`. One that is expected as `$optional` and
is absent is in neither number, so leaving it out never costs and a wrong value does. Parameters
that nobody expects are not scored, except under `bfcl`, where each adds a wrong one to the total.
Nothing expected (`{}`) is 1.0; arguments that are not a JSON object are 0, whatever is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from ..errors import ScoringError
from ..results import Check
from ..results import FailureCategory
from ..results import ToolCall
from ..suite.model import ParamScoring
from ..text import json_text
from ..text import printable
from ..text import shorten
from .matchers import RULES
from .matchers import Rules
from .matchers import is_optional
from .matchers import matches
from .problems import CannotCompare
from .reasons import reason


class Share(NamedTuple):
    """`correct` of `total` parameters; `total` is at least 1."""

    correct: int
    total: int

    @property
    def value(self) -> float:
        return self.correct / self.total

    @property
    def perfect(self) -> bool:
        return self.correct == self.total


ALL = Share(1, 1)
NONE = Share(0, 1)


def compare(expected: Mapping[str, Any], arguments: Mapping[str, Any] | None, rules: Rules) -> Share:
    """How many of the expected parameters the arguments got right."""
    if arguments is None:
        return NONE
    correct = total = 0
    for name, value in expected.items():
        if name in arguments:
            total += 1
            correct += _right(name, value, arguments[name], rules)
        elif not is_optional(value):
            total += 1
    if rules.mode == "bfcl":
        total += sum(name not in expected for name in arguments)
    return Share(correct, total) if total else ALL


def _right(name: str, expected: Any, actual: Any, rules: Rules) -> bool:
    try:
        return matches(expected, actual, rules)
    except CannotCompare as error:
        raise error.within(name) from None
    except RecursionError:
        raise CannotCompare("the expected value is nested too deeply", name) from None


def params_match(expected: Mapping[str, Any], arguments: Mapping[str, Any], mode: ParamScoring) -> bool:
    """Whether the arguments are all that is expected. Raises ScoringError as scoring does."""
    try:
        return compare(expected, arguments, RULES[mode]).perfect
    except CannotCompare as error:
        raise ScoringError(f"{error.place}: {error.message}") from None


def failure(expected: Mapping[str, Any] | None, call: ToolCall, rules: Rules) -> FailureCategory | None:
    """What is wrong with the parameters of a call, or None when nothing is.

    A missing parameter goes before an unexpected one, and that before a wrong value: a misspelt
    name is the first of these.
    """
    if expected is None:
        return None
    arguments = call.arguments
    if arguments is None:
        return "invalid_arguments"
    if any(name not in arguments and not is_optional(value) for name, value in expected.items()):
        return "missing_parameter"
    if rules.mode == "bfcl" and any(name not in expected for name in arguments):
        return "unexpected_parameter"
    return None if compare(expected, arguments, rules).perfect else "wrong_value"


def checks(
    expected: Mapping[str, Any], call: ToolCall | None, rules: Rules, prefix: str = ""
) -> list[Check]:
    """One row per expected parameter, and under `bfcl` one per unexpected parameter."""
    if call is None:
        return [
            Check(prefix + _shown_name(name), json_text(value), "(no call)", 0.0, "")
            for name, value in expected.items()
        ]
    arguments = call.arguments
    if arguments is None:
        raw = call.raw_arguments or ""
        got = shorten(printable(shorten(raw, 81))) or "(empty)"
        why = "the arguments are not a JSON object"
        rows = [
            Check(prefix + _shown_name(name), json_text(value), got, 0.0, why)
            for name, value in expected.items()
        ]
        return rows or [Check(prefix + "arguments", "a JSON object", got, 0.0, why)]
    rows = []
    for name, value in expected.items():
        if name in arguments:
            right, why = reason(value, arguments[name], rules)
            got = json_text(arguments[name])
            rows.append(Check(prefix + _shown_name(name), json_text(value), got, float(right), why))
        elif is_optional(value):
            rows.append(
                Check(prefix + _shown_name(name), json_text(value), "(absent)", 1.0, "may be absent")
            )
        else:
            rows.append(
                Check(
                    prefix + _shown_name(name),
                    json_text(value),
                    "(absent)",
                    0.0,
                    _missing(name, expected, arguments),
                )
            )
    if rules.mode == "bfcl":
        for name in arguments:
            if name not in expected:
                got = json_text(arguments[name])
                rows.append(Check(prefix + _shown_name(name), "(absent)", got, 0.0, "is not expected"))
    return rows


def _shown_name(name: str) -> str:
    return printable(shorten(name, 60))


def _missing(name: str, expected: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    for other in arguments:
        if other not in expected and other.casefold() == name.casefold():
            return f"is missing; {json_text(other)} is another name"
    return "is missing"
