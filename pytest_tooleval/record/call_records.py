"""The calls of a conversation, each with how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .calls import ToolCall
from .status import APPROVED, NOT_RUN, CallStatus, LastAnswer, last_answers, reports_error
from .transcript import Reply, status_of, text_of


class CallRecord(NamedTuple):
    """A call, the number of its reply, and how it ended. Negative numbers are the case's own messages.

    `status` None is unknown, as is `answer` None. `answered_after` is the number of the reply
    after which its last answer came. `first_unknown` is that of the first reply whose answers were not
    known when it began.
    """

    call: ToolCall
    reply_index: int
    first_unknown: int
    status: CallStatus | None
    answer: str | None = None
    answered_after: int | None = None
    is_approved: bool = False
    by_suite: bool = False

    @property
    def ran(self) -> bool:
        """Whether it may have run."""
        return self.status not in NOT_RUN

    @property
    def has_unknown_end(self) -> bool:
        """Whether it was answered, and still nobody knows whether it ran."""
        return self.status is None and self.answer is not None and not self.by_suite

    @property
    def failed(self) -> bool:
        """Whether whoever called was told that it failed."""
        return self.status in ("error", "refused") or (
            self.status is None and reports_error(self.answer or "")
        )

    @property
    def ended_at_reply(self) -> int:
        """The number of the reply after which it was answered, or that made it."""
        return self.reply_index if self.answered_after is None else self.answered_after

    def came_after(self, other: CallRecord) -> bool:
        """Whether it began after another call was answered."""
        return other.ended_at_reply < self.first_unknown


def call_records(replies: Sequence[Reply], first: int = 0) -> list[list[CallRecord]]:
    """Return the calls of each reply. `first` is the number of the first reply."""
    answers = last_answers([([call.id for call in each.calls], each.tool_answers) for each in replies])
    answers = [_after_inner(replies, number, each) for number, each in enumerate(answers)]
    return [
        [
            _call_record(reply, call, index, answer, first, number)
            for index, (call, answer) in enumerate(zip(reply.calls, of_reply, strict=True))
        ]
        for number, (reply, of_reply) in enumerate(zip(replies, answers, strict=True))
    ]


def _after_inner(
    replies: Sequence[Reply], number: int, answers: list[LastAnswer | None]
) -> list[LastAnswer | None]:
    """Put the answers to a reply's calls after the replies of the agents that gave them."""
    last = number
    while not replies[number].is_inner and last + 1 < len(replies) and replies[last + 1].is_inner:
        last += 1
    return [each and each._replace(after=max(each.after, last)) for each in answers]


def _call_record(
    reply: Reply, call: ToolCall, index: int, answer: LastAnswer | None, first: int, number: int
) -> CallRecord:
    status = next(iter(reply.statuses[index : index + 1]), None)
    first_unknown = first + number - reply.unanswered_before
    if answer is None:
        return CallRecord(call, first + number, first_unknown, status)
    if not reply.statuses:
        status = status_of(answer.message)
    return CallRecord(
        call,
        first + number,
        first_unknown,
        status,
        None if answer.message.get("content") is None else text_of(answer.message),
        first + answer.after,
        answer.message.get(APPROVED) is True,
        any(reply.ran_by_suite[index : index + 1]),
    )
