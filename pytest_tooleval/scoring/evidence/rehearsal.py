"""Run a suite's expected calls on its worlds before any model is queried.

Each case runs twice, to find nondeterministic worlds, which would fail models at random.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import takewhile

from ...errors import CannotCompare, WorldError
from ...findings import Finding, Findings, Loc
from ...record.results import ABSENT
from ...record.status import reports_error
from ...suite.case import ResolvedCase
from ...suite.checks.conversation import unplayable
from ...suite.expectations import Expectations
from ...suite.model import Suite, world_of
from ...suite.resolved import resolve
from ...text import json_text, shown
from ...worlds.plain import differences, path_text
from ...worlds.play import CallsToPlay, play
from ...worlds.world import without_secrets
from ..references import expected_calls, match_of, reference, state_row
from .silent_agent import check_evidence, require_state
from .watched_calls import call_effects

_FIX = 'fix the world or the call, or expect "status": "error"'
# A turn or the whole case, after its path.
CasePart = tuple[Loc, Expectations]


def rehearse(suite: Suite, cases: Collection[int] | None = None) -> Findings:
    """Yield expected calls that fail or vary between runs, and expected states they do not lead to.

    `cases` are the indexes of those to rehearse; None for all.
    """
    reported: set[str] = set()
    for index in range(len(suite.test_cases)) if cases is None else cases:
        test = suite.test_cases[index]
        if world_of(suite, test) is not None:
            loc: Loc = ("test_cases", index)
            case = resolve(suite, test)
            try:
                findings = [each._replace(loc=(*loc, *each.loc)) for each in _rehearsed(case)]
            except (WorldError, CannotCompare) as error:
                if str(error) in reported:  # such as a failed import of the world
                    continue
                reported.add(str(error))
                at: Loc = (*loc, test.leader or "turns")
                if not _can_be_made(case):
                    at = (*loc, "world") if test.world else ("world",)
                what = "" if "cannot run" in str(error) else "the expected calls cannot be run: "
                yield Finding(at, f"{what}{error}")
                continue
            yield from findings
            try:
                if not findings:
                    check_evidence(case)
                    require_state(case)
            except CannotCompare as error:
                yield Finding(loc, error.message)


def _rehearsed(case: ResolvedCase) -> Sequence[Finding]:
    """The problems of a case's expected calls, by places in it. Each case runs once per process."""
    assert case.world is not None
    every = (finding for each in case.variations for finding in _rehearse(each))
    # Parts without alternatives are in each variation.
    return case.world.memory.once(("rehearsed", case.id, case.variant), lambda: [*dict.fromkeys(every)])


def check_answers(case: ResolvedCase) -> None:
    """Raise CannotCompare if the world cannot answer the case's expected calls.

    A model that makes them is answered with an error then, and would pass.
    """
    if case.world is not None:
        key = ("answers", case.id, case.variant)
        if problem := case.world.memory.once(key, lambda: _unanswered(case)):
            raise CannotCompare(problem, "world")


def _unanswered(case: ResolvedCase) -> str:
    try:
        findings = _rehearsed(case)
    except WorldError as error:
        return str(error)
    return next((each.message for each in findings if "expected_state" not in each.loc), "")


def _rehearse(case: ResolvedCase) -> Findings:
    *turns, whole = turns_and_case(case, ())
    offered = [{tool.name for tool in each.tools} for each in case.turns]
    yield from _play(case, turns, offered, [] if case.expected.calls else [whole])
    if case.expected.calls:
        yield from _play(case, [whole], offered[-1:], [])


def turns_and_case(case: ResolvedCase, loc: Loc) -> list[CasePart]:
    """Return the turns and the case, each after its path."""
    turns: list[CasePart] = [((*loc, "turns", i), each.turn) for i, each in enumerate(case.turns)]
    return [*turns, (loc, case.expected)]


def call_at(loc: Loc, expected: Expectations, index: int) -> Loc:
    """Return the place of an expected call in the file."""
    if expected.expected_calls is None:
        return (*loc, "expected_tool")
    return (*loc, *expected.placed_calls[index][0])


def _says_every_call(case: ResolvedCase, expected: Expectations) -> bool:
    return expected.calls is not None and match_of(case, expected) not in ("contains", "within")


def _can_be_made(case: ResolvedCase) -> bool:
    assert case.world is not None
    try:
        play(case.world, ())
    except WorldError:
        return False
    return True


def _play(
    case: ResolvedCase, parts: Sequence[CasePart], offered: Sequence[set[str]], ends: Sequence[CasePart]
) -> Findings:
    """Run the calls of these parts in order; those of `ends` are checked after the last."""
    assert case.world is not None
    named = [part for _, part in parts]
    if not any(part.calls for part in named) or any(any(unplayable(part, ())) for part in named):
        return
    turns = [
        CallsToPlay(
            expected_calls(part), names, must_run=all(c.params is not None for c in part.calls or ())
        )
        for (_, part), names in zip(parts, offered, strict=True)
    ]
    first, second = reference(case, turns), call_effects(case, named)
    fails = False
    for number, (loc, expected) in enumerate(parts):
        answers = zip(expected.calls or (), first.tool_answers[number], strict=True)
        for index, (call, answer) in enumerate(answers):
            if reports_error(answer):
                fails = True
                # Where others are allowed, some may have to come first; a state shows what came of it.
                is_free = match_of(case, expected) in ("contains", "within", "state")
                if not is_free and call.params is not None and call.status != "error":
                    answered = f"{call.tools[0]} answers {shown(answer, 200)}"
                    yield Finding(call_at(loc, expected, index), f"{answered}; {_FIX}")
        difference = next(differences(first.states[number], second[number].state), None)
        if difference is not None:
            one, other = (json_text(without_secrets(value)) for value in difference[1:])
            yield Finding(
                loc, f"{without_secrets(path_text(difference[0]))} is {one}, but {other} in a second run"
            )
    if not fails:
        # After a turn that may make other calls, or not all of these, the state is anybody's guess.
        checkable = list(takewhile(partial(_says_every_call, case), named))
        states = first.states[: len(checkable)]
        checked = [*parts[: len(checkable)], *(ends if len(checkable) == len(parts) else ())]
        states += first.states[-1:] * (len(checked) - len(checkable))
        for (loc, expected), state in zip(checked, states, strict=True):
            for path, wanted in (expected.expected_state or {}).items():
                row = state_row(case, state, path, wanted)
                if row.value < 1.0:
                    got = row.reason if row.actual == ABSENT else f"they lead to {row.actual}"
                    message = f"the expected calls do not lead to this: {got}"
                    yield Finding((*loc, "expected_state", path), message)
