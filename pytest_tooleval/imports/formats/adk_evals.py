"""Evaluation sets of Google's ADK: `evalset.json` and `test.json`, today's form and the former one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..conversation import Call, Expected, Item
from ..format import Format, each_file
from ..records import Record


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    if isinstance(found.get("eval_cases"), list) or isinstance(found.get("evalCases"), list):
        return True
    return ("query" in found and ("expected_tool_use" in found or "reference" in found)) or (
        isinstance(found.get("data"), list) and "initial_session" in found
    )


def _read(records: list[Record]) -> Iterator[Item]:
    alone: list[_Turn] = []  # the former form: a file of turns is one conversation
    for record in records:
        value = as_mapping(record.value)
        cases = value.get("eval_cases", value.get("evalCases"))
        if cases is None and not isinstance(value.get("data"), list):
            alone.append(_former_turn(record, value))
            continue
        for number, case in enumerate(objects_in(cases)):
            place = record.inside(case, f"eval_cases[{number}]")
            yield from _cases(place, [_turn(place, each) for each in _objects(case.get("conversation"))])
        if cases is None:
            yield from _cases(record, [_former_turn(record, each) for each in _objects(value["data"])])
    if alone:
        yield from _cases(records[0], alone)


class _Turn(NamedTuple):
    place: Record
    query: str
    calls: Sequence[Call]
    answer: str


def _turn(place: Record, turn: Mapping[str, Any]) -> _Turn:
    steps = as_mapping(turn.get("intermediate_data") or turn.get("intermediateData"))
    uses = _objects(steps.get("tool_uses") or steps.get("toolUses"))
    for event in objects_in(steps.get("invocation_events") or steps.get("invocationEvents")):
        for part in objects_in(as_mapping(event.get("content")).get("parts")):
            uses += objects_in([part.get("function_call") or part.get("functionCall")])
    calls = [(as_text(use.get("name")), _arguments(use.get("args"))) for use in uses]
    asked = turn.get("user_content") or turn.get("userContent")
    answer = turn.get("final_response") or turn.get("finalResponse")
    return _Turn(place, _text(asked), calls, _text(answer))


def _former_turn(place: Record, turn: Mapping[str, Any]) -> _Turn:
    uses = _objects(turn.get("expected_tool_use"))
    calls = [(as_text(use.get("tool_name")), _arguments(use.get("tool_input"))) for use in uses]
    return _Turn(place, as_text(turn.get("query")), calls, as_text(turn.get("reference")))


def _arguments(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _objects(values: Any) -> list[Mapping[str, Any]]:
    """The members of a list, those that are no objects as empty ones, which no case can be made of."""
    return [as_mapping(each) for each in as_list(values)]


def _text(content: Any) -> str:
    return "\n".join(as_text(part.get("text")) for part in objects_in(as_mapping(content).get("parts")))


def _cases(place: Record, turns: list[_Turn]) -> Iterator[Item]:
    """A case for each turn, after the ones before it. Without its words, none can follow."""
    if not turns:
        yield place.problem("no conversation")
    before: list[dict[str, Any]] = []
    for turn in turns:
        if not turn.query.strip() or not all(name for name, _ in turn.calls):
            yield turn.place.problem("a turn without a text from the user, or a call without a name")
            return
        messages = [*before, {"role": "user", "content": turn.query}]
        yield Expected(turn.place.problem(), messages, turn.calls, is_ordered=True)
        # Answers of tools are not recorded, so the calls are left out.
        before = [*messages, {"role": "assistant", "content": turn.answer or "(not recorded)"}]


FORMAT = Format(
    title="evaluation sets of ADK",
    recognised="`eval_cases`, or the former `query` and `expected_tool_use`",
    tools="never recorded",
    expectations="calls with arguments, in order",
    example="home.evalset.json",
    holds=_holds,
    read=each_file(_read),
    over=("openai",),
)
