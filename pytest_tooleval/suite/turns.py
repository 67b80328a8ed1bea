"""Checks of the fields that only conversations have."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ..explain import describe
from ..explain import nearest
from ..explain import show
from ..findings import Finding
from ..findings import Findings
from ..findings import Loc
from ..jsonschemas.patterns import pattern_problem
from ..matchers.matcher import matcher_findings
from ..matchers.matcher import matcher_key
from ..record.calls import is_number
from ..record.untrusted import as_list
from ..record.untrusted import as_mapping
from ..worlds.plain import read_path
from .model import ANY_TOOL
from .tools import ToolNames

# Fields that only conversations have, and fields that they cannot have.
_WITH = (
    "match",
    "results",
    "expected_state",
    "expected_text",
    "world",
    "world_args",
    "play_failed_calls",
)
_WITHOUT = ("prompt", "expected_tool", "expected_params", "multi_turn", "optimal_hops")
_EXPECTED = ("forbidden_calls", "expected_state", "expected_text", "max_calls")
_NEEDS_WORLD = 'needs a world; add "world": "module:Class" to the suite'
_TEXT_KEYS = ("$regex", "$number", "$not", "$judge")


def is_conversation(case: dict[str, Any]) -> bool:
    """Whether a case has turns, or a model that plays the user."""
    return case.get("turns") is not None or case.get("user") is not None


def objects_at(
    holder: Mapping[str, Any], field: str, loc: Loc = ()
) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """The objects in the list `field` of the object at `loc`, each with its path."""
    for index, value in enumerate(as_list(holder.get(field))):
        if isinstance(value, dict):
            yield (*loc, field, index), value


def turn_findings(case: dict[str, Any], loc: Loc, suite: dict[str, Any], tools: ToolNames) -> Findings:
    """The fields of conversations."""
    if not is_conversation(case):
        for field in _WITH:
            if case.get(field) is not None:
                message = 'only for conversations; write "turns": [{"prompt": ...}] instead of prompt'
                yield Finding((*loc, field), message, at_key=True)
        return
    kind = "turns" if case.get("turns") is not None else "user"
    for field in (*_WITHOUT, "user"):
        if field != kind and (case.get(field) or (field == "expected_tool" and field in case)):
            instead = "; give expected_calls" if field.startswith("expected") else ""
            message = f"cannot be combined with {kind}; remove one of the two{instead}"
            yield Finding((*loc, field), message, at_key=True)
    choice, where = case.get("tool_choice"), (*loc, "tool_choice")
    if choice is None:
        choice, where = suite.get("tool_choice"), (*loc, kind)
    if choice == "required":
        message = 'a turn ends with a reply without calls, which tool_choice "required" prevents'
        yield Finding(where, f'{message}; set "tool_choice": "auto" in the case')
    has_world = case.get("world") is not None or suite.get("world") is not None
    for field in ("mock_responses", "live_tools"):
        if has_world and case.get(field):
            message = "cannot be combined with a world, which answers all calls"
            yield Finding((*loc, field), message, at_key=True)
    if case.get("play_failed_calls") and not has_world:
        yield Finding((*loc, "play_failed_calls"), _NEEDS_WORLD, at_key=True)
    turns = list(objects_at(case, "turns", loc))
    parts = [(loc, case), *turns]
    if case[kind] and suite.get("forbidden_calls") is None and not any(_expects(p) for _, p in parts):
        of = "a turn, or the case," if kind == "turns" else "the case"
        message = f"nothing is expected; give {of} expected_calls or another expectation"
        yield Finding((*loc, kind), message, at_key=True)
    for field in ("goal", "stop"):
        text = as_mapping(case.get("user")).get(field)
        if isinstance(text, str) and not text.strip():
            yield Finding((*loc, "user", field), "an empty text")
    matches = [turn.get("match") for _, turn in turns]
    for at, part in parts:
        match = part.get("match", case.get("match"))
        yield from _expectations(part, at, match, has_world)
        if part.get("results") and match != "state" and not (at == loc and "state" in matches):
            yield Finding((*at, "results"), 'only for "match": "state"; remove it', at_key=True)
    for at, turn in turns:
        for index, name in enumerate(as_list(turn.get("new_tools"))):
            place = (*at, "new_tools", index)
            if tools.lacks(name) or name == ANY_TOOL:
                yield Finding(place, tools.complaint(name))
            elif at[-1] == 0:
                yield Finding(place, "already offered in the first turn; name it in a later one")


def _expects_calls(part: Mapping[str, Any]) -> bool:
    return "expected_tool" in part or part.get("expected_calls") is not None


def _expects(part: Mapping[str, Any]) -> bool:
    return _expects_calls(part) or any(part.get(field) is not None for field in _EXPECTED)


def _expectations(part: dict[str, Any], loc: Loc, match: object, has_world: bool) -> Findings:
    if match == "state" and _expects_calls(part):
        if not has_world:
            field = next(f for f in ("match", "expected_tool", "expected_calls") if f in part)
            yield Finding((*loc, field), _NEEDS_WORLD)
        yield from unplayable(part, loc)
    state = part.get("expected_state")
    if isinstance(state, dict):
        at = (*loc, "expected_state")
        if not has_world:
            yield Finding(at, _NEEDS_WORLD, at_key=True)
        for path in state:
            if read_path(path) is None:
                message = 'expected a path such as orders.A1.refunded or orders["a.b"][0]'
                yield Finding((*at, path), message, at_key=True)
        yield from matcher_findings(state, at)
    for index, text in enumerate(as_list(part.get("expected_text"))):
        yield from _text(text, (*loc, "expected_text", index))


def unplayable(part: Mapping[str, Any], loc: Loc) -> Findings:
    """The expected calls that cannot be made, as they do not name one tool or have matchers."""
    calls = [(part, (*loc, "expected_tool"), (*loc, "expected_params"))]
    calls += [
        (call, (*at, "tool"), (*at, "params")) for at, call in objects_at(part, "expected_calls", loc)
    ]
    for call, tool, params in calls:
        named = call.get(str(tool[-1]))
        if isinstance(named, list) or named == ANY_TOOL:
            yield Finding(tool, "the expected call is run on the world; name a single tool")
        for name, value in as_mapping(call.get(str(params[-1]))).items():
            if _holds_matcher(value):
                message = "the expected call is run on the world; write a plain value"
                yield Finding((*params, name), message)


def _holds_matcher(value: Any) -> bool:
    if isinstance(value, dict):
        return matcher_key(value) is not None or any(map(_holds_matcher, value.values()))
    return isinstance(value, list) and any(map(_holds_matcher, value))


def _text(text: Any, at: Loc, keys: Sequence[str] = _TEXT_KEYS) -> Findings:
    example = 'a text, {"$regex": ...}, {"$number": ...}, {"$not": ...} or {"$judge": ...}'
    if isinstance(text, str):
        if not text.strip():
            yield Finding(at, "an empty text, which every message contains")
        return
    if not isinstance(text, dict) or len(text) != 1:
        yield Finding(at, f"expected {example}, got {describe(text)}")
        return
    ((key, operand),) = text.items()
    if key == "$judge" and key not in keys:
        message = "not allowed in $not, where it would pass if the judge is unsure; say it in the rubric"
        yield Finding((*at, key), message, at_key=True)
    elif key not in keys:
        near = nearest(key, keys)
        hint = f", did you mean {show(near)}?" if near else f"; expected {example}"
        yield Finding((*at, key), f"unknown{hint}", at_key=True)
    elif key == "$not":
        yield from _text(operand, (*at, key), _TEXT_KEYS[:-1])
    elif key == "$judge" and (not isinstance(operand, str) or not operand.strip()):
        yield Finding((*at, key), f"expected a rubric, got {describe(operand)}")
    elif key == "$number" and not is_number(operand):
        yield Finding((*at, key), f"expected a number, got {describe(operand)}")
    elif key == "$regex":
        if not isinstance(operand, str) or not operand:
            yield Finding((*at, key), f"expected a regular expression, got {describe(operand)}")
        elif problem := pattern_problem(operand):
            yield Finding((*at, key), problem)
