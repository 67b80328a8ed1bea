"""Calls that the provider ran itself: not mistakes, though the case does not offer their tools."""

from __future__ import annotations

from msgspec import structs

from ..record.calls import ToolCall
from ..record.transcript import Reply, Transcript
from ..suite.case import ResolvedCase
from .tool_selection import find_tool


def without_hosted(case: ResolvedCase, transcript: Transcript) -> Transcript:
    """Return the transcript without these calls, but with calls to tools that the case offers.

    A chain also loses replies that make only such calls, as a reply without calls would end it.
    """
    if not any(_is_foreign(case, call) for call in transcript.calls):
        return transcript
    kept = [(reply, _without(case, reply)) for reply in transcript.replies]
    replies = [new for old, new in kept if case.kind != "chain" or new.calls or not old.calls]
    return structs.replace(transcript, replies=tuple(replies))


def _is_foreign(case: ResolvedCase, call: ToolCall) -> bool:
    return call.hosted and find_tool(case, call.name) is None


def _without(case: ResolvedCase, reply: Reply) -> Reply:
    places = [place for place, call in enumerate(reply.calls) if not _is_foreign(case, call)]
    ids = [call.id for call in reply.calls if _is_foreign(case, call)]
    answers = tuple(each for each in reply.answers if each.get("tool_call_id") not in ids)
    return structs.replace(reply.with_calls_at(places), answers=answers)
