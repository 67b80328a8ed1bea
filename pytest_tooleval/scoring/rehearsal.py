"""What is tried before any model is queried: the expected calls, and the silent agent.

A suite's expected calls run on its worlds, each case's twice, to find nondeterministic worlds, which
would fail models at random.

The silent agent makes no call and says that it is done. No case judged by state passes it: what a world
changes where its state does not show it, behind a connection or in a private attribute, would otherwise
count as evidence that everything is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import structs

from ..errors import CannotCompare, WorldError
from ..explain import listing
from ..findings import Finding, Findings, Loc
from ..matchers.matcher import is_optional
from ..record.results import ABSENT
from ..record.thresholds import missed_thresholds
from ..record.transcript import Reply, Transcript, reports_error
from ..suite.case import ResolvedCase
from ..suite.checks.conversation import unplayable
from ..suite.expectations import Expectations
from ..suite.model import Suite, world_of
from ..suite.resolved import judges, resolve
from ..text import first_few, json_text, shown
from ..worlds.plain import STATE, differences, path_text
from ..worlds.play import Calls, look, play
from ..worlds.world import World, WorldSpec, clean
from .conversation import compares_results, expected_calls, failing_calls, match_of, plays, state_row
from .kinds import assess
from .registry import Scorer, run_scorer

_Part = tuple[Loc, Expectations]
_DONE = {"role": "assistant", "content": "Done."}
_NEXT = ({"role": "user", "content": "..."},)
_SHOWN = 5
_ELSEWHERE = "what changes may be in a global, a thread or another process"
_WAY_OUT = f"keep it in a public attribute, or return it from {STATE}(self)"

_T = TypeVar("_T")


def rehearse(suite: Suite) -> Findings:
    """Yield expected calls that fail or vary between runs, and expected states they do not lead to."""
    reported: set[str] = set()
    for index, test in enumerate(suite.test_cases):
        if world_of(suite, test) is not None:
            loc: Loc = ("test_cases", index)
            case = resolve(suite, test)
            try:
                every = (finding for each in case.variations for finding in _rehearse(each, loc))
                found = list(dict.fromkeys(every))  # parts without alternatives are in each variation
            except (WorldError, CannotCompare) as error:
                if str(error) in reported:  # such as a failed import of the world
                    continue
                reported.add(str(error))
                at: Loc = (*loc, "turns" if test.user is None else "user")
                if not _can_be_made(case):
                    at = (*loc, "world") if test.world else ("world",)
                what = "" if "cannot run" in str(error) else "the expected calls cannot be run: "
                yield Finding(at, f"{what}{error}")
                continue
            yield from found
            try:
                if not found:
                    require_evidence(case)
                    require_state(case)
            except CannotCompare as error:
                yield Finding(loc, error.message)


def _rehearse(case: ResolvedCase, loc: Loc) -> Findings:
    turns = [((*loc, "turns", i), each.turn) for i, each in enumerate(case.turns)]
    offered = [{tool.name for tool in each.tools} for each in case.turns]
    whole: _Part = (loc, case.expected)
    yield from _play(case, turns, offered, [] if case.expected.calls else [whole])
    if case.expected.calls:
        yield from _play(case, [whole], offered[-1:], [])


def hidden_changes(suite: Suite) -> Findings:
    """Yield expected calls that change what the state leaves out, and nothing else."""
    for index, test in enumerate(suite.test_cases):
        world = world_of(suite, test)
        if world is None:
            continue
        loc: Loc = ("test_cases", index)
        case = resolve(suite, test)
        turns: list[_Part] = [((*loc, "turns", i), each.turn) for i, each in enumerate(case.turns)]
        whole: _Part = (loc, case.expected)
        for place, part in ((at, one) for at, each in (*turns, whole) for one in each.alternatives):
            if plays(case, part):
                try:
                    found = look(world, partial(_unseen_calls, case, part))
                except WorldError:
                    continue  # a problem that is told
                for number, names in found:
                    message = f"changes only {names}, which the state does not show"
                    yield Finding(_call_at(place, part, number), message)


def _unseen_calls(case: ResolvedCase, part: Expectations, world: World) -> list[tuple[int, str]]:
    """Return the calls after which only private data is another, with the names of that data."""
    found = []
    offered = {tool.name for tool in case.tools}
    for number, call in enumerate(expected_calls(part)):
        before = world.state(), world.hidden()
        world.call(call.name, call.arguments, offered)
        if next(differences(before[0], world.state()), None) is None:
            changed = differences(before[1], world.hidden())
            names = dict.fromkeys(path_text(path[:2]) for path, _, _ in changed)
            if names:
                found.append((number, listing(list(names))))
    return found


def _call_at(loc: Loc, part: Expectations, index: int) -> Loc:
    """Return the place of an expected call in the file."""
    if part.expected_calls is None:
        return (*loc, "expected_tool")
    return (*loc, *part.placed_calls[index][0])


def _can_be_made(case: ResolvedCase) -> bool:
    assert case.world is not None
    try:
        play(case.world, ())
    except WorldError:
        return False
    return True


def _play(
    case: ResolvedCase, parts: Sequence[_Part], offered: Sequence[set[str]], ends: Sequence[_Part]
) -> Findings:
    """Run the calls of these parts in order; those of `ends` are checked after the last."""
    assert case.world is not None
    named = [part for _, part in parts]
    if not any(part.calls for part in named) or any(any(unplayable(part, ())) for part in named):
        return
    turns = [
        Calls(expected_calls(part), names, must_run=all(c.params is not None for c in part.calls or ()))
        for (_, part), names in zip(parts, offered, strict=True)
    ]
    first, second = play(case.world, turns), play(case.world, turns)
    fails = False
    for number, (loc, part) in enumerate(parts):
        answers = zip(part.calls or (), first.answers[number], strict=True)
        for index, (call, answer) in enumerate(answers):
            if reports_error(answer):
                fails = True
                # Where others are allowed, some may have to come first; a state shows what came of it.
                is_free = match_of(case, part) in ("contains", "within", "state")
                if not is_free and call.params is not None:
                    yield Finding(
                        _call_at(loc, part, index), f"{call.tools[0]} answers {shown(answer, 200)}"
                    )
        found = next(differences(first.states[number], second.states[number]), None)
        if found is not None:
            one, other = (json_text(clean(value)) for value in found[1:])
            yield Finding(loc, f"{clean(path_text(found[0]))} is {one}, but {other} in a second run")
    if not fails:
        states = [*first.states, *[first.states[-1]] * len(ends)]
        for (loc, part), state in zip((*parts, *ends), states, strict=True):
            for path, wanted in (part.expected_state or {}).items():
                row = state_row(case, state, path, wanted)
                if row.value < 1.0:
                    got = row.reason if row.actual == ABSENT else f"they lead to {row.actual}"
                    message = f"the expected calls do not lead to this: {got}"
                    yield Finding((*loc, "expected_state", path), message)


def require_evidence(case: ResolvedCase, scorers: Sequence[Scorer] = ()) -> None:
    """Raise CannotCompare if the case is judged by state, and an agent that makes no call would pass.

    Each case is played once per process.
    """
    if case.world is None or not _is_by_state(case):
        return
    key = ("silent", case.id, case.arm, tuple(case.thresholds.items()))
    if problem := case.world.memory.once(key, lambda: _problem(case, scorers)):
        raise CannotCompare(problem)


def _problem(case: ResolvedCase, scorers: Sequence[Scorer]) -> str:
    assert case.world is not None
    states = [part.expected_state or {} for part in case.parts]
    paths = [path for state in states for path, wanted in state.items() if not is_optional(wanted)]
    if not paths and _fails_anyway(case):
        return ""  # without making its world
    if problem := _looked_at(case.world, lambda world: _nothing_to_see(world, paths)):
        return f"{problem}; {_WAY_OUT}"
    if may_change_nothing(case) or not passes_silent_agent(case, scorers):
        return ""
    leave = 'if nothing has to change, set "may_change_nothing": true'
    if not any(map(partial(plays, case), case.parts)):
        return f"an agent that makes no call passes, as expected_state holds from the start; {leave}"
    failed = failing_calls(case)
    if failed:
        return f"an agent that makes no call passes, as {failed[0]}; mend the call, or the world"
    compared, unseen = _looked_at(case.world, lambda world: (world.compared(), world.unseen()))
    return (
        "an agent that makes no call passes: after what is expected, the state "
        f"({first_few(compared, _SHOWN)}) is as it was before"
        f"; {first_few(unseen, _SHOWN) or _ELSEWHERE}"
        f"; {_WAY_OUT}; {leave}"
    )


def require_state(case: ResolvedCase) -> None:
    """Raise CannotCompare if the case is judged by state, and its world shows none."""
    if case.world is None or not _is_by_state(case):
        return
    if problem := _looked_at(case.world, lambda world: _nothing_to_see(world, ())):
        raise CannotCompare(f"{problem}; {_WAY_OUT}")


def _nothing_to_see(world: World, paths: Sequence[str]) -> str:
    """Say that a world has no state, or not the one that is expected; empty if it has."""
    unseen = [] if world.compared() else world.unseen()
    if unseen:
        return f"the world shows no state: {first_few(unseen, _SHOWN)}"
    return next(filter(None, map(world.not_read, paths)), "")


def _looked_at(spec: WorldSpec, function: Callable[[World], _T]) -> _T:
    try:
        return look(spec, function)
    except WorldError as error:
        raise CannotCompare(str(error), "world") from None


def may_change_nothing(case: ResolvedCase) -> bool:
    """Whether the case says that an agent which does nothing may pass.

    It does with `may_change_nothing`, in the case or in each turn that is judged by state, or by
    expecting no call wherever it has expected calls.
    """
    judged = [part for part in case.parts if _by_state(case, part)]
    expected = [part for part in case.parts if part.calls is not None]
    calls_nothing = bool(expected) and all(part.allows_no_call for part in expected)
    return calls_nothing or case.expected.may_change_nothing or all(e.may_change_nothing for e in judged)


def _is_by_state(case: ResolvedCase) -> bool:
    return any(map(partial(_by_state, case), case.parts))


def _by_state(case: ResolvedCase, part: Expectations) -> bool:
    return bool(part.expected_state) or plays(case, part)


def _fails_anyway(case: ResolvedCase) -> bool:
    """Whether an agent that makes no call fails, whatever the state."""
    is_strict = case.thresholds.get("overall", 0.0) >= 1.0
    return is_strict and any(map(partial(_needs_a_call, case), case.parts))


def _needs_a_call(case: ResolvedCase, part: Expectations) -> bool:
    """Whether a check other than the state fails where nothing is called."""
    allows_none = match_of(case, part) == "within" or (
        plays(case, part) and not compares_results(case, part)
    )
    return part.calls is not None and not part.allows_no_call and not allows_none


def passes_silent_agent(case: ResolvedCase, scorers: Sequence[Scorer] = ()) -> bool:
    """Whether an agent that makes no call passes the case, whatever the texts that it should say."""
    if _fails_anyway(case):
        return False
    asked = _without_texts(case)
    replies = [Reply(message=_DONE, prompt=_NEXT if turn else ()) for turn in range(len(asked.turns))]
    transcript = Transcript((), tuple(replies))
    values = {metric: draft.value for metric, draft in assess(asked, transcript).drafts.items()}
    for scorer in scorers:
        values |= {name: score.value for name, score in run_scorer(scorer, asked, transcript).items()}
    known = {metric: least for metric, least in case.thresholds.items() if metric in values}
    return judges(known) and not missed_thresholds(values, known)


def _without_texts(case: ResolvedCase) -> ResolvedCase:
    """Return the case with texts that every message contains in place of those that it expects."""

    def met(part: Any) -> Any:
        return part.model_copy(update={"expected_text": [""] * len(part.expected_text or ())})

    turns = tuple(structs.replace(turn, turn=met(turn.turn)) for turn in case.turns)
    return structs.replace(case, expected=met(case.expected), turns=turns)
