"""The right conversation of a case with turns, and wrong ones: missing or extra calls, wrong values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from msgspec import structs

from ..errors import ScoringError
from ..jsonschemas.values import NOTHING
from ..matchers.examples import inside
from ..matchers.examples import right_value
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.endings import no_answer
from ..record.results import TrialResult
from ..record.transcript import Judged
from ..record.transcript import Reply
from ..record.transcript import Transcript
from ..scoring import score_transcript
from ..scoring.conversation import to_judge
from ..suite.model import Expectations
from ..suite.model import ExpectedCall
from ..suite.model import ResolvedCase
from .answers import MESSAGE
from .answers import UnknownError
from .answers import calls_of
from .answers import expected_call
from .answers import offered
from .answers import schema_of
from .answers import why_failed
from .changes import changes
from .gaps import FILL_IN
from .gaps import Found
from .gaps import Tried
from .gaps import case_mutation
from .mutants import MOST_TOOLS
from .mutants import is_destructive
from .mutants import plain_call
from .results import Call
from .results import CaseMutation
from .results import Kind

_CHANGES = ("wrong_value", "enum_neighbour", "off_by_one")


class Done(NamedTuple):
    """What the assistant does in a turn: its calls, and what it says after them."""

    calls: tuple[ToolCall, ...]
    text: str


class Wrong(NamedTuple):
    """A wrong conversation. `found` says why it may pass; None if the case then calls it right."""

    kind: Kind
    turns: Sequence[Done]
    found: Found | None = None


def mutate_conversation(case: ResolvedCase) -> CaseMutation:
    """Break the right conversation of a case, and score the results.

    Raises UnknownError if no right one is known, and ScoringError if the case cannot be scored.
    """
    if case.case.user is not None:
        raise UnknownError("a model plays the user")
    right = [_right(case, number) for number in range(len(case.turns))]
    trial = _score(case, right)
    if not trial.passed:
        raise UnknownError(why_failed(case, trial))
    tried = (
        Tried(each.kind, _calls_in(each.turns), _passes(case, each.turns), each.found)
        for each in _all(case, right)
    )
    return case_mutation(case, _calls_in(right), tried)


def _calls_in(turns: Sequence[Done]) -> tuple[Call, ...]:
    return calls_of(done.calls for done in turns)


def _passes(case: ResolvedCase, turns: Sequence[Done]) -> bool:
    try:
        return _score(case, turns).passed
    except ScoringError:
        return False


def _score(case: ResolvedCase, turns: Sequence[Done]) -> TrialResult:
    replies = []
    for number, done in enumerate(turns):
        said: tuple[dict[str, Any], ...] = ({"role": "user", "content": ""},) if number else ()
        if done.calls:
            replies.append(Reply(prompt=said, message=MESSAGE, calls=done.calls, format="native"))
            said = ()
        silent = None if done.calls else no_answer((), done.text, None, None)
        message = {"role": "assistant", "content": done.text}
        replies.append(Reply(prompt=said, message=message, format="native", no_answer=silent))
    transcript = Transcript((), tuple(replies))
    # Only a judge could tell whether the rubrics are met.
    met = tuple(Judged(rubric, turn, True) for turn, rubric in to_judge(case, transcript))
    return score_transcript(case, structs.replace(transcript, judged=met))


def _parts(case: ResolvedCase, number: int) -> list[Expectations]:
    """The turn and the case, as far as they have expected calls."""
    parts = (case.turns[number].turn, case.case)
    return [part for part in parts if part.calls is not None]


def _calls(case: ResolvedCase, number: int) -> tuple[str, list[ExpectedCall]]:
    """The place and the calls that are expected in a turn; those of the case are in the last turn."""
    turn = case.turns[number].turn
    if any(each.turn.calls is not None for each in case.turns):
        return f"turns[{number}].expected_calls", turn.calls or []
    is_last = number == len(case.turns) - 1
    return "expected_calls", (case.case.calls or []) if is_last else []


def _right(case: ResolvedCase, number: int) -> Done:
    _, expected = _calls(case, number)
    texts = list(case.turns[number].turn.expected_text or ())
    if number == len(case.turns) - 1:
        texts += case.case.expected_text or ()
    calls = (
        expected_call(case, each.tools, each.params, fills=True, optionals=False) for each in expected
    )
    return Done(tuple(calls), "; ".join(filter(None, map(_text, texts))) or "Done.")


def _text(expected: str | dict[str, Any]) -> str:
    if isinstance(expected, str):
        return expected
    ((key, operand),) = expected.items()
    if key == "$number":
        return json.dumps(operand)
    if key != "$regex":
        return ""
    found = right_value(expected, {"type": "string"}, MODES["exact"])
    if found is NOTHING:
        raise UnknownError(f"no text is known that matches {json.dumps(expected)}")
    return str(found)


def _all(case: ResolvedCase, right: Sequence[Done]) -> Iterator[Wrong]:
    for number, done in enumerate(right):
        for kind, calls, found in _wrong_calls(case, number, done):
            yield Wrong(kind, [*right[:number], Done(calls, done.text), *right[number + 1 :]], found)
        yield Wrong("nothing_said", [*right[:number], Done(done.calls, ""), *right[number + 1 :]])


def _wrong_calls(
    case: ResolvedCase, number: int, done: Done
) -> Iterator[tuple[Kind, tuple[ToolCall, ...], Found | None]]:
    turn, parts = case.turns[number], _parts(case, number)
    # Other calls that lead to the same state are right.
    plays = any((part.match or case.case.match) == "state" for part in parts)
    place, expected = _calls(case, number)
    for index, call in enumerate(done.calls):
        before, after = done.calls[:index], done.calls[index + 1 :]
        yield "missing_call", (*before, *after), None
        for kind, name, changed in _changed(case, call):
            found = None if plays else _not_named(expected[index], name, f"{place}[{index}]")
            yield kind, (*before, changed, *after), found
    if done.calls:
        again = done.calls[-1]
        line = Found("free_calls", {"max_calls": len(done.calls)}, f"turns[{number}]")
        careless = is_destructive(again.name) and not plays
        yield "further_call", (*done.calls, again), line if careless else None
    named = {name for part in parts for each in part.calls or () for name in each.tools}
    others = [plain_call(tool) for tool in turn.tools if tool.name not in named]
    destructive = [call for call in others if is_destructive(call.name)]
    for call in destructive[:MOST_TOOLS]:
        line = Found("free_calls", {"forbidden_calls": [call.name]}, f"turns[{number}]")
        yield "destructive_call", (*done.calls, call), None if plays else line
    looks = parts or turn.turn.expected_state or case.case.expected_state
    for call in [call for call in others if call not in destructive][:1]:
        line = Found("calls_not_looked_at", {"expected_calls": []}, f"turns[{number}]")
        yield "further_call", (*done.calls, call), None if looks else line


def _changed(case: ResolvedCase, call: ToolCall) -> Iterator[tuple[Kind, str, ToolCall]]:
    arguments = call.arguments or {}
    schema = schema_of(offered(case, call.name))
    for name, value in arguments.items():
        for kind, other in changes(value, inside(schema, name)):
            if kind in _CHANGES and other != value:
                yield kind, name, ToolCall(call.name, {**arguments, name: other})


def _not_named(expected: ExpectedCall, name: str, place: str) -> Found | None:
    if expected.params is None:
        return Found("params_not_scored", {"params": {name: FILL_IN}}, place)
    if name not in expected.params:
        return Found("argument_not_named", {name: FILL_IN}, f"{place}.params")
    return None
