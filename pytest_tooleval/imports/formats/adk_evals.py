"""Evaluation sets of Google's ADK: `evalset.json` and `test.json`, today's form and the former one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...explain import show
from ...record.call_like import unknown_calls
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...text import json_text
from ..conversation import Call, Expected, Item, called
from ..format import EachFile, Format
from ..records import Record

_MOST_STATE = 400


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    if isinstance(found.get("eval_cases"), list) or isinstance(found.get("evalCases"), list):
        return True
    return ("query" in found and ("expected_tool_use" in found or "reference" in found)) or (
        isinstance(found.get("data"), list) and "initial_session" in found
    )


def _read(file: Record) -> Iterator[Item]:
    records: list[Record] = file.value
    alone: list[_Turn] = []  # the former form: a file of turns is one conversation
    for record in records:
        value = as_mapping(record.value)
        cases = value.get("eval_cases", value.get("evalCases"))
        if cases is None and not isinstance(value.get("data"), list):
            alone.append(_former_turn(record, value))
            continue
        for number, case in enumerate(objects_in(cases)):
            place = record.inside(case, f"eval_cases[{number}]")
            turns = [_turn(place, each) for each in _objects(case.get("conversation"))]
            yield from _cases(place, turns, case.get("session_input") or case.get("sessionInput"))
        if cases is None:
            turns = [_former_turn(record, each) for each in _objects(value["data"])]
            yield from _cases(record, turns, value.get("initial_session"))
    if alone:
        yield from _cases(records[0], alone)


class _Turn(NamedTuple):
    """What the user says, and what should follow. `lost` are fields that may hold further calls."""

    place: Record
    query: str
    calls: Sequence[Call]
    answer: str
    reference: str = ""
    lost: Sequence[Mapping[str, Any]] = ()


def _turn(place: Record, turn: Mapping[str, Any]) -> _Turn:
    given = {_PARTS_OF_TURNS.get(key, key): value for key, value in turn.items()}
    steps = as_mapping(given.get("intermediate_data"))
    uses = _objects(steps.get("tool_uses") or steps.get("toolUses"))
    events = objects_in(steps.get("invocation_events") or steps.get("invocationEvents"))
    for content in (steps, *(event.get("content") for event in events)):
        uses += _uses_in(content)
    uses += [use for use in _uses_in(given.get("agent_content")) if use not in uses]
    calls = [(as_text(use.get("name")), _arguments(use.get("args"))) for use in uses]
    answer = _text(given.get("final_response")) or _text(given.get("agent_content"))
    return _Turn(place, _text(given.get("user_content")), calls, answer, lost=_lost(given, calls))


def _lost(turn: Mapping[str, Any], calls: Sequence[Call]) -> list[dict[str, Any]]:
    return unknown_calls(turn, [{"tool_calls": [called(None, *call) for call in calls]}])


_PARTS_OF_TURNS = {
    "userContent": "user_content", "intermediateData": "intermediate_data",
    "finalResponse": "final_response", "agentContent": "agent_content",
}  # fmt: skip


def _uses_in(content: Any) -> list[dict[str, Any]]:
    """The calls in the parts of a content."""
    parts = objects_in(as_mapping(content).get("parts"))
    return objects_in([part.get("function_call") or part.get("functionCall") for part in parts])


def _former_turn(place: Record, turn: Mapping[str, Any]) -> _Turn:
    uses = _objects(turn.get("expected_tool_use"))
    calls = [(as_text(use.get("tool_name")), _arguments(use.get("tool_input"))) for use in uses]
    reference = as_text(turn.get("reference"))
    return _Turn(place, as_text(turn.get("query")), calls, reference, reference, _lost(turn, calls))


def _arguments(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _objects(values: Any) -> list[Mapping[str, Any]]:
    """The members of a list, those that are no objects as empty ones, which no case can be made of."""
    return [as_mapping(each) for each in as_list(values)]


def _text(content: Any) -> str:
    texts = (as_text(part.get("text")) for part in objects_in(as_mapping(content).get("parts")))
    return "\n".join(filter(None, texts))


def _cases(place: Record, turns: list[_Turn], session: Any = None) -> Iterator[Item]:
    """A case for each turn, after the ones before it. Without its words, none can follow."""
    if not turns:
        yield place.problem("no conversation")
    state = as_mapping(session).get("state")
    before: list[dict[str, Any]] = []
    for turn in turns:
        if not turn.query.strip() or not all(name for name, _ in turn.calls):
            yield turn.place.problem("a turn without a text from the user, or a call without a name")
            return
        if turn.lost:
            yield turn.place.problem(
                f"a turn may have a call in a form that is not read: {show(turn.lost[0])}"
            )
            return
        messages = [*before, {"role": "user", "content": turn.query}]
        notes = [f"the state of the session: {json_text(state, _MOST_STATE)}"] if state else []
        more: dict[str, Any] = {}
        if turn.reference and turn.calls:  # which is said after the answers of the tools
            notes.append(f"the reference of the answer: {turn.reference}")
        elif turn.reference:
            more["expected_text"] = [turn.reference]
        if notes:
            more["$comment"] = "; ".join(notes)
        yield Expected(turn.place.problem(), messages, turn.calls, is_ordered=True, more=more)
        # Answers of tools are not recorded, so the calls are left out.
        before = [*messages, {"role": "assistant", "content": turn.answer or "(not recorded)"}]


FORMAT = Format(
    title="evaluation sets of ADK",
    recognised="`eval_cases`, or the former `query` and `expected_tool_use`",
    tools="never recorded",
    expectations="calls with arguments, in order; the former `reference` where none is expected",
    example="home.evalset.json",
    holds=_holds,
    read=EachFile(_read),
    over=("openai",),
)
