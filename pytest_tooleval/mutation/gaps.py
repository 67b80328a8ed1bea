"""Explain why wrong answers pass, and which lines would make them fail."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..figures import TOLERANCE
from ..matchers.combined import Exact
from ..matchers.compare import identical, matches
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.metrics import MAY_HAVE_THRESHOLD, PENALTIES
from ..record.results import TrialResult
from ..record.thresholds import misses
from ..suite.case import ResolvedCase
from ..suite.made_cases import expected_value
from .answers import RightTurn, schema_of, tool_named
from .results import GapKind, MutantCall, MutantKind, Survivor

ABSENT_MATCHER = {"$absent": True}
FILL_IN = "..."  # a value that only the suite's author knows; shown without quotes


class PassReason(NamedTuple):
    """Why a wrong answer passes; `add` are members that the object `to` in the suite lacks."""

    gap: GapKind
    add: dict[str, Any]
    to: str


def survivors_of(
    passing: Sequence[tuple[MutantKind, tuple[MutantCall, ...], PassReason]],
) -> tuple[Survivor, ...]:
    """Return the wrong answers that pass, each with the lines to add."""
    return tuple(Survivor(kind, calls, why.gap, _line(why.add), why.to) for kind, calls, why in passing)


def gap_of(
    case: ResolvedCase, kind: MutantKind, line: PassReason | None, right: TrialResult, wrong: TrialResult
) -> PassReason | None:
    """Return why a broken answer passes, and what to add; None if the case itself allows it.

    `line` is the line that a case needs in order to check the changed part; None if it checks it.
    """
    # Without a threshold on `overall`, a less efficient chain is right.
    may_be_longer = case.kind == "chain" and "overall" not in case.thresholds
    ignored = ("overall", "efficiency") if may_be_longer else ()
    worse = (m for m in MAY_HAVE_THRESHOLD if m not in ignored and _is_worse(m, right, wrong))
    if (lower := next(worse, None)) is None:
        return line
    if kind == "destructive_call" and line is not None:
        return line._replace(gap="threshold")
    return PassReason("threshold", {"thresholds": {lower: _least(right, lower)}}, "the case")


def not_named(case: ResolvedCase, turn: RightTurn, index: int, name: str) -> PassReason:
    """Return what the case must name for an argument of a call to count."""
    call, params = turn.calls[index], turn.expected[index].params
    arguments = call.arguments or {}
    declared = schema_of(tool_named(case, call.name)).get("properties") or {}
    if name not in declared:
        schemas: dict[str, Any] = {name: {} for name in arguments if name not in declared}
        line = {**({"properties": schemas} if schemas else {}), "additionalProperties": False}
        return PassReason("undeclared_arguments", line, f"the parameters of {call.name}")
    wanted = {name: FILL_IN if name in arguments else ABSENT_MATCHER}
    field, to, inside = "params", f"{turn.path}[{index}]", f"{turn.path}[{index}].params"
    if not turn.path:
        field, to, inside = "expected_params", "the case", "expected_params"
    if params is None:
        return PassReason("params_not_scored", {field: wanted}, to)
    return PassReason("argument_not_named", wanted, inside)


def of_its_own(case: ResolvedCase, turn: RightTurn, index: int, other: ToolCall) -> PassReason:
    """Return what an expected call needs so that the call made instead does not match it."""
    call, to = turn.calls[index], f"{turn.path}[{index}]"
    if call.name != other.name:
        return PassReason("equal_calls", {"tool": call.name}, to)
    arguments, others = call.arguments or {}, other.arguments or {}
    wanted: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in others or not identical(value, others[name]):
            same = name in others and matches(
                expected_value(value), others[name], MODES[case.param_scoring]
            )
            wanted[name] = {Exact.key: value} if same else expected_value(value)
    wanted |= {name: ABSENT_MATCHER for name in others if name not in arguments}
    if turn.expected[index].params is None:
        return PassReason("equal_calls", {"params": wanted}, to)
    return PassReason("equal_calls", wanted, f"{to}.params")


def _is_worse(metric: str, before: TrialResult, after: TrialResult) -> bool:
    one, two = before.values.get(metric), after.values.get(metric)
    return one is not None and two is not None and misses(metric, two, one)


def _least(trial: TrialResult, metric: str) -> float:
    """Return the score as a threshold of four digits that it reaches."""
    scaled = (trial.values[metric] or 0.0) * 10_000
    rounded = math.ceil(scaled - TOLERANCE) if metric in PENALTIES else math.floor(scaled + TOLERANCE)
    return rounded / 10_000


def _line(add: dict[str, Any]) -> str:
    """Return the JSON of members, without the object's braces."""
    return json.dumps(add, ensure_ascii=False)[1:-1].replace(json.dumps(FILL_IN), FILL_IN)
