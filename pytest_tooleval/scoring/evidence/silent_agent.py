"""The silent agent, which makes no call and says that it is done. No case judged by state passes it.

Otherwise, changes that a world's state does not show, behind a connection or in a private attribute,
would count as evidence that everything is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import structs

from ...errors import CannotCompare, WorldError
from ...matchers.matcher import is_optional
from ...record.thresholds import missed_thresholds
from ...record.transcript import Reply, Transcript
from ...suite.case import ResolvedCase
from ...suite.expectations import Expectations
from ...suite.resolved import judges
from ...text import first_few
from ...worlds.plain import STATE, read_path
from ...worlds.play import look
from ...worlds.world import World, WorldSpec
from ..kinds import assess
from ..references import compares_results, failing_calls, judged_by_state, match_of
from ..registry import Scorer, run_scorer

_DONE = {"role": "assistant", "content": "Done."}
_NEXT = ({"role": "user", "content": "..."},)
_SHOWN = 5
_ELSEWHERE = "what changes may be in a global, a thread or another process"
_WAY_OUT = f"keep it in a public attribute, or return it from {STATE}(self)"

_T = TypeVar("_T")


def check_evidence(case: ResolvedCase, scorers: Sequence[Scorer] = ()) -> None:
    """Raise CannotCompare if the case is judged by state, and an agent that makes no call would pass.

    Each case is played once per process.
    """
    if case.world is None or not _is_by_state(case):
        return
    key = ("silent", case.id, case.variant, tuple(case.thresholds.items()))
    if problem := case.world.memory.once(key, lambda: _problem(case, scorers)):
        raise CannotCompare(problem)


def _problem(case: ResolvedCase, scorers: Sequence[Scorer]) -> str:
    assert case.world is not None
    states = [part.expected_state or {} for part in case.expectations]
    wanted = [entry for state in states for entry in state.items()]
    paths = [path for path, value in wanted if not is_optional(value)]
    # What may be absent must be in something that exists: a misspelt path would always be absent.
    paths += [path for path, value in wanted if is_optional(value) and len(read_path(path) or ()) > 1]
    if not paths and _fails_anyway(case):
        return ""  # without making its world
    if problem := _nothing_to_see(case.world, paths):
        return f"{problem}; {_WAY_OUT}"
    if may_change_nothing(case) or not passes_silent_agent(case, scorers):
        return ""
    leave = 'if nothing has to change, set "may_change_nothing": true'
    if not any(map(partial(judged_by_state, case), case.expectations)):
        return f"an agent that makes no call passes, as expected_state holds from the start; {leave}"
    failed = failing_calls(case)
    if failed:
        return f"an agent that makes no call passes, as {failed[0]}; fix the call, or the world"
    compared, unseen = _looked_at(case.world, lambda world: (world.compared_names(), world.unseen()))
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
    if problem := _nothing_to_see(case.world, ()):
        raise CannotCompare(f"{problem}; {_WAY_OUT}")


def _nothing_to_see(spec: WorldSpec, paths: Sequence[str]) -> str:
    """Say that a world has no state, or not the one that is expected; empty if it has."""

    def unseen_in(world: World) -> str:
        unseen = [] if world.compared_names() else world.unseen()
        if unseen:
            return f"the world shows no state: {first_few(unseen, _SHOWN)}"
        return next(filter(None, map(world.not_read, paths)), "")

    return spec.memory.once(("seen", *spec.key, *paths), lambda: _looked_at(spec, unseen_in))


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
    judged = [part for part in case.expectations if _by_state(case, part)]
    with_calls = [part for part in case.expectations if part.calls is not None]
    calls_nothing = bool(with_calls) and all(part.allows_no_call for part in with_calls)
    return calls_nothing or case.expected.may_change_nothing or all(e.may_change_nothing for e in judged)


def _is_by_state(case: ResolvedCase) -> bool:
    return any(map(partial(_by_state, case), case.expectations))


def _by_state(case: ResolvedCase, expected: Expectations) -> bool:
    return bool(expected.expected_state) or judged_by_state(case, expected)


def _fails_anyway(case: ResolvedCase) -> bool:
    """Whether an agent that makes no call fails, whatever the state."""
    is_strict = case.thresholds.get("overall", 0.0) >= 1.0
    return is_strict and any(map(partial(_needs_a_call, case), case.expectations))


def _needs_a_call(case: ResolvedCase, expected: Expectations) -> bool:
    """Whether a check other than the state fails where nothing is called."""
    allows_none = match_of(case, expected) == "within" or (
        judged_by_state(case, expected) and not compares_results(case, expected)
    )
    return expected.calls is not None and not expected.allows_no_call and not allows_none


def passes_silent_agent(case: ResolvedCase, scorers: Sequence[Scorer] = ()) -> bool:
    """Whether an agent that makes no call passes the case, whatever the texts that it should say."""
    if _fails_anyway(case):
        return False
    plain = _without_texts(case)
    replies = [Reply(message=_DONE, prompt=_NEXT if turn else ()) for turn in range(len(plain.turns))]
    transcript = Transcript((), tuple(replies))
    values = {metric: draft.value for metric, draft in assess(plain, transcript).drafts.items()}
    for scorer in scorers:
        values |= {name: score.value for name, score in run_scorer(scorer, plain, transcript).items()}
    thresholds = {metric: least for metric, least in case.thresholds.items() if metric in values}
    return judges(thresholds) and not missed_thresholds(values, thresholds)


def _without_texts(case: ResolvedCase) -> ResolvedCase:
    """Return the case with any end, and with expected texts that every message contains."""

    def met(part: Any) -> Any:
        return part.model_copy(update={"expected_text": [""] * len(part.expected_text or ())})

    turns = tuple(structs.replace(turn, turn=met(turn.turn)) for turn in case.turns)
    return structs.replace(case, expected=met(case.expected), turns=turns, expected_stop=None)
