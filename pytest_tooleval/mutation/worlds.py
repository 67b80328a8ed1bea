"""Wrong answers in a world: half of the work, another record, another order of the calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import WorldError
from ..record.calls import ToolCall
from ..suite.case import ResolvedCase
from ..worlds.play import look
from ..worlds.world import World
from .answers import Right, Turn
from .results import Kind


def wrong_in_world(case: ResolvedCase, right: Right) -> Iterator[tuple[Kind, list[Turn]]]:
    """Yield wrong answers to a case that is judged by state, each with all turns."""
    made = sum(len(turn.calls) for turn in right.turns)
    if made > 1:
        yield "half_done", _begun(right, made // 2)
    state = _begin(case)
    for number, turn in enumerate(right.turns):
        answer = right.answer()
        if len(turn.calls) > 1:
            answer[number] = turn.with_calls(turn.calls[::-1])
            yield "wrong_order", answer
        for index, call in enumerate(turn.calls):
            for changed in _of_other_records(state, call):
                answer = right.answer()
                others = [*turn.calls[:index], changed, *turn.calls[index + 1 :]]
                answer[number] = turn.with_calls(others)
                yield "another_record", answer


def _begun(right: Right, left: int) -> list[Turn]:
    """Return the answer with only its first calls."""
    answer = []
    for turn in right.turns:
        answer.append(turn.with_calls(turn.calls[:left]))
        left = max(0, left - len(turn.calls))
    return answer


def _of_other_records(state: Any, call: ToolCall) -> Iterator[ToolCall]:
    """Yield the call with an argument that names a record of the world, naming another one."""
    given = call.arguments or {}
    for name, value in given.items():
        other = next(_others(state, value), None) if isinstance(value, str) else None
        if other is not None:
            yield ToolCall(call.name, {**given, name: other})


def _begin(case: ResolvedCase) -> Any:
    assert case.world is not None
    try:
        return look(case.world, World.state)
    except WorldError:
        return {}  # scoring reports it


def _others(state: Any, name: str) -> Iterator[str]:
    """Yield the names of other records: keys beside this one, and values of its field in other items."""
    if isinstance(state, dict):
        if name in state:
            yield from (str(key) for key in state if key != name)
        for each in state.values():
            yield from _others(each, name)
    elif isinstance(state, list):
        records = [each for each in state if isinstance(each, dict)]
        fields = [key for each in records for key, value in each.items() if value == name]
        for field in fields:
            found = (each.get(field) for each in records)
            yield from (each for each in found if isinstance(each, str) and each != name)
        for each in state:
            yield from _others(each, name)
