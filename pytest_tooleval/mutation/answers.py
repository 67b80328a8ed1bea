"""The right answer of a case, made from its expectations."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import product
from typing import Any
from typing import NamedTuple

from ..jsonschemas.values import NOTHING
from ..jsonschemas.values import required_values
from ..matchers.combined import AnyOf
from ..matchers.examples import inside
from ..matchers.examples import right_value
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.results import TrialResult
from ..record.transcript import Reply
from ..record.transcript import Transcript
from ..scoring import score_transcript
from ..scoring.thresholds import missed_thresholds
from ..scoring.tool_selection import find_tool
from ..scoring.tool_selection import is_expected
from ..suite.mocks import SEQUENCE
from ..suite.mocks import WHEN
from ..suite.model import ANY_TOOL
from ..suite.model import ResolvedCase
from ..suite.model import Tool
from ..text import json_text
from .results import Call

Replies = tuple[tuple[ToolCall, ...], ...]
Params = Mapping[str, Any]

MESSAGE = {"role": "assistant", "content": None}


class Right(NamedTuple):
    """A right answer: the calls `earlier` in a chain, then the calls that the case judges.

    `names` and `params` are the expected tools and arguments of each of these calls; the arguments are
    None if they are not scored.
    """

    earlier: tuple[ToolCall, ...]
    calls: tuple[ToolCall, ...]
    names: tuple[tuple[str, ...], ...]
    params: tuple[Params | None, ...]
    trial: TrialResult

    def replies(self, calls: Sequence[ToolCall] | None = None) -> Replies:
        """A reply for each earlier call, and a last one with all calls or the given ones instead."""
        return (*((call,) for call in self.earlier), self.calls if calls is None else tuple(calls))


class UnknownError(Exception):
    """Why no right answer is known."""


def score(case: ResolvedCase, replies: Replies) -> TrialResult:
    made = (Reply(message=MESSAGE, calls=calls, format="native") for calls in replies)
    return score_transcript(case, Transcript((), tuple(made)))


def calls_of(replies: Iterable[Sequence[ToolCall]]) -> tuple[Call, ...]:
    return tuple(Call(call.name, call.arguments or {}) for calls in replies for call in calls)


def right_answer(case: ResolvedCase) -> Right:
    """The best answer known that passes.

    Raises UnknownError if there is none, and ScoringError if the case cannot be scored.
    """
    # Required parameters that are not expected are filled in, unless that lowers a score.
    tried = [
        _answer(case, fills=fills, optionals=optionals)
        for fills, optionals in product((True, False), (True, False))
    ]
    passing = [right for right in tried if right.trial.passed]
    if not passing:
        raise UnknownError(why_failed(case, tried[0].trial))
    return max(passing, key=lambda right: sum(value or 0.0 for value in right.trial.values.values()))


def why_failed(case: ResolvedCase, trial: TrialResult) -> str:
    called = " and ".join(map(shown_call, trial.calls)) or "no call"
    for metric, (value, least) in missed_thresholds(trial.values, case.thresholds).items():
        if value is not None:
            return f"{called} fails: {metric} {value:.2f} < {least:.2f}: {trial.wrong}"
    return f"{called} fails: {trial.failure}"


def shown_call(call: ToolCall | Call) -> str:
    """`get_weather(city="Rome")`."""
    given = (f"{name}={json_text(value, 60)}" for name, value in (call.arguments or {}).items())
    return f"{call.name}({', '.join(given)})"


def _answer(case: ResolvedCase, *, fills: bool, optionals: bool) -> Right:
    calls: list[ToolCall] = []
    expected = list(_expected(case))
    for index, (names, params) in enumerate(expected):
        # Calls with the same expectations get different right values.
        turned = _turned(params, expected[:index].count((names, params)))
        calls.append(expected_call(case, names, turned, fills=fills, optionals=optionals))
    earlier = tuple(_earlier(case)) if calls else ()
    tools, params_ = tuple(names for names, _ in expected), tuple(params for _, params in expected)
    right = Right(earlier, tuple(calls), tools, params_, TrialResult())
    return right._replace(trial=score(case, right.replies()))


def _expected(case: ResolvedCase) -> Iterator[tuple[tuple[str, ...], Params | None]]:
    test = case.case
    if test.expected_calls is not None:
        yield from ((call.tools, call.params) for call in test.expected_calls)
    elif not test.expects_nothing:
        yield test.expected_tools, test.expected_params


def _turned(params: Params | None, steps: int) -> Params | None:
    if not steps or params is None:
        return params
    turned = dict(params)
    for name, value in params.items():
        if isinstance(value, dict) and value.get(AnyOf.key):
            members = value[AnyOf.key]
            turned[name] = {AnyOf.key: [*members[steps % len(members) :], *members]}
    return turned


def expected_call(
    case: ResolvedCase, names: Sequence[str], params: Params | None, *, fills: bool, optionals: bool
) -> ToolCall:
    tool = next((found for name in names if (found := offered(case, name)) is not None), None)
    schema = schema_of(tool)
    arguments: dict[str, Any] = required_values(schema) if fills else {}
    for name, expected in (params or {}).items():
        if is_optional(expected) and not optionals:
            continue
        value = right_value(expected, inside(schema, name), MODES[case.param_scoring])
        if value is not NOTHING:
            arguments[name] = value
        elif not is_optional(expected):
            raise UnknownError(f"no value is known that {name} accepts: {json_text(expected)}")
    return ToolCall(names[0] if tool is None else tool.name, arguments)


def offered(case: ResolvedCase, name: str) -> Tool | None:
    """The tool with this name; for `"*"` the first one."""
    if name == ANY_TOOL:
        return case.tools[0] if case.tools else None
    return find_tool(case, name)


def schema_of(tool: Tool | None) -> dict[str, Any]:
    return (tool.function.parameters if tool else None) or {}


def _earlier(case: ResolvedCase) -> Iterator[ToolCall]:
    """The calls before the end of a chain, as many as in the shortest chain."""
    left = (case.case.optimal_hops or 1) - 1
    for name in case.case.valid_prerequisites:
        if is_expected(name, case):
            continue
        mock = case.case.mock_responses.get(name)
        answers = mock if isinstance(mock, dict) else {}
        arguments = _asked(case, name, answers.get(WHEN))
        for _ in answers.get(SEQUENCE, [None])[:left]:
            yield ToolCall(name, arguments)
            left -= 1


def _asked(case: ResolvedCase, name: str, entries: Any) -> dict[str, Any]:
    """Arguments for a tool that match the first entry of its mock, else plain ones."""
    schema = schema_of(find_tool(case, name))
    arguments = required_values(schema)
    for param, expected in (entries[0].get("params", {}) if entries else {}).items():
        value = right_value(expected, inside(schema, param), MODES[case.param_scoring])
        if value is not NOTHING:
            arguments[param] = value
    return arguments
