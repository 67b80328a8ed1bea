"""Evaluation sets of Google's ADK: `evalset.json` and `test.json`, today's form and the former one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...explain import show
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ...replies.call_like import unknown_calls
from ...text import json_text
from ..format import EachFile, Format
from ..items import Exercise, Item, ToolUse, call_message
from ..records import Record

_MOST_STATE = 400
_Turn = tuple[Record, Mapping[str, Any]]


def _holds(value: Any) -> bool:
    fields = as_mapping(value)
    if isinstance(fields.get("eval_cases"), list) or isinstance(fields.get("evalCases"), list):
        return True
    return ("query" in fields and ("expected_tool_use" in fields or "reference" in fields)) or (
        isinstance(fields.get("data"), list) and "initial_session" in fields
    )


def _read(file: Record) -> Iterator[Item]:
    alone: list[_Turn] = []  # the former form: a file of turns is one conversation
    for record in file.value:
        value = as_mapping(record.value)
        cases = value.get("eval_cases", value.get("evalCases"))
        for number, case in enumerate(objects_in(cases)):
            inner = record.inside(case, f"eval_cases[{number}]")
            turns = [(inner, _named(each)) for each in _objects(case.get("conversation"))]
            yield from _cases(inner, turns, case.get("session_input") or case.get("sessionInput"))
        if isinstance(value.get("data"), list):
            turns = [(record, _today(each)) for each in _objects(value["data"])]
            yield from _cases(record, turns, value.get("initial_session"))
        elif cases is None:
            alone.append((record, _today(value)))
    if alone:
        yield from _cases(alone[0][0], alone)


def _named(turn: Mapping[str, Any]) -> dict[str, Any]:
    return {_NAMES.get(key, key): value for key, value in turn.items()}


_NAMES = {
    "userContent": "user_content", "intermediateData": "intermediate_data",
    "finalResponse": "final_response", "agentContent": "agent_content",
}  # fmt: skip


def _today(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn in the former form as in today's."""
    uses = [
        {"name": use.get("tool_name"), "args": use.get("tool_input")}
        for use in _objects(turn.get("expected_tool_use"))
    ]
    return {
        **turn,
        "user_content": {"parts": [{"text": turn.get("query")}]},
        "intermediate_data": {"tool_uses": uses},
        "final_response": {"parts": [{"text": turn.get("reference")}]},
    }


def _calls(turn: Mapping[str, Any]) -> list[ToolUse]:
    steps = as_mapping(turn.get("intermediate_data"))
    uses = _objects(steps.get("tool_uses") or steps.get("toolUses"))
    events = objects_in(steps.get("invocation_events") or steps.get("invocationEvents"))
    for content in (steps, *(event.get("content") for event in events)):
        uses += _uses_in(content)
    uses += [use for use in _uses_in(turn.get("agent_content")) if use not in uses]
    inputs = (use.get("args") for use in uses)
    arguments = [each if isinstance(each, dict) else None for each in inputs]
    return [(as_text(use.get("name")), each) for use, each in zip(uses, arguments, strict=True)]


def _uses_in(content: Any) -> list[dict[str, Any]]:
    """The calls in the parts of a content."""
    parts = objects_in(as_mapping(content).get("parts"))
    return objects_in([part.get("function_call") or part.get("functionCall") for part in parts])


def _objects(values: Any) -> list[Mapping[str, Any]]:
    """The members of a list, those that are no objects as empty ones, which no case can be made of."""
    return [as_mapping(each) for each in as_list(values)]


def _text(content: Any) -> str:
    texts = (as_text(part.get("text")) for part in objects_in(as_mapping(content).get("parts")))
    return "\n".join(filter(None, texts))


def _cases(record: Record, turns: Sequence[_Turn], session: Any = None) -> Iterator[Item]:
    """A case for each turn, after the ones before it. Without its words, none can follow."""
    if not turns:
        yield record.problem("no conversation")
    state = as_mapping(session).get("state")
    before: list[dict[str, Any]] = []
    for at, turn in turns:
        query, calls, reference = _text(turn.get("user_content")), _calls(turn), turn.get("reference")
        if not query.strip() or not all(name for name, _ in calls):
            yield at.problem("a turn without a text from the user, or a call without a name")
            return
        if lost := unknown_calls(turn, [{"tool_calls": [call_message(None, *call) for call in calls]}]):
            yield at.problem(f"a turn may have a call in a form that is not read: {show(lost[0])}")
            return
        messages = [*before, {"role": "user", "content": query}]
        notes = [f"the state of the session: {json_text(state, _MOST_STATE)}"] if state else []
        more: dict[str, Any] = {}
        if as_text(reference) and calls:  # which is said after the answers of the tools
            notes.append(f"the reference of the answer: {reference}")
        elif as_text(reference):
            more["expected_text"] = [reference]
        if notes:
            more["$comment"] = "; ".join(notes)
        yield Exercise(at.location, messages, calls, is_ordered=True, more=more)
        # Answers of tools are not recorded, so the calls are left out.
        answer = _text(turn.get("final_response")) or _text(turn.get("agent_content"))
        before = [*messages, {"role": "assistant", "content": answer or "(not recorded)"}]


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
