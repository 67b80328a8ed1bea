"""The right answer of a case, broken as models break it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from ..jsonschemas.parameters import allows_others
from ..jsonschemas.values import NOTHING
from ..jsonschemas.values import required_values
from ..jsonschemas.values import stand_in
from ..matchers.examples import inside
from ..record.calls import ToolCall
from ..scoring.tool_selection import accepts
from ..scoring.tool_selection import is_expected
from ..suite.model import ANY_TOOL
from ..suite.model import ResolvedCase
from ..suite.model import Tool
from .answers import Replies
from .answers import Right
from .answers import offered
from .answers import schema_of
from .changes import changes
from .results import Kind

# A tool is destructive when one of these is a word of its name.
DESTRUCTIVE = (
    *("cancel", "clear", "delete", "destroy", "drop", "erase", "kill", "overwrite", "purge", "refund"),
    *("remove", "reset", "revoke", "terminate", "truncate", "uninstall", "void", "wipe"),
)
MOST_TOOLS = 5  # other tools to call, of each kind: a hundred would dominate the score
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_INVENTED = "made_up"


class Mutant(NamedTuple):
    """A broken answer.

    `looked` says that the case judges the changed part: then the answer is legal if no score is lower.
    `call` is the index of the changed call, `name` the changed argument, or the tool that was called.
    """

    kind: Kind
    replies: Replies
    looked: bool = True
    call: int = 0
    name: str = ""


def mutants(case: ResolvedCase, right: Right) -> Iterator[Mutant]:
    """All broken answers, without duplicates."""
    seen = {_key(right.replies())}
    for mutant in _all(case, right):
        key = _key(mutant.replies)
        if key not in seen:
            seen.add(key)
            yield mutant


def _key(replies: Replies) -> str:
    return json.dumps([[(call.name, call.arguments) for call in calls] for calls in replies])


def _all(case: ResolvedCase, right: Right) -> Iterator[Mutant]:
    others, destructive = _other_tools(case, right)
    if right.calls:
        yield Mutant("no_call", ((),))
    if right.earlier:
        yield Mutant("unfinished_chain", right.replies(()))
    if case.case.multi_turn and right.calls:
        yield from _longer_chains(case, right, others)
    yield from _further_calls(case, right, others, destructive)
    for index in range(len(right.calls)):
        yield from _without(right, index)
        yield from _other_calls(case, right, index, others)
        yield from _other_arguments(case, right, index)


def _other_tools(case: ResolvedCase, right: Right) -> tuple[list[ToolCall], list[ToolCall]]:
    """Calls to tools that the case does not name: harmless ones and destructive ones."""
    named = {*case.case.valid_prerequisites, *(name for names in right.names for name in names)}
    others: list[ToolCall] = []
    destructive: list[ToolCall] = []
    for tool in case.tools:
        if not any(accepts((name,), tool.name, case) for name in named - {ANY_TOOL}):
            found = destructive if is_destructive(tool.name) else others
            found.append(plain_call(tool))
    return others[:MOST_TOOLS], destructive[:MOST_TOOLS]


def is_destructive(name: str) -> bool:
    """Whether a tool's name says that it destroys something."""
    return any(word.lower() in DESTRUCTIVE for word in _WORD.findall(name))


def plain_call(tool: Tool) -> ToolCall:
    return ToolCall(tool.name, required_values(schema_of(tool)))


def _further_calls(
    case: ResolvedCase, right: Right, others: Sequence[ToolCall], destructive: Sequence[ToolCall]
) -> Iterator[Mutant]:
    again = [*right.calls[-1:], *_with_another_value(case, right.calls[-1:])]
    for call in (*again, *others):
        yield Mutant("further_call", right.replies((*right.calls, call)), name=call.name)
    for call in again if case.case.multi_turn else ():
        yield Mutant("further_call", (*right.replies(), (call,)), name=call.name)
    for call in destructive:
        # "Any tool" does not mean a destructive one.
        calls = right.replies((*right.calls, call))
        yield Mutant("destructive_call", calls, looked=False, name=call.name)


def _with_another_value(case: ResolvedCase, calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """Each call, to other effect: the first argument that has another value has that one."""
    for call in calls:
        given, schema = call.arguments or {}, schema_of(offered(case, call.name))
        others = (
            ToolCall(call.name, {**given, name: changed})
            for name, value in given.items()
            for kind, changed in changes(value, inside(schema, name))
            if kind in ("enum_neighbour", "wrong_value")
        )
        yield from itertools.islice(others, 1)


def _longer_chains(case: ResolvedCase, right: Right, others: Sequence[ToolCall]) -> Iterator[Mutant]:
    counted = case.case.optimal_hops is not None
    for call in (*right.earlier[:1], *others):
        replies = ((call,), *right.replies())
        yield Mutant("longer_chain", replies, looked=counted, name=call.name)


def _without(right: Right, index: int) -> Iterator[Mutant]:
    calls = right.calls
    if len(calls) == 1:
        return
    yield Mutant("missing_call", right.replies((*calls[:index], *calls[index + 1 :])))
    for other, call in enumerate(calls):
        if other != index:
            yield Mutant("repeated_call", _with(right, index, call), looked=False, call=index)
    if index:
        swapped = [*calls[: index - 1], calls[index], calls[index - 1], *calls[index + 1 :]]
        yield Mutant("wrong_order", right.replies(swapped))


def _with(right: Right, index: int, call: ToolCall) -> Replies:
    return right.replies((*right.calls[:index], call, *right.calls[index + 1 :]))


def _other_calls(
    case: ResolvedCase, right: Right, index: int, others: Sequence[ToolCall]
) -> Iterator[Mutant]:
    call = right.calls[index]
    named = [plain_call(tool) for tool in case.tools if is_expected(tool.name, case)][:MOST_TOOLS]
    for other in (*others, *named):
        if other.name != call.name:
            yield Mutant("another_tool", _with(right, index, other), call=index, name=other.name)
    invented = ToolCall(f"{call.name}_{_INVENTED}", call.arguments)
    yield Mutant("invented_tool", _with(right, index, invented), call=index, name=invented.name)


def _other_arguments(case: ResolvedCase, right: Right, index: int) -> Iterator[Mutant]:
    call, expected = right.calls[index], right.params[index] or {}
    given = call.arguments or {}
    any_call = _takes_any(case, right, index)
    schema = schema_of(offered(case, call.name))

    def mutant(kind: Kind, name: str, arguments: dict[str, Any], *, looked: bool) -> Mutant:
        replies = _with(right, index, ToolCall(call.name, arguments))
        return Mutant(kind, replies, looked or any_call, index, name)

    for name, value in given.items():
        looked = name in expected
        rest = {key: each for key, each in given.items() if key != name}
        yield mutant("dropped_argument", name, rest, looked=looked)
        other = renamed(name)
        yield mutant("renamed_argument", other, {**rest, other: value}, looked=False)
        for kind, changed in changes(value, inside(schema, name)):
            # A value that is only filled in has no right spelling.
            if looked or kind != "spelling":
                yield mutant(kind, name, {**given, name: changed}, looked=looked)
    for name, inner in schema.get("properties", {}).items():
        if name not in given and name not in expected:
            value = _unasked(inner, name, schema)
            if value is not NOTHING:
                yield mutant("invented_argument", name, {**given, name: value}, looked=False)
    # If the schema accepts further arguments, this one is right.
    looked = allows_others(schema)
    yield mutant("invented_argument", _INVENTED, {**given, _INVENTED: 1}, looked=looked)


def _takes_any(case: ResolvedCase, right: Right, index: int) -> bool:
    """Whether any call at all is right here, also as the match of another expected call."""
    places = range(len(right.calls)) if case.case.call_order == "any" else [index]
    return any(right.params[place] is None and ANY_TOOL in right.names[place] for place in places)


def renamed(name: str) -> str:
    """`maxResults` for `max_results`, and `city_name` for `city`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others) if any(others) else f"{name}_name"


def _unasked(schema: Any, name: str, root: dict[str, Any]) -> Any:
    """A value for a parameter that is not expected, different from its default."""
    value = stand_in(schema, name, root)
    default = schema.get("default", NOTHING) if isinstance(schema, dict) else NOTHING
    if value != default:
        return value
    return next((changed for _, changed in changes(value, schema)), NOTHING)
