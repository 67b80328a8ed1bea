"""The agent that does half the work: it leaves out one expected call. Does any check notice?

A state does not show everything: not what a call changes behind a connection, in private data, in a
global, or beside what `_tooleval_state` returns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import structs

from ...errors import CannotCompare, WorldError
from ...findings import Finding, Findings, Loc
from ...record.calls import ToolCall
from ...record.status import CallStatus
from ...record.transcript import Message, Reply, Transcript
from ...suite.case import ResolvedCase
from ...suite.checks.conversation import unplayable
from ...suite.model import Suite, world_of
from ...suite.resolved import resolve
from ...worlds.play import CallsToPlay, play
from ..kinds import assess
from ..references import expected_calls, judged_by_state
from .rehearsal import call_at, turns_and_case
from .watched_calls import call_effects

_DONE = {"role": "assistant", "content": "Done."}
_NEXT = ({"role": "user", "content": "..."},)


def unnoticed_calls(suite: Suite, cases: Collection[int] | None = None) -> Findings:
    """Yield expected calls that an agent can leave out, as they change only what the state leaves out.

    `cases` are the indexes of those to look at; None for all.
    """
    for index in range(len(suite.test_cases)) if cases is None else cases:
        test = suite.test_cases[index]
        if world_of(suite, test) is not None:
            case = resolve(suite, test)
            loc: Loc = ("test_cases", index)
            findings = (each for one in case.variations for each in _unnoticed(one, loc))
            yield from dict.fromkeys(findings)


def _unnoticed(case: ResolvedCase, loc: Loc) -> Findings:
    for number, (part_loc, expected) in enumerate(turns_and_case(case, loc)):
        for index, what in unseen_effects(case, number).items():
            call = (expected.calls or ())[index]
            if not call.optional and not _is_noticed(case, number, index):
                message = f"an agent that leaves out {call.tools[0]} passes: {what}"
                yield Finding(call_at(part_loc, expected, index), message)


def unseen_effects(case: ResolvedCase, number: int) -> Mapping[int, str]:
    """Return what expected calls change, or may change, that the state does not show, by index.

    These are the calls of the turn with this number, or of the whole case after all turns, that are
    judged by a state in which they change nothing.
    """
    expected = case.expectations[number]
    if case.world is None or not judged_by_state(case, expected) or not expected.calls:
        return {}
    parts = case.expectations[: number + 1] if number < len(case.turns) else [expected]
    if any(next(unplayable(each, ()), None) for each in parts):
        return {}
    try:
        return call_effects(case, parts)[-1].unseen
    except WorldError:
        return {}  # a problem that is told


def _is_noticed(case: ResolvedCase, number: int, index: int) -> bool:
    """Whether a metric with a threshold is another if this expected call is left out."""
    calls_by_turn = [list(expected_calls(turn.turn)) for turn in case.turns]
    if not any(calls_by_turn):
        calls_by_turn[-1] = expected_calls(case.expected)
    elif number == len(case.turns):
        return True  # by the turns that name their calls
    left = [list(calls) for calls in calls_by_turn]
    del left[min(number, len(left) - 1)][index]
    try:
        whole, half = (_values(case, each) for each in (calls_by_turn, left))
    except (CannotCompare, WorldError):
        return True  # scoring reports it
    return any(whole.get(metric) != half.get(metric) for metric in case.thresholds)


def _values(case: ResolvedCase, turns: Sequence[Sequence[ToolCall]]) -> dict[str, float | None]:
    assert case.world is not None
    offered = {tool.name for tool in case.tools}
    answers = play(case.world, [CallsToPlay(calls, offered) for calls in turns]).tool_answers
    replies: list[Reply] = []
    for turn, calls, of_turn in zip(case.turns, turns, answers, strict=True):
        first = len(replies)
        answered = list(zip(calls, of_turn, strict=True))
        in_one = turn.turn.parallel or case.expected.parallel
        replies += map(_reply, [answered] if in_one and answered else [[each] for each in answered])
        replies.append(Reply(message=_DONE))
        replies[first] = structs.replace(replies[first], prompt=_NEXT if first else ())
    drafts = assess(structs.replace(case, answers="recorded"), Transcript((), tuple(replies))).drafts
    return {metric: draft.value for metric, draft in drafts.items()}


def _reply(answered: Sequence[tuple[ToolCall, str]]) -> Reply:
    """A reply with calls that ran, each with its answer."""
    answers: list[Message] = [
        {"role": "tool", "tool_call_id": str(id), "content": content}
        for id, (_, content) in enumerate(answered)
    ]
    calls = tuple(structs.replace(call, id=str(id)) for id, (call, _) in enumerate(answered))
    ok: CallStatus = "ok"
    ended, ran = (ok,) * len(answered), (True,) * len(answered)
    return Reply(message={}, calls=calls, tool_answers=tuple(answers), statuses=ended, ran_by_suite=ran)
