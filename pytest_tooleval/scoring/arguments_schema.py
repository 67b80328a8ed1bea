"""`arguments_valid`: are all arguments valid under the tool's schema, with none invented?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any

from ..errors import CannotCompare
from ..explain import field_path
from ..jsonschemas.parameters import extra_paths
from ..jsonschemas.validation import is_valid, violations
from ..matchers.compare import matches
from ..matchers.examples import is_named
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES
from ..record.calls import ToolCall, shown_tool
from ..record.results import Check, FailureCategory
from ..suite.case import ResolvedCase
from ..suite.resolved import accepts, find_tool
from ..text import json_text, printable, shorten
from .assessment import WITH_REASON, CheckLine, Draft, InTurns, Turns
from .one_call import NOT_OFFERED, shown_arguments

_MOST_FAULTS = 20
_OFF_IN_SUITE = '"thresholds": {"arguments_valid": null}'
_OFF_IN_PYTHON = 'thresholds={"arguments_valid": None}'


def score_arguments(calls: InTurns, turns: Turns) -> Draft:
    """Score 1.0 if all arguments are valid, else 0.0; None without a call.

    A call is also invalid if its turn did not offer its tool, its arguments are not a JSON object, a key
    appears twice, or the tool lacks a parameter. A call in one of these `turns` does not count if a
    later reply of the turn calls its tool with valid arguments. Values that the case expects are not
    held against the model: the score is None if nothing else breaks the schema. An unusable schema is
    the suite's mistake: it raises CannotCompare if the case has a threshold on this metric, and else
    gives None.
    """
    # What a provider runs itself has no schema here.
    calls = [(case, call) for case, call in calls if not call.hosted or find_tool(case, call.name)]
    if not calls:
        return Draft(None, "no tool was called")
    try:
        invalid = _invalid(calls, turns)
        if invalid and not any(_faults(case, call) for case, call in invalid):
            return Draft(None, "only the case's own expected values break the schema")
    except CannotCompare as error:
        if _is_judged(calls):
            raise
        return Draft(None, f"{error.place}: {error.message}")
    return Draft(float(not invalid), partial(_explain, calls, turns))


def _is_judged(calls: InTurns) -> bool:
    return any("arguments_valid" in case.thresholds for case, _ in calls)


def _invalid(calls: InTurns, turns: Turns) -> InTurns:
    """Return the invalid calls that no later one in the turn fixed."""
    return [
        (case, call)
        for case, call in calls
        if not _is_valid(case, call) and not _is_mended(case, call, turns)
    ]


def _is_mended(case: ResolvedCase, call: ToolCall, turns: Turns) -> bool:
    tool = find_tool(case, call.name)
    later = (
        reply
        for turn in turns
        for index, made_by in enumerate(turn)
        if any(each is call for each in made_by.calls)
        for reply in turn[index + 1 :]
        if not reply.is_inner
    )
    return tool is not None and any(
        find_tool(case, each.name) is tool and _is_valid(case, each)
        for reply in later
        for each in reply.calls
    )


def argument_flaw(calls: InTurns, turns: Turns = ()) -> FailureCategory:
    """Return the failure category of calls that are not all valid."""
    invalid = _invalid(calls, turns)
    schemas = [_schema(case, call) for case, call in invalid]
    if None in schemas:
        return "hallucinated_tool"
    invented = all(
        extra_paths(schema or {}, call.arguments or {})
        for schema, (_, call) in zip(schemas, invalid, strict=True)
    )
    return "unexpected_argument" if invented else "invalid_arguments"


def _schema(case: ResolvedCase, call: ToolCall) -> dict[str, Any] | None:
    """The schema of the called tool; None if it was not offered."""
    tool = find_tool(case, call.name)
    return None if tool is None else tool.parameters


def _is_valid(case: ResolvedCase, call: ToolCall) -> bool:
    schema = _schema(case, call)
    if schema is None and call.hosted:
        return True  # nobody knows what it takes
    if call.arguments is None or schema is None:
        return False
    try:
        return is_valid(schema, call.arguments) and not extra_paths(schema, call.arguments)
    except CannotCompare as error:
        raise error.within(f"tools.{printable(call.name)}.parameters") from None


def _faults(case: ResolvedCase, call: ToolCall) -> list[str]:
    """Return what is wrong with a call's arguments, except where the case expects it."""
    if call.arguments is None:
        return [call.why_malformed]
    schema = _schema(case, call)
    if schema is None:
        return [NOT_OFFERED]
    invented = extra_paths(schema, call.arguments)
    allowed = cache(lambda name: (name,) in invented or _is_expected(case, call, name, is_named))
    wrong = (text for name, text in violations(schema, call.arguments) if not allowed(name))
    broken = list(islice(wrong, _MOST_FAULTS))
    broken += [
        f"the tool has no parameter {json_text(field_path(path))}"
        for path in invented
        if not _is_expected(case, call, str(path[0]), _matches)
    ]
    return broken


def _is_expected(
    case: ResolvedCase, call: ToolCall, name: str | None, fits: Callable[[Any, Any], bool]
) -> bool:
    """True if the case expects the parameter's value, or its absence, in this call."""
    arguments = call.arguments or {}
    return any(
        fits(params[name], arguments[name]) if name in arguments else is_optional(params[name])
        for params in _expected_params(case, call)
        if name is not None and name in params
    )


def _matches(expected: Any, value: Any) -> bool:
    # A spelling that is right for the case may be wrong for the tool.
    return matches(expected, value, MODES["case_sensitive"])


def _expected_params(case: ResolvedCase, call: ToolCall) -> Iterator[Mapping[str, Any]]:
    """Yield the params that the case expects in calls to this tool."""
    for expected in (each for part in case.expectations for each in part.calls or ()):
        if expected.params and accepts(expected.tools, call.name, case):
            yield expected.params


def _explain(calls: InTurns, turns: Turns) -> tuple[str, list[CheckLine]]:
    invalid = _invalid(calls, turns)
    wrong = [check for case, call in invalid if not (check := _check(case, call)).value]
    if not wrong:
        return "the arguments of every call are valid under its tool's schema", []
    text = f"{len(wrong)} of {len(calls)} calls: {wrong[0].what}: {wrong[0].reason}"
    if argument_flaw(invalid) == "unexpected_argument" and _is_judged(calls):
        text += f"; to let it pass: {_OFF_IN_PYTHON if calls[0][0].by_test else _OFF_IN_SUITE}"
    return text, [CheckLine(check, WITH_REASON) for check in wrong]


def _check(case: ResolvedCase, call: ToolCall) -> Check:
    faults = _faults(case, call)
    why = shorten(printable("; ".join(faults)), 200)
    return Check(shown_tool(call), "", shown_arguments(call), float(not faults), why or "valid")
