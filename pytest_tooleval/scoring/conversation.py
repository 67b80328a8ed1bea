"""A conversation of several turns: each expectation is a check from 0 to 1, and `overall` is their mean.

The checks of each metric:

    calls    expected_calls with match exact, contains and within
    state    expected_state, and expected_calls with match state: the model's calls run on a new world,
             except those that changed nothing, and the expected calls on another
    results  with "results": true, the model got every answer that the turn's expected calls give
    text     expected_text
    conduct  forbidden_calls and max_calls; 0 for a turn that did not end
"""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

from msgspec import structs

from ..errors import CannotCompare, WorldError
from ..jsonschemas.patterns import search
from ..matchers.compare import reason
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES
from ..matchers.numerals import numbers
from ..record.calls import ToolCall
from ..record.metrics import CONVERSATION
from ..record.results import ABSENT, NO_TOOL, NOT_SAID, Check, FailureCategory
from ..record.transcript import NOT_RUN, CallStatus, Reply, Transcript, reports_error, text_of
from ..secrets import without_key_values
from ..suite.case import ResolvedCase, Turn
from ..suite.expectations import ANY_TOOL, Expectations, ExpectedCall
from ..text import canonical, counted, folded_words, json_text, shorten, shown
from ..worlds.plain import ABSENT as NOTHING
from ..worlds.plain import (
    as_json,
    differences,
    look_up,
    path_text,
    read_json,
    read_path,
    same_value,
)
from ..worlds.play import Calls as PlayedCalls
from ..worlds.play import Played, TooManyFailed, play
from ..worlds.world import clean
from .assessment import EXPECTED_GOT, Assessment, Draft, Explained, Line
from .calls import Calls
from .counted import unanswered, uncounted, without_asked, without_stop
from .forbidden import forbidden_by_case, forbidden_call, leak_in_texts
from .one_call import shown_call

_UNWANTED = "{0.name}: {0.actual}: {0.reason}"
_SAID = "{0.name}: expected {0.expected}, but {0.actual} {0.reason}"
_NOT_GIVEN = "(no such answer)"
_SHOWN = 20  # differences or missing answers in an explanation
_LONGEST_ANSWER = 120
# Fields of answers that decide whether a call did what it should.
_DECIDING = frozenset(("error", "success", "status"))


class Part(NamedTuple):
    """One check. Its `lines` explain it and leave out its `place`."""

    metric: str
    value: float
    failure: FailureCategory
    lines: Callable[[], Sequence[Line]]
    place: str
    malformed: ToolCall | None = None  # an expected call with malformed arguments


def _part(
    metric: str,
    failure: FailureCategory,
    place: str,
    row: Check,
    says: str = EXPECTED_GOT,
) -> Part:
    return Part(metric, row.value, failure, lambda: [Line(row, says)], place)


class Span(NamedTuple):
    """A turn or the whole conversation, with its expectations; `end` is its last turn, from 1.

    `uncounted` are calls caused by a variant.
    """

    place: str
    expected: Expectations
    replies: Sequence[Reply]
    end: int
    uncounted: Sequence[ToolCall] = ()

    @property
    def calls(self) -> list[ToolCall]:
        calls = (call for reply in self.replies for call in reply.calls)
        return [call for call in calls if not any(call is each for each in self.uncounted)]

    @property
    def turn(self) -> int:
        """The number of the turn; 0 for the whole conversation."""
        return self.end if isinstance(self.expected, Turn) else 0

    @property
    def texts(self) -> list[str]:
        return [reply.text for reply in self.replies]

    @property
    def is_said(self) -> bool:
        return any(text.strip() for text in self.texts)


class _Made(NamedTuple):
    """A call that may have run."""

    call: ToolCall
    status: CallStatus | None
    reply: Reply

    @property
    def answer(self) -> str:
        """The text of its answer; empty if it has none."""
        answers = (each for each in self.reply.answers if each.get("tool_call_id") == self.call.id)
        return text_of(next(answers, {}))

    @property
    def shown_answer(self) -> str:
        return shown(self.answer, _LONGEST_ANSWER) if self.answer else "with an error"


def _made(replies: Sequence[Reply]) -> list[_Made]:
    """Return the calls in the order of their answers, except those that were refused or are waiting."""
    return [
        _Made(call, status, each)
        for each in replies
        for call, status in _in_order(each)
        if status not in NOT_RUN
    ]


def _in_order(reply: Reply) -> list[tuple[ToolCall, CallStatus | None]]:
    """Return a reply's calls with their status, parallel ones in the order of their answers."""
    found = list(zip(reply.calls, reply.status or [None] * len(reply.calls), strict=True))
    answered = [str(answer.get("tool_call_id")) for answer in reply.answers]
    ids = [str(call.id) for call in reply.calls]
    if len(ids) < 2 or sorted(ids) != sorted(answered) or len({*ids}) < len(ids):
        return found
    return sorted(found, key=lambda each: answered.index(str(each[0].id)))


def _with_turns(case: ResolvedCase, transcript: Transcript) -> ResolvedCase:
    """Return the case; if a model plays the user, with as many turns as were taken."""
    taken = max(1, len(transcript.turns))
    return structs.replace(case, turns=case.turns * taken) if case.user else case


def _spans(case: ResolvedCase, transcript: Transcript) -> list[Span]:
    turns = transcript.turns
    if len(turns) > len(case.turns):
        raise CannotCompare(f"the conversation has {len(turns)} turns, {len(case.turns)} expected")
    spans = []
    caused = uncounted(list(_in_turns(case, transcript)))
    for number, each in enumerate(case.turns):
        replies = turns[number] if number < len(turns) else ()
        place = f"turn {number + 1}: " if len(case.turns) > 1 else ""
        spans.append(Span(place, each.turn, replies, number + 1))
    spans.append(Span("", case.expected, transcript.replies, len(case.turns)))
    return [span._replace(uncounted=caused) for span in spans]


def match_of(case: ResolvedCase, of: Expectations) -> str:
    """Return the `match` of a turn or of the case."""
    return of.match or case.expected.match or ("contains" if ANY_TOOL in of.expected_tools else "exact")


def compares_results(case: ResolvedCase, of: Expectations) -> bool:
    """Whether the model must get the answers that the expected calls give."""
    return bool(case.expected.results if of.results is None else of.results)


def forbidden_in(case: ResolvedCase, transcript: Transcript) -> str | None:
    """Return the failure message for the first call that the case or its turn forbids.

    Without one, the message for the first text that passes on a secret. Any call may be forbidden,
    scored or not, but for those that a variant's note asks for.
    """
    transcript = without_asked(case, transcript)
    if case.kind != "conversation":
        found = forbidden_by_case(case, transcript.calls, case.expected.calls or ())
    else:
        case = _with_turns(case, transcript)
        found = next(filter(None, _forbidden(case, _spans(case, transcript))), None)
    return found or leak_in_texts(case, [reply.text for reply in transcript.replies])


def _forbidden(case: ResolvedCase, spans: Sequence[Span]) -> list[str | None]:
    """Return the failure message for each span; None if nothing forbidden was called."""
    turns = spans[:-1]
    # With "*", the case allows the calls expected by any of its turns.
    every = [call for span in spans for call in span.expected.calls or ()]

    def of_turn(span: Span) -> str | None:
        forbidden, expected = span.expected.forbidden_calls or (), span.expected.calls or ()
        return _placed(span, forbidden_call(case, span.calls, forbidden, expected))

    of_case = (_placed(span, forbidden_by_case(case, span.calls, every)) for span in turns)
    return [*map(of_turn, turns), next(filter(None, of_case), None)]


def _placed(span: Span, text: str | None) -> str | None:
    return text and span.place + text


def to_judge(case: ResolvedCase, transcript: Transcript) -> list[tuple[int, str]]:
    """Return the rubrics for a judge, each with its turn number, or 0 for the whole conversation.

    Turns without text are left out. A conversation that fails anyway has none.
    """
    if not case.rubrics:
        return []
    transcript = without_stop(case, transcript)
    spans = _spans(_with_turns(case, transcript), transcript)
    if _is_lost(transcript, _forbidden(case, spans)):
        return []
    return [(span.turn, rubric) for span in spans if span.is_said for rubric in span.expected.rubrics]


def _is_lost(transcript: Transcript, forbidden: Sequence[str | None]) -> bool:
    return transcript.no_answer is not None or any(forbidden)


def assess(case: ResolvedCase, transcript: Transcript) -> Assessment:
    made = _Conversation(case, transcript)
    # No pairs: most calls only gather information, which is no mistake.
    return Assessment(
        made.drafts(),
        list(_in_turns(_with_turns(case, transcript), transcript)),
        made.failure,
        _parts,
        malformed=made.malformed,
        not_played=made.not_played,
        differing=made.differing,
    )


def _in_turns(case: ResolvedCase, transcript: Transcript) -> Iterator[tuple[ResolvedCase, ToolCall]]:
    """Yield each call, with the case as it is in the call's turn: with the tools offered there."""
    for turn, replies in zip(case.turns, transcript.turns, strict=False):
        of_turn = structs.replace(case, tools=turn.tools)
        yield from ((of_turn, call) for reply in replies for call in reply.calls)


def _parts(category: FailureCategory) -> Sequence[str]:
    return ("conduct",) if category == "unfinished_turn" else CONVERSATION


class _Conversation:
    """The checks of a conversation."""

    def __init__(self, case: ResolvedCase, transcript: Transcript) -> None:
        self._case = case = _with_turns(case, transcript)
        self._spans = _spans(case, transcript)
        self._forbidden = _forbidden(case, self._spans)
        self._judged = {(each.turn, each.rubric): each for each in transcript.judged}
        self._lost = _is_lost(transcript, self._forbidden)
        self._transcript = transcript
        self.not_played: list[str] = []
        self.differing: list[str] = []
        # The model's calls of each turn that were played.
        self._ran: list[PlayedCalls] = []
        self._parts = list(self._all_parts())
        self.malformed = next((each.malformed for each in self._parts if each.malformed), None)

    def drafts(self) -> dict[str, Draft]:
        drafts = {"overall": Draft(_mean(self._parts), self._explain_overall)}
        for metric in CONVERSATION:
            parts = [part for part in self._parts if part.metric == metric]
            value = _mean(parts) if parts else None
            drafts[metric] = Draft(value, partial(_explained, parts) if parts else "nothing to check")
        return drafts

    def failure(self, failing: Collection[str]) -> FailureCategory | None:
        wrong = [part for part in self._parts if part.value < 1.0]
        if any(part.failure == "unfinished_turn" for part in wrong):
            return "unfinished_turn"
        wrong.sort(key=lambda part: CONVERSATION.index(part.metric))
        return wrong[0].failure if wrong else None

    def _explain_overall(self) -> Explained:
        checks = counted(len(self._parts), "check")
        held = ", ".join(
            f"{metric} {_held(parts)}"
            for metric in CONVERSATION
            if (parts := [part for part in self._parts if part.metric == metric])
        )
        return f"{_mean(self._parts):.4g} = the mean of {checks}: {held}", ()

    def _all_parts(self) -> Iterator[Part]:
        most = self._case.round_limit
        for span in self._spans[:-1]:
            if not span.replies:
                row = Check("end", "a reply without calls", "no reply", 0.0, "the turn never began")
                yield _part("conduct", "unfinished_turn", span.place, row)
            elif span.replies[-1].to_answer:
                got, why = "calls", "no reply follows them"
                if sum(not reply.is_paused for reply in span.replies) >= most:
                    got, why = "calls in every reply", f"max_rounds ({most}) was reached"
                row = Check("end", "a reply without calls", got, 0.0, why)
                yield _part("conduct", "unfinished_turn", span.place, row)
        played = None
        try:
            played = self._play_model()
        except TooManyFailed as error:
            row = Check("state", "a world that could play the calls", "none", 0.0, str(error))
            yield _part("state", "wrong_state", "", row)
        references = [None] * len(self._spans) if played is None else self._references(played)
        for number, (span, reference) in enumerate(zip(self._spans, references, strict=True)):
            if not span.replies and span is not self._spans[-1]:
                continue  # a turn that never began meets no expectation, not even to make no call
            yield from _calls(self._case, span)
            if played is not None:
                yield from _expected_states(self._case, span, played)
                if reference is not None:
                    yield from _referenced(self._case, span, played, reference)
            yield from self._texts(span)
            yield from _conduct(span, self._forbidden[number], self._case)

    def _texts(self, span: Span) -> Iterator[Part]:
        last = next((text for text in reversed(span.texts) if text.strip()), "")
        for expected in span.expected.expected_text or ():
            if isinstance(expected, dict) and "$judge" in expected:
                shown = json_text(expected["$judge"])
                right, why = self._by_judge(span, expected["$judge"])
                row = Check("judge", shown, json_text(last), float(right), why)
                yield _part("text", "wrong_text", span.place, row, "{0.name}: {0.reason} ({0.expected})")
            else:
                right = says(expected, span.texts)
                why, text, line = "" if right else NOT_SAID, last, EXPECTED_GOT
                if not right and isinstance(expected, dict) and "$not" in expected:
                    (why, text), line = self._forbidden_text(span, expected), _SAID
                row = Check("text", json_text(expected), json_text(text), float(right), why)
                yield _part("text", "wrong_text", span.place, row, line)

    def _forbidden_text(self, span: Span, forbidden: dict[str, Any]) -> tuple[str, str]:
        """Return where a forbidden text was said, and the first message that has it."""
        several = not span.turn and len(self._spans) > 2
        for turn in self._spans[:-1] if several else [span]:
            for text in turn.texts:
                if not says(forbidden, [text]):
                    return f"was said{f' in turn {turn.end}' if several else ''}", text
        return "was said", ""

    def _by_judge(self, span: Span, rubric: str) -> tuple[bool, str]:
        found = self._judged.get((span.turn, rubric))
        if found is not None:
            return found.passed, found.reason
        if self._lost:
            return False, "not judged, because the conversation has already failed"
        if not span.is_said:
            return False, "nothing was said"
        message = f"the rubric {json_text(rubric)} needs a judge; set --tooleval-judge=MODEL"
        raise CannotCompare(message, span.place + "expected_text")

    def _play_model(self) -> Played | None:
        """Play the model's calls on a new world; None if nothing needs it or the case has failed."""
        if self._lost or not any(
            span.expected.expected_state or self._plays(span) for span in self._spans
        ):
            return None
        made = [_made(span.replies) for span in self._spans[:-1]]
        turns = [
            PlayedCalls(
                [each.call for each in calls], {tool.name for tool in turn.tools}, self._failed(calls)
            )
            for calls, turn in zip(made, self._case.turns, strict=True)
        ]
        played = _played(self._case, turns)
        for turn, index in sorted(played.left_out):
            place, call = self._spans[turn].place, made[turn][index]
            answered = f"{shown_call(call.call)} was answered {call.shown_answer}"
            self.not_played.append(f"{place}{answered}, so it was not played on the world")
        ran = [
            [each for index, each in enumerate(calls) if (turn, index) not in played.left_out]
            for turn, calls in enumerate(made)
        ]
        self._ran = [
            turn._replace(calls=[each.call for each in calls], failed=())
            for turn, calls in zip(turns, ran, strict=True)
        ]
        if self._case.altered is None:  # else a variant altered what the model was answered
            for span, calls, answers in zip(self._spans, ran, played.answers, strict=False):
                self._compare_answers(span.place, calls, answers)
        return self._as_answered(ran, played)

    def _compare_answers(self, place: str, calls: Sequence[_Made], answers: Sequence[str]) -> None:
        """Note answers that the world gives otherwise. Raises CannotCompare if it decides otherwise."""
        for call, answer in zip(calls, answers, strict=True):
            found = disagreement(call.answer, call.status, answer)
            if found is None:
                continue
            made = f"{shown_call(call.call)} was answered {call.shown_answer}"
            line = f"{place}{made}, but the world answers {shown(clean(answer), _LONGEST_ANSWER)}"
            if found and self._case.answers != "recorded":
                hint = '; if the transcript is right, set "answers": "recorded" in the case'
                raise CannotCompare(f"the transcript and the world disagree: {line}{hint}", "world")
            self.differing.append(line)

    def _as_answered(self, ran: Sequence[Sequence[_Made]], played: Played) -> Played:
        """Leave out answers that a fault withheld from the model."""
        lost = unanswered(list(_in_turns(self._case, self._transcript)))
        if not lost:
            return played
        answers = []
        for turn, calls in enumerate(ran):
            pairs = zip(calls, played.answers[turn], strict=True)
            answers.append([text for each, text in pairs if not any(each.call is one for one in lost)])
        return played._replace(answers=answers)

    def _failed(self, calls: Sequence[_Made]) -> set[int]:
        """Return indexes of calls answered with an error, unless the case says that these ran."""
        if self._case.play_failed_calls:
            return set()
        return {index for index, each in enumerate(calls) if each.status == "failed"}

    def _references(self, played: Played) -> list[Reference | None]:
        """Return the play to which each span is compared: that of its expected calls.

        A turn begins where the expected calls of the turns before it lead. After a turn that is not
        judged by state, it begins where the model's own calls have led, but not with `exact_state`.
        """
        *turns, whole = self._spans
        found: list[Reference | None] = []
        while len(found) < len(turns):
            begins, chosen = len(found), list[PlayedCalls]()
            together = list(takewhile(self._follows, turns[begins:]))
            for span in together:
                chosen.append(self._chosen(span, played, begins, chosen))
            full = self._reference(begins, chosen) if any(map(self._plays, together)) else None
            for span, calls in zip(together, chosen, strict=True):
                found.append(Reference(calls, full) if full and self._plays(span) else None)
            found += [] if together else [None]
        if not self._plays(whole):
            return [*found, None]
        of_whole = self._chosen(whole, played, 0, [])
        return [*found, Reference(of_whole, reference(self._case, [of_whole]))]

    def _chosen(
        self, span: Span, played: Played, begins: int, before: Sequence[PlayedCalls]
    ) -> PlayedCalls:
        """Return the list of expected calls that fits the model's best, after those chosen `before`."""
        lists = [
            _expected(self._case, each, _missing_optional(self._case, each, span))
            for each in span.expected.alternatives
        ]
        if len(lists) == 1 or not self._plays(span):
            return lists[0]

        def value(calls: PlayedCalls) -> float:
            to = Reference(calls, self._reference(begins, [*before, calls]))
            return _mean(list(_referenced(self._case, span, played, to)))

        return max(lists, key=value)

    def _plays(self, span: Span) -> bool:
        return plays(self._case, span.expected)

    def _follows(self, span: Span) -> bool:
        """Whether the expected calls of a turn say where the next turn begins."""
        return self._plays(span) or self._case.exact_state

    def _reference(self, begins: int, expected: Sequence[PlayedCalls]) -> Played:
        """Play the model's own calls of the turns before `begins`, then expected calls."""
        if begins:
            return _played(self._case, [*self._ran[:begins], *expected])
        return reference(self._case, expected)


class Reference(NamedTuple):
    """The expected calls of a span, and the play that they are part of."""

    calls: PlayedCalls
    played: Played


def reference(case: ResolvedCase, expected: Sequence[PlayedCalls]) -> Played:
    """Play expected calls on a new world, once for all trials and models."""
    assert case.world is not None
    key = (case.id, canonical(dict(case.world.args)), repr([turn.calls for turn in expected]))
    return case.world.memory.played(key, lambda: _played(case, expected))


def failing_calls(case: ResolvedCase) -> list[str]:
    """Return a line for each expected call that the world answers with an error.

    The calls of each turn that is judged by state are played alone.
    """
    found = []
    for part in (alternative for each in case.parts for alternative in each.alternatives):
        if plays(case, part):
            made = _expected(case, part)
            (answers,) = reference(case, [made]).answers
            for call, answer in zip(made.calls, answers, strict=True):
                if reports_error(answer):
                    found.append(f"{shown_call(call)} answers {shown(clean(answer), _LONGEST_ANSWER)}")
    return found


def _expected(case: ResolvedCase, of: Expectations, left_out: Collection[int] = ()) -> PlayedCalls:
    """Return the expected calls of a part that is judged by state, without some; else none."""
    calls = expected_calls(of) if plays(case, of) else []
    played = [call for index, call in enumerate(calls) if index not in left_out]
    return PlayedCalls(played, {tool.name for tool in case.tools}, must_run=True)


def _missing_optional(case: ResolvedCase, of: Expectations, span: Span) -> list[int]:
    """Return the indexes of the optional calls that the model did not make."""
    expected = of.calls or ()
    if not any(call.optional for call in expected):
        return []
    made = Calls(case, expected, span.calls, in_order=False, match="contains").fulfilled
    return [index for index, call in enumerate(expected) if call.optional and index not in made]


def disagreement(recorded: str, status: CallStatus | None, answer: str) -> bool | None:
    """Compare a recorded answer with the world's. Return None if they say the same, or are unknown.

    True if they decide otherwise: the world's is an error, which the recorded one does not quote, or a
    boolean or a field named error, success or status differs. False for other differences, such as an
    id or a time.
    """
    if status == "failed" or not recorded or reports_error(recorded) or same_value(recorded, answer):
        return None
    if reports_error(answer):
        error = json.loads(answer).get("error")
        return None if isinstance(error, str) and error and error in recorded else True
    found = [read_json(each) for each in (recorded, answer)]
    return any(
        isinstance(one, bool) or isinstance(other, bool) or not _DECIDING.isdisjoint(path)
        for path, one, other in differences(*found)
        if not (one in (None, NOTHING) and other in (None, NOTHING))
    )


def _calls(case: ResolvedCase, span: Span) -> Iterator[Part]:
    if span.expected.calls is not None and not plays(case, span.expected):
        lists = (each.calls or () for each in span.expected.alternatives)
        # The first one of several that score the same.
        yield max([_of_list(case, span, each) for each in lists], key=lambda part: part.value)


def _of_list(case: ResolvedCase, span: Span, expected: Sequence[ExpectedCall]) -> Part:
    """Return the check of a span's calls against one list."""
    calls, match = span.calls, match_of(case, span.expected)
    if (not expected and match == "contains") or (expected and match == "within" and not calls):
        return _part("calls", "missing_call", span.place, Check("calls", "any", NO_TOOL, 1.0, ""))
    in_order = span.expected.call_order == "strict"
    made = Calls(case, expected, calls, in_order=in_order, match=match)
    drafts, failure = made.drafts(), made.failure() or "missing_call"
    if failure in ("wrong_tool", "hallucinated_tool", "surplus_call") and match != "exact":
        failure = "missing_call" if match == "contains" else "surplus_call"
    lines = partial(_call_lines, match, drafts)
    return Part("calls", drafts["overall"].value or 0.0, failure, lines, span.place, made.malformed)


def _conduct(span: Span, forbidden: str | None, case: ResolvedCase) -> Iterator[Part]:
    is_turn = isinstance(span.expected, Turn)
    if forbidden or (span.expected.forbidden_calls if is_turn else case.forbidden_calls):
        row = Check("forbidden calls", NO_TOOL, forbidden or NO_TOOL, float(not forbidden), "")
        yield _part("conduct", "forbidden_call", span.place, row, _UNWANTED)
    most = span.expected.max_calls if isinstance(span.expected, Turn) else None
    if most is not None:
        made = len(span.calls)
        row = Check("calls made", f"at most {most}", str(made), float(made <= most), "max_calls")
        yield _part("conduct", "surplus_call", span.place, row)


def expected_calls(of: Expectations) -> list[ToolCall]:
    """Return the expected calls, whose params must be plain values, as actual ones."""
    return [ToolCall(call.tools[0], call.params or {}) for call in of.calls or ()]


def plays(case: ResolvedCase, part: Expectations) -> bool:
    """Whether a turn's or the case's expected calls are played on a world."""
    return part.calls is not None and match_of(case, part) == "state"


def _played(case: ResolvedCase, turns: Sequence[PlayedCalls]) -> Played:
    if case.world is None:
        raise CannotCompare("the case needs a world", "world")
    try:
        return play(case.world, turns)
    except TooManyFailed:
        raise
    except WorldError as error:
        raise CannotCompare(str(error), "world") from None


def _expected_states(case: ResolvedCase, span: Span, played: Played) -> Iterator[Part]:
    """Yield the checks of `expected_state` after a span."""
    state = played.states[span.end - 1]
    for path, wanted in (span.expected.expected_state or {}).items():
        row = state_row(case, state, path, wanted)
        yield _part("state", "wrong_state", span.place, row)


def _referenced(case: ResolvedCase, span: Span, played: Played, to: Reference) -> Iterator[Part]:
    """Yield the checks of the world after a span against the play of its expected calls."""
    reference, state = to.played, played.states[span.end - 1]
    # The reference for the whole case has a single turn.
    turn = min(span.end, len(reference.states)) - 1
    why = "differs from the state after the expected calls"
    rows = [
        Check(clean(path_text(path)), _shown(wanted), _shown(got), 0.0, why)
        for path, wanted, got in islice(
            differences(reference.states[turn], state, exact=case.exact_state), _SHOWN
        )
    ]
    same = Check("state", "the same as after the expected calls", "the same", 1.0, "")
    yield _several("state", "wrong_state", span.place, rows, same)
    if compares_results(case, span.expected):
        given = [answer for turn in played.answers[: span.end] for answer in turn]
        equal = operator.eq if case.exact_state else same_value
        missing = _missing_results(span, to.calls.calls, reference.answers[turn], given, equal)
        all_given = Check("results", "those of the expected calls", "all given", 1.0, "")
        yield _several("results", "missing_result", span.place, missing, all_given)


def says(expected: str | dict[str, Any], texts: Sequence[str]) -> bool:
    """True if a text contains what is expected, ignoring case, white space and commas (1,000)."""
    if isinstance(expected, str):
        return any(folded_words(expected) in folded_words(text) for text in texts)
    ((key, operand),) = expected.items()
    if key == "$not":
        return not says(operand, texts)
    if key == "$regex":
        return any(search(operand, text) for text in texts)
    return any(Decimal(str(operand)) in numbers(text) for text in texts)


def _several(
    metric: str, failure: FailureCategory, place: str, wrong: Sequence[Check], right: Check
) -> Part:
    """Return one check with a row for each mistake, or the `right` row if there is none."""
    lines = [Line(row, EXPECTED_GOT) for row in wrong or [right]]
    return Part(metric, float(not wrong), failure, lambda: lines, place)


def _missing_results(
    span: Span,
    calls: Sequence[ToolCall],
    wanted: Sequence[str],
    given: Sequence[str],
    equal: Callable[[str, str], bool],
) -> list[Check]:
    if calls and not span.calls:
        return [Check("results", "at least one call", NO_TOOL, 0.0, "nothing was called")]
    left = Counter(given)
    rows = []
    for call, answer in zip(calls, wanted, strict=True):
        found = answer if left[answer] else next((each for each in left if equal(each, answer)), None)
        if found is not None:
            left -= Counter([found])
        else:
            what = f"result of {shown_call(call)}"
            rows.append(Check(what, shorten(answer), _NOT_GIVEN, 0.0, "no call had this answer"))
    return rows[:_SHOWN]


def state_row(case: ResolvedCase, state: dict[str, Any], path: str, wanted: Any) -> Check:
    """Compare one entry of `expected_state` with the state of a world."""
    whole, got = look_up(state, read_path(path) or (path,))
    if got is NOTHING:
        right, why = is_optional(wanted), _what_is_there(state, whole)
    else:
        got = as_json(got, wanted)
        right, why = reason(wanted, without_key_values(got), MODES[case.param_scoring])
        if not right:  # the reason may quote the value
            _, why = reason(wanted, clean(got), MODES[case.param_scoring])
    return Check(path_text(whole), json_text(wanted), _shown(got), float(right), why)


def _what_is_there(state: dict[str, Any], path: Sequence[str | int]) -> str:
    """Say what exists at the missing path's longest prefix: `does not exist; Desk.orders has "A1"`."""
    found, last = "the world", state
    for end in range(1, len(path)):
        whole, value = look_up(state, tuple(path[:end]))
        if value is NOTHING:
            break
        found, last = path_text(whole), as_json(value)
    if isinstance(last, dict):
        names = ", ".join(json_text(name, 40) for name in clean(list(last)[:_SHOWN])) or "nothing"
        return shorten(f"does not exist; {found} has {names}", 200)
    return f"does not exist; {found} is {shorten(_shown(last), 60)}"


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return ABSENT if value is NOTHING else json_text(clean(value))


def _mean(parts: Sequence[Part]) -> float:
    return sum(part.value for part in parts) / len(parts) if parts else 1.0


def _explained(parts: Sequence[Part]) -> Explained:
    lines = []
    for part in parts:
        for line in part.lines():
            place = (part.place + line.check.place).removesuffix(": ")
            lines.append(line._replace(check=structs.replace(line.check, place=place)))
    return f"right: {_held(parts)}", lines


def _held(parts: Sequence[Part]) -> str:
    """`8 of 10 (1 more in part)`."""
    right = sum(part.value >= 1.0 for part in parts)
    partly = sum(0.0 < part.value < 1.0 for part in parts)
    return f"{right} of {len(parts)}" + (f" ({partly} more in part)" if partly else "")


def _call_lines(match: str, drafts: dict[str, Draft]) -> list[Line]:
    """Return the lines about tools and arguments that count for this `match`."""
    lines = []
    for check, _ in drafts["tool_selection"].explained()[1]:
        is_surplus = check.expected == NO_TOOL
        ignored = {"contains": is_surplus, "within": check.actual == NO_TOOL and not is_surplus}
        if not ignored.get(match):
            lines.append(Line(check, _UNWANTED if is_surplus else EXPECTED_GOT))
    arguments = (line.check for line in drafts["parameter_accuracy"].explained()[1])
    return lines + [Line(check, EXPECTED_GOT) for check in arguments if check.actual != NO_TOOL]
