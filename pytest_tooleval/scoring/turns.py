"""The calls of a conversation, turn by turn, and which of them were forbidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from ..errors import CannotCompare
from ..record.call_records import CallRecord, call_records
from ..record.calls import ToolCall, shown_tool
from ..record.transcript import Reply, Transcript
from ..suite.case import ResolvedCase, Turn
from ..suite.expectations import Expectations
from ..text import shown
from .forbidden import forbidden_by_case, forbidden_call, leak_in_texts
from .hosted import with_listed_names
from .scored_calls import caused_by_variant, is_asked, unscored_inner, without_asked, without_stop

LONGEST_ANSWER = 120


class Span(NamedTuple):
    """A turn or the whole conversation, with its expectations; `last_turn` counts from 1.

    `unscored` are calls caused by a variant. `made_by_reply` are each reply's calls, with their ends.
    """

    place: str
    expected: Expectations
    replies: Sequence[Reply]
    last_turn: int
    unscored: Sequence[ToolCall] = ()
    made_by_reply: Sequence[Sequence[CallRecord]] = ()

    @property
    def calls(self) -> list[ToolCall]:
        return [each.call for each in self.scored_calls]

    @property
    def scored_calls(self) -> list[CallRecord]:
        """The calls that count, with how they ended."""
        calls = (each for of_reply in self.made_by_reply for each in of_reply)
        return [each for each in calls if not any(each.call is call for call in self.unscored)]

    @property
    def turn(self) -> int:
        """The number of the turn; 0 for the whole conversation."""
        return self.last_turn if isinstance(self.expected, Turn) else 0

    @property
    def texts(self) -> list[str]:
        return [reply.text for reply in self.replies if not reply.is_inner]

    @property
    def is_said(self) -> bool:
        return any(text.strip() for text in self.texts)

    @property
    def ran_calls(self) -> list[CallRecord]:
        """The calls that may have run, in the order of their answers."""
        by_reply = zip(self.replies, self.made_by_reply, strict=True)
        return [each for reply, of_reply in by_reply for each in _in_order(reply, of_reply) if each.ran]


def call_and_answer_text(record: CallRecord) -> str:
    """Return a call and its answer as a text."""
    answer = shown(record.answer, LONGEST_ANSWER) if record.answer else "with an empty text"
    if not record.answer and record.status == "error":
        answer = "with an error"
    return f"{shown_tool(record.call)} was answered {answer}"


def _in_order(reply: Reply, records: Sequence[CallRecord]) -> Sequence[CallRecord]:
    """Return a reply's calls, parallel ones in the order of their answers."""
    answered = [str(answer.get("tool_call_id")) for answer in reply.tool_answers]
    ids = [str(call.id) for call in reply.calls]
    if len(ids) < 2 or sorted(ids) != sorted(answered) or len({*ids}) < len(ids):
        return records
    return sorted(records, key=lambda each: answered.index(str(each.call.id)))


class CaseTurns:
    """A case's turns as they happened. If a model plays the user, the case has as many as were taken.

    `forbidden` has the failure message for each span; None if nothing forbidden was called. A lost one
    fails whatever else happened.
    """

    def __init__(self, case: ResolvedCase, transcript: Transcript) -> None:
        turns = transcript.turns
        if case.user:
            case = structs.replace(case, turns=case.turns * max(1, len(turns)))
        elif case.by_test:  # which may say more
            more = case.turns[-1:] * (len(turns) - len(case.turns))
            case = structs.replace(case, turns=(*case.turns, *more))
        if len(turns) > len(case.turns):
            raise CannotCompare(f"the conversation has {len(turns)} turns, {len(case.turns)} expected")
        self.case = case
        self.transcript = transcript
        # Each call, with the case as it is in the call's turn: with the tools offered there.
        self.calls = list(_in_turns(case, transcript))
        caused = [*caused_by_variant(self.calls), *unscored_inner(case, transcript)]
        made_by_reply = call_records(transcript.replies)
        self.turns: list[Span] = []
        for number, each in enumerate(case.turns):
            place = f"turn {number + 1}: " if len(case.turns) > 1 else ""
            replies = turns[number] if number < len(turns) else ()
            begins = sum(map(len, turns[:number]))
            calls = made_by_reply[begins : begins + len(replies)]
            self.turns.append(Span(place, each.turn, replies, number + 1, caused, calls))
        self.whole = Span("", case.expected, transcript.replies, len(case.turns), caused, made_by_reply)
        self.spans = [*self.turns, self.whole]
        self.forbidden = self._forbidden()
        self.fails = transcript.no_answer is not None or any(self.forbidden)

    @property
    def own_calls(self) -> list[tuple[ResolvedCase, ToolCall]]:
        """The calls that no agent made that was used as a tool."""
        return list(_in_turns(self.case, self.transcript, inner=False))

    def _forbidden(self) -> list[str | None]:
        case = self.case
        # With "*", the case allows the calls expected by any of its turns.
        every = [call for span in self.spans for call in span.expected.calls or ()]

        def calls_of(span: Span) -> list[ToolCall]:
            return [c for reply in span.replies for c in reply.calls if not is_asked(case, c)]

        def of_turn(span: Span) -> str | None:
            forbidden, expected = span.expected.forbidden_calls or (), span.expected.calls or ()
            return _placed(span, forbidden_call(case, calls_of(span), forbidden, expected))

        of_case = (_placed(span, forbidden_by_case(case, calls_of(span), every)) for span in self.turns)
        return [*map(of_turn, self.turns), next(filter(None, of_case), None)]


def _in_turns(
    case: ResolvedCase, transcript: Transcript, *, inner: bool = True
) -> Iterator[tuple[ResolvedCase, ToolCall]]:
    """Yield each call with the case as in its turn; without `inner`, only the agent's own."""
    for turn, replies in zip(case.turns, transcript.turns, strict=False):
        of_turn = structs.replace(case, tools=turn.tools)
        of_agent = (reply for reply in replies if inner or not reply.is_inner)
        yield from ((of_turn, call) for reply in of_agent for call in reply.calls)


def _placed(span: Span, text: str | None) -> str | None:
    return text and span.place + text


def forbidden_in(case: ResolvedCase, transcript: Transcript) -> str | None:
    """Return the failure message for the first call that the case or its turn forbids.

    Without one, the message for the first text that passes on a secret. Any call may be forbidden,
    scored or not, but for those that a variant's note asks for.
    """
    transcript = without_asked(case, with_listed_names(case, transcript))
    if case.kind != "conversation":
        message = forbidden_by_case(case, transcript.calls, case.expected.calls or ())
    else:
        conversation = CaseTurns(case, transcript)
        case, message = conversation.case, next(filter(None, conversation.forbidden), None)
    return message or leak_in_texts(case, [reply.text for reply in transcript.replies])


def spans_of(case: ResolvedCase, transcript: Transcript) -> tuple[Sequence[Span], bool]:
    """Return what texts are expected of, and whether the case has failed whatever they are."""
    if case.kind == "conversation":
        conversation = CaseTurns(case, transcript)
        return conversation.spans, conversation.fails
    fails = transcript.no_answer is not None or forbidden_in(case, transcript) is not None
    return [Span("", case.expected, transcript.replies, 0)], fails


def to_judge(case: ResolvedCase, transcript: Transcript) -> list[tuple[int, str]]:
    """Return the rubrics for a judge, each with its turn number, or 0 for the whole conversation.

    Turns without text are left out. A conversation that fails anyway has none.
    """
    if not case.rubrics:
        return []
    spans, fails = spans_of(case, without_stop(case, transcript))
    spoken = [span for span in spans if span.is_said and not fails]
    return [(span.turn, rubric) for span in spoken for rubric in span.expected.rubrics]
