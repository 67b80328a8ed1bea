"""The right answer of a case, broken as models break it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import WorldError
from ..jsonschemas.parameters import allows_others
from ..jsonschemas.values import NO_VALUE, example_value, required_values
from ..matchers.examples import inside
from ..record.calls import ToolCall
from ..scoring.evidence.half_work import unseen_effects
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL
from ..suite.resolved import accepts, is_expected, known_tools
from ..suite.tools import Tool
from ..worlds.play import look
from ..worlds.world import World
from .answers import AnsweredTurn, RightAnswer, RightTurn, schema_of, tool_named
from .changes import INVENTED, changes
from .gaps import PassReason, not_named, of_its_own
from .results import MutantKind

# A tool is destructive if its name contains one of these words.
DESTRUCTIVE = (
    *("cancel", "clear", "delete", "destroy", "drop", "erase", "kill", "overwrite", "purge", "refund"),
    *("remove", "reset", "revoke", "terminate", "truncate", "uninstall", "void", "wipe"),
)
MOST_TOOLS = 5  # other tools to call, of each kind; a hundred would dominate the score
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# The argument changes that are tried in conversations.
_IN_TURNS = ("wrong_value", "enum_neighbour", "off_by_one", "as_text", "invented_argument")
_LAPS = 3  # rounds through a chain's prerequisites


class Mutant(NamedTuple):
    """A broken turn of an answer.

    `pass_reason` says which line a case needs to check the changed part. None means that the case
    checks it, so the answer is legal if no score is lower.
    """

    kind: MutantKind
    turn: AnsweredTurn
    pass_reason: PassReason | None = None


_Mutated = Iterator[tuple[Mutant, list[AnsweredTurn]]]


def mutants(case: ResolvedCase, right: RightAnswer, seen: set[str] | None = None) -> _Mutated:
    """Yield all broken turns without those `seen`, each with the whole answer."""
    seen = set() if seen is None else seen
    seen.add(_key(right.answer()))
    for mutant, answer in _mutants(case, right):
        key = _key(answer)
        if key not in seen:
            seen.add(key)
            yield mutant, answer


def _mutants(case: ResolvedCase, right: RightAnswer) -> _Mutated:
    is_conversation = case.kind == "conversation"
    if is_conversation:
        idle = [turn.with_calls(()) for turn in right.turns]
        by_state = any((part.match or case.expected.match) == "state" for part in case.expectations)
        line = PassReason("nothing_changes", {"results": True}, "the case") if by_state else None
        yield Mutant("no_call", idle[-1], line), idle
        has_state = by_state or any(each.expected_state for each in case.expectations)
        if case.world is not None and has_state:
            for mutant, answer in _wrong_in_world(case, right):
                yield mutant, answer
    for number, turn in enumerate(right.turns):
        for mutant in _of_turn(case, turn, number) if is_conversation else _of_answer(case, turn):
            answer = right.answer()
            answer[number] = mutant.turn
            yield mutant, answer


def _key(answer: Sequence[AnsweredTurn]) -> str:
    return json.dumps(
        [
            [turn.text, [[(call.name, _arguments(call)) for call in calls] for calls in turn.replies]]
            for turn in answer
        ]
    )


def _arguments(call: ToolCall) -> Any:
    return call.raw_arguments if call.arguments is None else call.arguments


def _of_answer(case: ResolvedCase, right: RightTurn) -> Iterator[Mutant]:
    """Break a single answer or a chain."""
    others, destructive = _other_tools(case, right)
    if right.calls:
        yield Mutant("no_call", AnsweredTurn(((),)))
    if right.earlier:
        yield Mutant("unfinished_chain", right.with_calls(()))
    if case.kind == "chain" and right.calls:
        yield from _longer_chains(case, right, others)
    yield from _further_calls(case, right, others, destructive)
    yield from _other_replies(right)
    if right.text is not None:
        yield Mutant("nothing_said", right.with_calls(right.calls)._replace(text=""))
    yield from _other_forms(right)
    for index in range(len(right.calls)):
        yield from _without(case, right, index)
        yield from _other_calls(case, right, index, others)
        yield from _malformed(case, right, index)
        yield from _other_arguments(case, right, index)


def _of_turn(case: ResolvedCase, right: RightTurn, number: int) -> Iterator[Mutant]:
    """Break a turn of a conversation: missing or extra calls, wrong values, and silence."""
    turn = case.turns[number]
    # A prompt with a world has its expectations in the case.
    to = f"turns[{number}]" if turn.messages else "the case"
    parts = [part for part in (turn.turn, case.expected) if part.calls is not None]
    # Other calls that lead to the same state are right.
    by_state = any((part.match or case.expected.match) == "state" for part in parts)
    hidden = _hidden(case, number)
    for index, call in enumerate(right.calls):
        line = _NOT_COMPARED._replace(to=_judged(case, number)) if index in hidden else None
        yield Mutant("missing_call", right.with_calls(_without_one(right.calls, index)), line)
        yield from _malformed(case, right, index)
        expected = right.expected[index].params or {}
        for kind, name, changed in _changed(case, call):
            if kind in _IN_TURNS:
                line = None if by_state or name in expected else not_named(case, right, index, name)
                yield Mutant(kind, _with(right, index, changed), line)
    if right.calls:
        again = right.calls[-1]
        careless = is_destructive(again.name) and not by_state
        most = {"max_calls": len(right.calls)}
        limit = most if turn.messages else {"thresholds": most}
        line = PassReason("free_calls", limit, to) if careless else None
        yield Mutant("further_call", right.with_calls((*right.calls, again)), line)
    named = {name for part in parts for each in part.calls or () for name in each.tools}
    others = [plain_call(tool) for tool in turn.tools if tool.name not in named]
    destructive = [call for call in others if is_destructive(call.name)]
    for call in destructive[:MOST_TOOLS]:
        line = None if by_state else PassReason("free_calls", {"forbidden_calls": [call.name]}, to)
        yield Mutant("destructive_call", right.with_calls((*right.calls, call)), line)
    looks = parts or turn.turn.expected_state or case.expected.expected_state
    for call in [call for call in others if call not in destructive][:1]:
        line = None if looks else PassReason("calls_not_looked_at", {"expected_calls": []}, to)
        yield Mutant("further_call", right.with_calls((*right.calls, call)), line)
    yield from _other_replies(right)
    yield Mutant("nothing_said", right.with_calls(right.calls)._replace(text=""))
    yield from _other_forms(right)


def _other_forms(right: RightTurn) -> Iterator[Mutant]:
    """Yield the text as no JSON, and as JSON with each value changed and each key left out."""
    if right.form is NO_VALUE:
        return
    texts = [f"Here you are: {right.text}"]
    texts += (json.dumps(changed, ensure_ascii=False) for _, changed in changes(right.form, {}))
    for text in texts:
        yield Mutant("wrong_form", right.with_calls(right.calls)._replace(text=text))


def _other_replies(right: RightTurn) -> Iterator[Mutant]:
    """Yield the same calls in one reply, or one after the other, where the case says which is right."""
    if right.says_replies and len(right.calls) > 1:
        other = right._replace(is_apart=not right.is_apart)
        yield Mutant("wrong_replies", other.with_calls(right.calls))


def _other_tools(case: ResolvedCase, right: RightTurn) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return harmless and destructive calls to tools that the case does not name."""
    named = {*case.valid_prerequisites, *(name for each in right.expected for name in each.tools)}
    others: list[ToolCall] = []
    destructive: list[ToolCall] = []
    for tool in case.tools:
        if not any(accepts((name,), tool.name, case) for name in named - {ANY_TOOL}):
            calls = destructive if is_destructive(tool.name) else others
            calls.append(plain_call(tool))
    return others[:MOST_TOOLS], destructive[:MOST_TOOLS]


def is_destructive(name: str) -> bool:
    """True if a tool's name suggests that it destroys something."""
    return any(word.lower() in DESTRUCTIVE for word in _WORD.findall(name))


def plain_call(tool: Tool) -> ToolCall:
    return ToolCall(tool.name, required_values(schema_of(tool)))


def _further_calls(
    case: ResolvedCase, right: RightTurn, others: Sequence[ToolCall], destructive: Sequence[ToolCall]
) -> Iterator[Mutant]:
    again = [*right.calls[-1:], *_with_another_value(case, right.calls[-1:])]
    for call in (*again, *others):
        yield Mutant("further_call", right.with_calls((*right.calls, call)))
    for call in again if case.kind == "chain" else ():
        yield Mutant("further_call", AnsweredTurn((*right.with_calls(right.calls).replies, (call,))))
    for call in destructive:
        # "Any tool" is not meant to include destructive ones.
        line = PassReason("any_calls", {"forbidden_calls": [call.name]}, "the case")
        yield Mutant("destructive_call", right.with_calls((*right.calls, call)), line)


def _malformed(case: ResolvedCase, right: RightTurn, index: int) -> Iterator[Mutant]:
    """Yield a call with its arguments cut off, as a list, and missing, read as a model's."""
    call = right.calls[index]
    tool = tool_named(case, call.name)
    if tool is not None and tool.type == "custom":  # any text is right
        return
    text = json.dumps(call.arguments)
    for raw in (text[:-1], f"[{text}]", ""):
        broken = known_tools(case).read(ToolCall.parse(call.name, raw))
        yield Mutant("malformed_arguments", _with(right, index, broken))


def _with_another_value(case: ResolvedCase, calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """Yield each call with its first changeable argument set to another value."""
    for call in calls:
        others = (
            changed
            for kind, _, changed in _changed(case, call)
            if kind in ("enum_neighbour", "wrong_value")
        )
        yield from itertools.islice(others, 1)


def _changed(case: ResolvedCase, call: ToolCall) -> Iterator[tuple[MutantKind, str, ToolCall]]:
    """Yield the call with one argument changed, in each way, with the argument's name."""
    arguments, schema = call.arguments or {}, schema_of(tool_named(case, call.name))
    for name, value in arguments.items():
        for kind, changed in changes(value, inside(schema, name)):
            yield kind, name, ToolCall(call.name, {**arguments, name: changed})


def _longer_chains(case: ResolvedCase, right: RightTurn, others: Sequence[ToolCall]) -> Iterator[Mutant]:
    line = None
    if case.optimal_hops is None:
        shortest = len(right.earlier) + len(right.calls)
        line = PassReason("any_length", {"optimal_hops": shortest}, "the case")
    for call in (*right.earlier[:1], *others):
        yield Mutant(
            "longer_chain", AnsweredTurn(((call,), *right.with_calls(right.calls).replies)), line
        )
    wandering = _wandering(case)
    if len(wandering) > len(right.earlier):
        yield Mutant(
            "wandering_chain", AnsweredTurn((*((call,) for call in wandering), right.calls)), line
        )


def _wandering(case: ResolvedCase) -> list[ToolCall]:
    """Return calls to a chain's prerequisites, again and again, but no call twice in a row."""
    names = [name for name in case.valid_prerequisites if not is_expected(name, case)]
    calls = [plain_call(tool) for name in names if (tool := tool_named(case, name)) is not None]
    if len(calls) == 1:
        calls = [*calls, *_with_another_value(case, calls)]
    return (calls * _LAPS)[: case.round_limit - 1]


def _without(case: ResolvedCase, right: RightTurn, index: int) -> Iterator[Mutant]:
    calls = right.calls
    if len(calls) == 1:
        return
    yield Mutant("missing_call", right.with_calls(_without_one(calls, index)))
    for other, call in enumerate(calls):
        if other != index:
            line = of_its_own(case, right, index, call)
            yield Mutant("repeated_call", _with(right, index, call), line)
    if index:
        swapped = (*calls[: index - 1], calls[index], calls[index - 1], *calls[index + 1 :])
        yield Mutant("wrong_order", right.with_calls(swapped))


def _without_one(calls: tuple[ToolCall, ...], index: int) -> tuple[ToolCall, ...]:
    return (*calls[:index], *calls[index + 1 :])


def _with(right: RightTurn, index: int, call: ToolCall) -> AnsweredTurn:
    return right.with_calls((*right.calls[:index], call, *right.calls[index + 1 :]))


def _other_calls(
    case: ResolvedCase, right: RightTurn, index: int, others: Sequence[ToolCall]
) -> Iterator[Mutant]:
    call = right.calls[index]
    named = [plain_call(tool) for tool in case.tools if is_expected(tool.name, case)][:MOST_TOOLS]
    for other in (*others, *named):
        if other.name != call.name:
            yield Mutant("another_tool", _with(right, index, other))
    invented = ToolCall(f"{call.name}_{INVENTED}", call.arguments)
    yield Mutant("invented_tool", _with(right, index, invented))


def _other_arguments(case: ResolvedCase, right: RightTurn, index: int) -> Iterator[Mutant]:
    call, expected = right.calls[index], right.expected[index].params or {}
    values = call.arguments or {}
    any_call = _takes_any(case, right, index)
    schema = schema_of(tool_named(case, call.name))

    def mutant(kind: MutantKind, name: str, arguments: dict[str, Any], *, looked: bool) -> Mutant:
        line = None if looked or any_call else not_named(case, right, index, name)
        return Mutant(kind, _with(right, index, ToolCall(call.name, arguments)), line)

    for name, value in values.items():
        looked = name in expected
        rest = {key: each for key, each in values.items() if key != name}
        yield mutant("dropped_argument", name, rest, looked=looked)
        other = rename_parameter(name)
        yield mutant("renamed_argument", other, {**rest, other: value}, looked=False)
        for kind, changed in changes(value, inside(schema, name)):
            # A value that was merely filled in has no right spelling.
            if looked or kind != "spelling":
                yield mutant(kind, name, {**values, name: changed}, looked=looked)
    for name, inner in schema.get("properties", {}).items():
        if name not in values and name not in expected:
            value = _unasked(inner, name, schema)
            if value is not NO_VALUE:
                yield mutant("invented_argument", name, {**values, name: value}, looked=False)
    # If the schema allows other arguments, this one is right.
    looked = allows_others(schema)
    yield mutant("invented_argument", INVENTED, {**values, INVENTED: 1}, looked=looked)


def _takes_any(case: ResolvedCase, right: RightTurn, index: int) -> bool:
    """True if any call is right here, perhaps as the match of another expected call."""
    places = range(len(right.calls)) if case.expected.call_order == "any" else [index]
    expected = [right.expected[index] for index in places]
    return any(each.params is None and ANY_TOOL in each.tools for each in expected)


def rename_parameter(name: str) -> str:
    """Rename a parameter: `maxResults` for `max_results`, `city_name` for `city`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others) if any(others) else f"{name}_name"


def _unasked(schema: Any, name: str, root: dict[str, Any]) -> Any:
    """Return a value, different from its default, for a parameter that the case does not expect."""
    value = example_value(schema, name, root)
    default = schema.get("default", NO_VALUE) if isinstance(schema, dict) else NO_VALUE
    if value != default:
        return value
    return next((changed for _, changed in changes(value, schema)), NO_VALUE)


_NOT_COMPARED = PassReason("not_compared", {"match": "exact"}, "the case")


def _judged(case: ResolvedCase, number: int) -> str:
    """The part of the case that names the calls of this turn."""
    return f"turns[{number}]" if case.turns[number].turn.calls is not None else "the case"


def _hidden(case: ResolvedCase, number: int) -> Collection[int]:
    """Return the indexes of the expected calls that change only what a state does not show."""
    of_turn = case.turns[number].turn.calls is not None
    unseen = unseen_effects(case, number if of_turn else len(case.turns))
    calls = case.expectations[number if of_turn else -1].calls or ()
    return [index for index in unseen if not calls[index].optional]


def _wrong_in_world(case: ResolvedCase, right: RightAnswer) -> _Mutated:
    """Yield wrong answers to a case that is judged by state, each with all turns."""
    count = sum(len(turn.calls) for turn in right.turns)
    if count > 1:
        begun = _begun(right, count // 2)
        line = None
        for number, (turn, left) in enumerate(zip(right.turns, begun, strict=True)):
            kept = sum(map(len, left.replies)) - len(turn.earlier)
            if any(index >= kept for index in (_hidden(case, number) if turn.calls else ())):
                line = _NOT_COMPARED._replace(to=_judged(case, number))
        yield Mutant("half_done", begun[-1], line), begun
    state = _first_state(case)
    for number, turn in enumerate(right.turns):
        answer = right.answer()
        if len(turn.calls) > 1:
            answer[number] = turn.with_calls(turn.calls[::-1])
            yield Mutant("wrong_order", answer[-1]), answer
        for index, call in enumerate(turn.calls):
            for changed in _of_other_records(state, call):
                answer = right.answer()
                answer[number] = _with(turn, index, changed)
                yield Mutant("another_record", answer[-1]), answer


def _begun(right: RightAnswer, left: int) -> list[AnsweredTurn]:
    """Return the answer with only its first calls."""
    answer = []
    for turn in right.turns:
        answer.append(turn.with_calls(turn.calls[:left]))
        left = max(0, left - len(turn.calls))
    return answer


def _of_other_records(state: Any, call: ToolCall) -> Iterator[ToolCall]:
    """Yield the call with an argument that names a record of the world, naming another one."""
    arguments = call.arguments or {}
    for name, value in arguments.items():
        other = next(_other_names(state, value), None) if isinstance(value, str) else None
        if other is not None:
            yield ToolCall(call.name, {**arguments, name: other})


def _first_state(case: ResolvedCase) -> Any:
    assert case.world is not None
    try:
        return look(case.world, World.state)
    except WorldError:
        return {}  # scoring reports it


def _other_names(state: Any, name: str) -> Iterator[str]:
    """Yield the names of other records: keys beside this one, and values of its field in other items."""
    if isinstance(state, dict):
        if name in state:
            yield from (str(key) for key in state if key != name)
        for value in state.values():
            yield from _other_names(value, name)
    elif isinstance(state, list):
        records = [each for each in state if isinstance(each, dict)]
        fields = [key for each in records for key, value in each.items() if value == name]
        for field in fields:
            names = (each.get(field) for each in records)
            yield from (each for each in names if isinstance(each, str) and each != name)
        for value in state:
            yield from _other_names(value, name)
