"""Why an assertion about calls or matchers does not hold, for pytest's explanation of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from .calls import Call, Calls, UnorderedCalls, pair_equal
from .like import Like

_LABEL = "made:     "


def explanation(op: str, left: object, right: object) -> list[str] | None:
    """The lines that explain `assert LEFT OP RIGHT`; None if it is not about calls or matchers."""
    if op == "==":
        return _equality(left, right)
    if op in ("in", "not in") and isinstance(left, Call) and _are_calls(right):
        return _membership(left, right, is_wanted=op == "in")
    return None


def _equality(left: object, right: object) -> list[str] | None:
    for matcher, value in ((right, left), (left, right)):
        if isinstance(matcher, Like):
            return [f"{left!r} == {right!r}", matcher.why_not(value)]
    if isinstance(left, Call) and isinstance(right, Call):
        left, right = [left], [right]
    unordered = isinstance(left, UnorderedCalls) or isinstance(right, UnorderedCalls)
    sides: list[Any] = [
        each.calls if isinstance(each, UnorderedCalls) else each for each in (left, right)
    ]
    for calls, names in (sides, sides[::-1]):
        texts = [each for each in names if isinstance(each, str)] if isinstance(names, list) else []
        if texts and isinstance(calls, Calls):
            items = [f"call({name!r}, ...)" if isinstance(name, str) else repr(name) for name in names]
            return [f"a call never equals a text; write [{', '.join(items)}]", *_made(calls)]
    if not all(_are_calls(each) for each in sides) or not any(sides):
        return None
    is_turned = _were_made(sides[1]) and not _were_made(sides[0])
    calls, expected = reversed(sides) if is_turned else sides
    lines = _differences(calls, expected, unordered=unordered)
    return [f"calls differ: {lines[0]}", *lines[1:], *_made(calls)] if lines else None


def _are_calls(value: object) -> TypeGuard[list[Call]]:
    return isinstance(value, list) and all(isinstance(each, Call) for each in value)


def _were_made(calls: Any) -> bool:
    return isinstance(calls, Calls) or any(each.tool_call is not None for each in calls)


def _made(calls: Sequence[Call]) -> list[str]:
    shown = [repr(each) for each in calls] or ["(no call)"]
    return [(" " * len(_LABEL) if number else _LABEL) + each for number, each in enumerate(shown)]


def _membership(call: Call, calls: Sequence[Call], *, is_wanted: bool) -> list[str]:
    if not is_wanted:
        index = next(number for number, each in enumerate(calls, 1) if each == call)
        return [f"{call!r} was made: it is call {index}", *_made(calls)]
    near = [(number, each) for number, each in enumerate(calls, 1) if each.name == call.name]
    lines = [line for number, each in near for line in _wrong(number, call, each)]
    return [f"{call!r} was not made", *lines, *_made(calls)]


def _wrong(number: int, expected: Call, call: Call) -> list[str]:
    return [f"call {number}, {call.name}: {why}" for why in expected.why_not(call)]


class _Step(NamedTuple):
    """A pair of an expected and a made call, or one of them alone, by place."""

    expected: int | None
    actual: int | None


def _differences(calls: Sequence[Call], expected: Sequence[Call], *, unordered: bool) -> list[str]:
    """A line for each difference, in the order of the calls."""
    pairs = pair_equal([*calls], [*expected])
    if len(pairs) == len(calls) == len(expected):
        return ["the right calls in the wrong order"]
    lines = []
    for wanted, got in _unordered(calls, expected, pairs) if unordered else _aligned(calls, expected):
        if got is None:
            lines.append(f"{expected[wanted or 0]!r} was not made")
        elif wanted is None:
            lines.append(f"call {got + 1}: {calls[got]!r} is one too many")
        elif calls[got] != expected[wanted]:
            lines += _wrong(got + 1, expected[wanted], calls[got])
    return lines


def _unordered(calls: Sequence[Call], expected: Sequence[Call], pairs: dict[int, int]) -> list[_Step]:
    """Equal calls in pairs, then calls of one tool, then those that are left."""
    steps = [_Step(wanted, got) for wanted, got in pairs.items()]
    free = [got for got in range(len(calls)) if got not in pairs.values()]
    for wanted in (each for each in range(len(expected)) if each not in pairs):
        got = next((each for each in free if calls[each].name == expected[wanted].name), None)
        steps.append(_Step(wanted, got))
        free = [each for each in free if each != got]
    return [*steps, *(_Step(None, got) for got in free)]


def _aligned(calls: Sequence[Call], expected: Sequence[Call]) -> list[_Step]:
    """The alignment in order with the most equal calls, and then the most calls of one tool."""

    def gain(wanted: int, got: int) -> float:
        if calls[got].name != expected[wanted].name:
            return 0.0
        return len(calls) + len(expected) if calls[got] == expected[wanted] else 1.0

    rows, columns = len(expected), len(calls)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    gains = [[gain(wanted, got) for got in range(columns)] for wanted in range(rows)]
    for wanted in reversed(range(rows)):
        for got in reversed(range(columns)):
            both = gains[wanted][got] + best[wanted + 1][got + 1] if gains[wanted][got] else 0.0
            best[wanted][got] = max(both, best[wanted + 1][got], best[wanted][got + 1])
    steps, wanted, got = [], 0, 0
    while wanted < rows or got < columns:
        here, is_both = best[wanted][got], wanted < rows and got < columns and gains[wanted][got] > 0
        if is_both and here == gains[wanted][got] + best[wanted + 1][got + 1]:
            steps.append(_Step(wanted, got))
            wanted, got = wanted + 1, got + 1
        elif wanted < rows and here == best[wanted + 1][got]:
            steps.append(_Step(wanted, None))
            wanted += 1
        else:
            steps.append(_Step(None, got))
            got += 1
    return steps
