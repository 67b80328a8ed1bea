"""Chat messages as replies: a message, and a whole conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from ..record.calls import own_calls
from ..record.names import NO_TOOLS, KnownTools
from ..record.status import CallStatus, last_answers
from ..record.transcript import (
    AGENT,
    INNER,
    SEARCHES,
    SYSTEM_ROLES,
    Message,
    Reply,
    ToolSearch,
    Transcript,
    status_of,
    text_of,
)
from ..record.unread import Unread, of_model
from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from .call_like import unread_in
from .endings import UNPARSED, ending_of, is_cut_off, no_answer, usual_reason
from .recovery import of_server, read_calls


def transcript_of(
    messages: Iterable[Message],
    earlier: Sequence[Message] = (),
    offered: Sequence[KnownTools] | None = None,
) -> Transcript:
    """Build a conversation from its chat messages; each user message begins a turn.

    `earlier` are the messages before them, which may include replies. `refusal` and `finish_reason`
    of a reply say how it ended. Raises ModelError if the provider failed.

    `offered` are the tools of each turn; the last ones also apply to later turns. With these,
    replies are read as a live model's: calls may be written as text, and a turn without text or
    calls has no usable answer. Without, as for benchmarks, text is never read as calls, an empty
    reply is an answer, and the calls ran on the world of the suite.
    """
    turn = 0
    prompt: list[Message] = []
    waiting: list[Message] = list(earlier)
    replies: list[Reply] = []
    unread: list[Unread] = []  # before the first reply
    messages = list(messages)
    whole = (*earlier, *messages)
    for message in messages:
        role = message.get("role")
        names = None if offered is None else offered[min(turn, len(offered) - 1)]
        if role != "assistant":
            parts = tuple(unread_in(message, names or NO_TOOLS, whole))
            if replies:
                replies[-1] = structs.replace(replies[-1], unread=(*replies[-1].unread, *parts))
            unread += () if replies else parts
        if role == "assistant":
            if replies and all(each.get("role") in SYSTEM_ROLES for each in waiting):
                replies[-1] = _with_answers(replies[-1], waiting)  # a reminder within the turn
                waiting = []
            turn += bool(replies and waiting)
            names = None if offered is None else offered[min(turn, len(offered) - 1)]
            replies.append(_reply(message, names, tuple(waiting) if replies else (), whole))
            prompt, waiting = prompt if len(replies) > 1 else waiting, []
        elif role == "tool" and replies:
            index = _answered_by(replies, message)
            answer = {key: value for key, value in message.items() if key != INNER}
            replies[index] = _with_answers(replies[index], [answer])
        else:
            waiting.append(message)
    if replies:
        replies[0] = structs.replace(replies[0], unread=(*replies[0].unread, *unread))
    statuses = statuses_of((each.message, each.tool_answers) for each in replies)
    replies = [
        structs.replace(
            reply, statuses=status, ran_by_suite=(True,) * len(status) if offered is None else ()
        )
        for reply, status in zip(replies, statuses, strict=True)
    ]
    transcript = Transcript(tuple(prompt if replies else waiting), tuple(with_refused(replies)))
    turns = (each for turn in transcript.turns for each in ended_turn(turn))
    return structs.replace(transcript, replies=tuple(turns))


def _reply(
    message: Message,
    offered: KnownTools | None,
    prompt: tuple[Message, ...],
    conversation: Sequence[Message],
) -> Reply:
    agent, inner = as_text(message.get(AGENT)) or None, message.get(INNER) is True
    message = {key: value for key, value in message.items() if key not in (AGENT, INNER)}
    ending = ending_of(message, {"choices": [{"message": message}]})
    reason, detail = ending or (usual_reason(message), None)
    text = None if offered is None else text_of(message)
    reply = read_message(message, text, offered or NO_TOOLS, reason, detail, conversation)
    return structs.replace(reply, prompt=prompt).by(agent, inner=inner)


def _answered_by(replies: Sequence[Reply], answer: Message) -> int:
    """Return the place of the reply that an answer belongs to: the last, or one before inner agents'."""
    index = len(replies) - 1
    id = answer.get("tool_call_id")
    while index and replies[index].is_inner and all(call.id != id for call in replies[index].calls):
        index -= 1
    return index


def read_message(
    message: Message,
    text: str | None,
    offered: KnownTools,
    reason: str | None,
    detail: str | None = None,
    conversation: Sequence[Message] = (),
) -> Reply:
    """Read an assistant's message, which may contain anything, and how it ended.

    `text` is its text, or None if neither text nor calls are required. Its other fields may repeat the
    calls of the `conversation`.
    """
    reading = read_calls(message, text or "", offered, cut_off=is_cut_off(reason))
    if reason == UNPARSED:
        reading = of_server(reading, text or "", detail or "")
    unread = (*reading.unread, *unread_in(message, offered, conversation))
    calls = own_calls(reading.calls, offered.names)
    return Reply(
        message=message,
        calls=reading.calls,
        searches=searches_in(message),
        format=reading.format,
        recovered_calls=reading.recovered,
        lost_calls=reading.lost_calls,
        dialect=reading.dialect,
        unread=unread,
        finish_reason=reason,
        no_answer=no_answer(calls, text, reason, detail, of_model(reading.unread)),
    )


def searches_in(message: Message) -> tuple[ToolSearch, ...]:
    """Return the tool searches in a reply."""
    return tuple(
        ToolSearch(
            search.get("arguments"),
            None if search.get("tools") is None else tuple(map(as_text, as_list(search["tools"]))),
            search.get("names_shown") is True,
        )
        for search in objects_in(message.get(SEARCHES))
    )


def ended_turn(replies: Sequence[Reply]) -> Sequence[Reply]:
    """Return a turn's replies, accepting an empty last one if the turn has text or calls before it."""
    *before, last = replies
    if last.no_answer is None or last.no_answer.category != "empty_answer":
        return replies
    if not any(each.calls or each.text.strip() for each in before):
        return replies
    return [*before, structs.replace(last, no_answer=None)]


def _with_answers(reply: Reply, answers: Iterable[Message]) -> Reply:
    return structs.replace(reply, tool_answers=(*reply.tool_answers, *answers))


def with_refused(replies: Iterable[Reply]) -> list[Reply]:
    """Mark calls that a model wrote as text, and that no tool answered, as refused."""
    marked: list[Reply] = []
    unanswered: set[str] = set()  # ids of earlier calls
    for reply in replies:
        answers = [answer for answer in reply.tool_answers if answer.get("role") == "tool"]
        calls = objects_in(reply.message.get("tool_calls"))
        written = reply.format == "recovered" and not calls and not reply.statuses
        if written and all(str(answer.get("tool_call_id")) in unanswered for answer in answers):
            refused: CallStatus = "refused"
            status = (refused,) * len(reply.calls)
            marked.append(structs.replace(reply, statuses=status))
        else:
            marked.append(reply)
        unanswered |= {str(call["id"]) for call in calls if call.get("id")}
        answered = (answer for answer in answers if status_of(answer) != "waiting")
        unanswered -= {str(answer.get("tool_call_id")) for answer in answered}
    return marked


def statuses_of(
    replies: Iterable[tuple[Message, Iterable[Message]]],
) -> list[tuple[CallStatus | None, ...]]:
    """Return the status of the calls of each reply, given with the messages after it.

    A reply's statuses are empty if none of its calls is answered.
    """
    ids = [
        ([as_mapping(call).get("id") for call in as_list(reply.get("tool_calls"))], after)
        for reply, after in replies
    ]
    return [
        tuple(each and status_of(each.message) for each in of_reply) if any(of_reply) else ()
        for of_reply in last_answers(ids)
    ]


def gist_of(message: Message) -> tuple[object, str, list[object]]:
    """Return what equal messages share: role, text and calls; ids and empty fields may differ."""
    calls = read_calls(message, "").calls
    return message.get("role"), text_of(message), [(call.name, call.arguments) for call in calls]
