"""What the world says of a conversation: the model's calls on one, the expected calls on another."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

from ..errors import CannotCompare, WorldError
from ..matchers.compare import compare_with_reason, type_of
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES
from ..record.call_records import CallRecord
from ..record.calls import NO_TOOL, ToolCall, shown_tool
from ..record.results import ABSENT, Check
from ..record.status import reports_error
from ..secrets import without_key_values
from ..suite.case import ResolvedCase
from ..suite.expectations import Expectations, Match
from ..suite.resolved import find_tool
from ..text import json_text, shorten, shown
from ..worlds.plain import (
    ABSENT_VALUE,
    differences,
    json_like,
    look_up,
    path_text,
    read_json,
    read_path,
    same_value,
)
from ..worlds.play import CallsToPlay, Plays, TooManyFailed, play
from ..worlds.world import without_secrets
from .assessment import SpanCheck, mean, span_check_of_rows
from .paired_calls import PairedCalls
from .scored_calls import faulted_calls
from .turns import LONGEST_ANSWER, CaseTurns, Span, call_and_answer_text

_NOT_GIVEN = "(no such answer)"
_MOST_LOST = 20  # calls that are left out one by one
_SHOWN = 20  # differences or missing answers in an explanation
# Fields of answers that decide whether a call did what it should.
_DECIDING = frozenset(("error", "success", "status"))


def match_of(case: ResolvedCase, of: Expectations) -> Match:
    """Return the `match` of a turn or of the case."""
    return of.match or case.expected.match or "exact"


def compares_results(case: ResolvedCase, of: Expectations) -> bool:
    """Whether the model must get the answers that the expected calls give."""
    return bool(case.expected.results if of.results is None else of.results)


def expected_calls(of: Expectations) -> list[ToolCall]:
    """Return the expected calls, whose params must be plain values, as actual ones."""
    return [ToolCall(call.tools[0], call.params or {}) for call in of.calls or ()]


def judged_by_state(case: ResolvedCase, expected: Expectations) -> bool:
    """Whether a turn's or the case's expected calls are played on a world."""
    return expected.calls is not None and match_of(case, expected) == "state"


def _played(case: ResolvedCase, turns: Sequence[CallsToPlay]) -> Plays:
    if case.world is None:
        raise CannotCompare("the case needs a world", "world")
    try:
        return play(case.world, turns)
    except TooManyFailed:
        raise
    except WorldError as error:
        raise CannotCompare(str(error), "world") from None


class Reference(NamedTuple):
    """The expected calls of a span, and the play that they are part of."""

    calls: CallsToPlay
    played: Plays


class StateComparison:
    """The model's calls of a conversation, `played` on a new world, and the plays to compare it with.

    `played` is None if nothing needs it, the case has failed, or `too_many` says that calls failed.
    `not_played` has a line for each call that was left out, and `differing` for each other answer.
    """

    def __init__(self, conversation: CaseTurns) -> None:
        self._case = conversation.case
        self._conversation = conversation
        self.not_played: list[str] = []
        self.differing: list[str] = []
        # The model's calls of each turn that were played.
        self._ran: list[CallsToPlay] = []
        self.too_many = ""
        self.played: Plays | None = None
        needs = any(each.expected.expected_state or self._by_state(each) for each in conversation.spans)
        if needs and not conversation.fails:
            self._play_model()

    def _play_model(self) -> None:
        case, spans = self._case, self._conversation.turns
        # What a provider ran itself did not run here.
        calls_by_turn = [
            [each for each in span.ran_calls if not each.call.hosted or find_tool(case, each.call.name)]
            for span in spans
        ]
        turns = [
            CallsToPlay(
                [each.call for each in calls], {tool.name for tool in turn.tools}, self._failed(calls)
            )
            for calls, turn in zip(calls_by_turn, self._case.turns, strict=True)
        ]
        try:
            played = _played(self._case, turns)
        except TooManyFailed as error:
            self.too_many = str(error)
            return
        for turn, index in sorted(played.left_out):
            answered = call_and_answer_text(calls_by_turn[turn][index])
            line = f"{spans[turn].place}{answered}, so it was not played on the world"
            self.not_played.append(line)
        ran = [
            [each for index, each in enumerate(calls) if (turn, index) not in played.left_out]
            for turn, calls in enumerate(calls_by_turn)
        ]
        self._ran = [
            turn._replace(calls=[each.call for each in calls], failed=())
            for turn, calls in zip(turns, ran, strict=True)
        ]
        if self._case.altered is None:  # else a variant altered what the model was answered
            for span, calls, answers in zip(spans, ran, played.tool_answers, strict=False):
                self._compare_answers(span.place, calls, answers)
        self._require_known(turns, calls_by_turn, played)
        self.played = self._as_answered(ran, played)

    def _compare_answers(self, place: str, calls: Sequence[CallRecord], answers: Sequence[str]) -> None:
        """Note answers that the world gives otherwise. Raises CannotCompare if it decides otherwise."""
        for call, answer in zip(calls, answers, strict=True):
            differs = disagreement(call, answer)
            if differs is None:
                continue
            other = shown(without_secrets(answer), LONGEST_ANSWER)
            line = f"{place}{call_and_answer_text(call)}, but the world answers {other}"
            if differs and self._case.answers != "recorded":
                hint = '; if the transcript is right, set "answers": "recorded" in the case'
                raise CannotCompare(f"the transcript and the world disagree: {line}{hint}", "world")
            self.differing.append(line)

    def _require_known(
        self,
        turns: Sequence[CallsToPlay],
        calls_by_turn: Sequence[Sequence[CallRecord]],
        played: Plays,
    ) -> None:
        """Raise CannotCompare if a judged state depends on whether a call ran, and nobody knows."""
        lost = [
            (turn, index)
            for turn, calls in enumerate(calls_by_turn)
            for index, each in enumerate(calls)
            if each.has_unknown_end and not self._case.play_failed_calls
        ]
        for places in [[each] for each in lost[:_MOST_LOST]] + ([lost] if len(lost) > 1 else []):
            without = _played(self._case, [_without(turn, n, places) for n, turn in enumerate(turns)])
            spans = self._conversation.spans
            if any(self._is_judged_otherwise(span, played, without) for span in spans):
                turn, index = places[0]
                line = f"{spans[turn].place}{call_and_answer_text(calls_by_turn[turn][index])}"
                raise CannotCompare(
                    f"{line}, so nobody knows whether it ran, and the state depends on it; if such "
                    'calls ran, set "play_failed_calls": true in the case',
                    "world",
                )

    def _is_judged_otherwise(self, span: Span, one: Plays, other: Plays) -> bool:
        """Whether a span's state, as far as it is judged, differs between two plays."""
        state, other_state = one.states[span.last_turn - 1], other.states[span.last_turn - 1]
        if self._by_state(span):
            different = differences(state, other_state, is_exact=self._case.exact_state)
            return next(different, None) is not None
        return any(
            state_row(self._case, state, *entry).value
            != state_row(self._case, other_state, *entry).value
            for entry in (span.expected.expected_state or {}).items()
        )

    def _as_answered(self, ran: Sequence[Sequence[CallRecord]], played: Plays) -> Plays:
        """Put what the model was answered in place of the world's answers.

        Answers that a fault withheld from it are left out. Where the suite ran the call, and where no
        answer is recorded, the model got the world's.
        """
        lost = faulted_calls(self._conversation.calls)
        answers = [
            [
                text if each.by_suite or each.answer is None else each.answer
                for each, text in zip(calls, of_turn, strict=True)
                if not any(each.call is one for one in lost)
            ]
            for calls, of_turn in zip(ran, played.tool_answers, strict=True)
        ]
        return played._replace(tool_answers=answers)

    def _failed(self, calls: Sequence[CallRecord]) -> set[int]:
        """Return indexes of calls answered with an error, unless the case says that these ran."""
        if self._case.play_failed_calls:
            return set()
        failed = (each.status == "error" and not each.by_suite for each in calls)
        return {index for index, each in enumerate(failed) if each}

    def references(self) -> list[Reference | None]:
        """Return the play to which each span is compared: that of its expected calls.

        A turn begins where the expected calls of the turns before it lead. After a turn that is not
        judged by state, it begins where the model's own calls have led, but not with `exact_state`.
        """
        turns, whole, played = self._conversation.turns, self._conversation.whole, self.played
        if played is None:
            return [None] * len(self._conversation.spans)
        references: list[Reference | None] = []
        while len(references) < len(turns):
            begins, chosen = len(references), list[CallsToPlay]()
            together = list(takewhile(self._follows, turns[begins:]))
            for span in together:
                chosen.append(self._chosen(span, played, begins, chosen))
            full = self._reference(begins, chosen) if any(map(self._by_state, together)) else None
            for span, calls in zip(together, chosen, strict=True):
                references.append(Reference(calls, full) if full and self._by_state(span) else None)
            references += [] if together else [None]
        if not self._by_state(whole):
            return [*references, None]
        of_whole = self._chosen(whole, played, 0, [])
        return [*references, Reference(of_whole, reference(self._case, [of_whole]))]

    def _chosen(
        self, span: Span, played: Plays, begins: int, before: Sequence[CallsToPlay]
    ) -> CallsToPlay:
        """Return the list of expected calls that fits the model's best, after those chosen `before`."""
        lists = [
            _expected(self._case, each, _missing_optional(self._case, each, span))
            for each in span.expected.alternatives
        ]
        if len(lists) == 1 or not self._by_state(span):
            return lists[0]

        def value(calls: CallsToPlay) -> float:
            to = Reference(calls, self._reference(begins, [*before, calls]))
            return mean(list(world_checks(self._case, span, played, to)))

        return max(lists, key=value)

    def _by_state(self, span: Span) -> bool:
        return judged_by_state(self._case, span.expected)

    def _follows(self, span: Span) -> bool:
        """Whether the expected calls of a turn say where the next turn begins."""
        return self._by_state(span) or self._case.exact_state

    def _reference(self, begins: int, expected: Sequence[CallsToPlay]) -> Plays:
        """Play the model's own calls of the turns before `begins`, then expected calls."""
        if begins:
            return _played(self._case, [*self._ran[:begins], *expected])
        return reference(self._case, expected)


def _without(turn: CallsToPlay, number: int, places: Collection[tuple[int, int]]) -> CallsToPlay:
    """Return a turn's calls without those at these places, given as turn and index."""
    kept = [index for index in range(len(turn.calls)) if (number, index) not in places]
    failed = {kept.index(index) for index in turn.failed if index in kept}
    return turn._replace(calls=[turn.calls[index] for index in kept], failed=failed)


def reference(case: ResolvedCase, expected: Sequence[CallsToPlay]) -> Plays:
    """Play expected calls on a new world, once for all trials and models."""
    assert case.world is not None
    key = play_key(case, (turn.calls for turn in expected))
    return case.world.memory.recall(key, lambda: _played(case, expected))


def play_key(case: ResolvedCase, turns: Iterable[Sequence[ToolCall]]) -> tuple[Hashable, ...]:
    """The key of a play of these calls in the memory of the case's world."""
    assert case.world is not None
    return case.id, *case.world.key, repr(list(turns))


def failing_calls(case: ResolvedCase) -> list[str]:
    """Return a line for each expected call that the world answers with an error.

    The calls of each turn that is judged by state are played alone.
    """
    failing = []
    for part in (alternative for each in case.expectations for alternative in each.alternatives):
        if judged_by_state(case, part):
            played = _expected(case, part)
            (answers,) = reference(case, [played]).tool_answers
            for call, answer in zip(played.calls, answers, strict=True):
                if reports_error(answer):
                    failing.append(
                        f"{shown_tool(call)} answers {shown(without_secrets(answer), LONGEST_ANSWER)}"
                    )
    return failing


def _expected(case: ResolvedCase, of: Expectations, left_out: Collection[int] = ()) -> CallsToPlay:
    """Return the expected calls of a part that is judged by state, without some; else none."""
    calls = expected_calls(of) if judged_by_state(case, of) else []
    played = [call for index, call in enumerate(calls) if index not in left_out]
    return CallsToPlay(played, {tool.name for tool in case.tools}, must_run=True)


def _missing_optional(case: ResolvedCase, of: Expectations, span: Span) -> list[int]:
    """Return the indexes of the optional calls that the model did not make."""
    expected = of.calls or ()
    if not any(call.optional for call in expected):
        return []
    fulfilled = PairedCalls(case, expected, span.calls, in_order=False, match="contains").right_indexes
    return [index for index, call in enumerate(expected) if call.optional and index not in fulfilled]


def disagreement(record: CallRecord, answer: str) -> bool | None:
    """Compare the recorded answer to a call with the world's.

    Return None if they say the same, or are unknown. True if they decide otherwise: the world's is an
    error, which the recorded one does not quote, or is of another JSON type, or a boolean or a field
    named error, success or status differs. False for other differences, such as an id or a time.
    """
    recorded = record.answer
    if record.failed or record.has_unknown_end or recorded is None or reports_error(recorded):
        return None
    if same_value(recorded, answer):
        return None
    if reports_error(answer):
        error = json.loads(answer).get("error")
        return None if isinstance(error, str) and error and error in recorded else True
    values = [read_json(each) for each in (recorded, answer)]
    # A world that returns nothing does not contradict.
    if values[1] is not None and type_of(values[0]) != type_of(values[1]):
        return True
    return any(
        isinstance(one, bool) or isinstance(other, bool) or not _DECIDING.isdisjoint(path)
        for path, one, other in differences(*values)
        if not (one in (None, ABSENT_VALUE) and other in (None, ABSENT_VALUE))
    )


def world_checks(case: ResolvedCase, span: Span, played: Plays, to: Reference) -> Iterator[SpanCheck]:
    """Yield the checks of the world after a span against the play of its expected calls."""
    reference, state = to.played, played.states[span.last_turn - 1]
    # The reference for the whole case has a single turn.
    turn = min(span.last_turn, len(reference.states)) - 1
    why = "differs from the state after the expected calls"
    rows = [
        Check(without_secrets(path_text(path)), _shown(wanted), _shown(got), 0.0, why)
        for path, wanted, got in islice(
            differences(reference.states[turn], state, is_exact=case.exact_state), _SHOWN
        )
    ]
    same = Check("state", "the same as after the expected calls", "the same", 1.0, "")
    yield span_check_of_rows("state", "wrong_state", span.place, rows, same)
    if compares_results(case, span.expected):
        answers = [answer for turn in played.tool_answers[: span.last_turn] for answer in turn]
        equal = operator.eq if case.exact_state else same_value
        missing = _missing_results(span, to.calls.calls, reference.tool_answers[turn], answers, equal)
        all_given = Check("results", "those of the expected calls", "all given", 1.0, "")
        yield span_check_of_rows("results", "missing_result", span.place, missing, all_given)


def _missing_results(
    span: Span,
    calls: Sequence[ToolCall],
    wanted: Sequence[str],
    answers: Sequence[str],
    equal: Callable[[str, str], bool],
) -> list[Check]:
    if calls and not span.calls:
        return [Check("results", "at least one call", NO_TOOL, 0.0, "nothing was called")]
    left = Counter(answers)
    rows = []
    for call, answer in zip(calls, wanted, strict=True):
        same = answer if left[answer] else next((each for each in left if equal(each, answer)), None)
        if same is not None:
            left -= Counter([same])
        else:
            what = f"result of {shown_tool(call)}"
            rows.append(Check(what, shorten(answer), _NOT_GIVEN, 0.0, "no call had this answer"))
    return rows[:_SHOWN]


def state_row(case: ResolvedCase, state: dict[str, Any], path: str, wanted: Any) -> Check:
    """Compare one entry of `expected_state` with the state of a world."""
    whole, got = look_up(state, read_path(path) or (path,))
    if got is ABSENT_VALUE:
        right, why = is_optional(wanted), _what_is_there(state, whole)
    else:
        got = json_like(got, wanted)
        right, why = compare_with_reason(wanted, without_key_values(got), MODES[case.param_scoring])
        if not right:  # the reason may quote the value
            _, why = compare_with_reason(wanted, without_secrets(got), MODES[case.param_scoring])
    return Check(path_text(whole), json_text(wanted), _shown(got), float(right), why)


def _what_is_there(state: dict[str, Any], path: Sequence[str | int]) -> str:
    """Say what exists at the missing path's longest prefix: `does not exist; Desk.orders has "A1"`."""
    parent, last = "the world", state
    for end in range(1, len(path)):
        whole, value = look_up(state, tuple(path[:end]))
        if value is ABSENT_VALUE:
            break
        parent, last = path_text(whole), json_like(value)
    if isinstance(last, dict):
        names = (
            ", ".join(json_text(name, 40) for name in without_secrets(list(last)[:_SHOWN])) or "nothing"
        )
        return shorten(f"does not exist; {parent} has {names}", 200)
    return f"does not exist; {parent} is {shorten(_shown(last), 60)}"


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return ABSENT if value is ABSENT_VALUE else json_text(without_secrets(value))
