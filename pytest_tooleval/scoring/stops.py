"""`expected_stop`: the agent must itself end its run, at its own limit or guardrail."""

from __future__ import annotations

from msgspec import structs

from ..matchers.compare import matches
from ..matchers.modes import MODES
from ..record.endings import GAVE_UP
from ..record.transcript import Reply, Transcript
from ..suite.case import ResolvedCase
from ..text import json_text


def without_stop(case: ResolvedCase, transcript: Transcript) -> Transcript:
    """Return the transcript with its end as a usable one, if the case expects that end."""
    if case.expected_stop is None or not transcript.replies:
        return transcript
    *before, last = transcript.replies
    if not _is_expected(case, last):
        return transcript
    return structs.replace(transcript, replies=(*before, structs.replace(last, no_answer=None)))


def missed_stop(case: ResolvedCase, transcript: Transcript) -> str | None:
    """Return the failure message if the agent did not end its run as the case expects."""
    if case.expected_stop is None or (transcript.replies and _is_expected(case, transcript.replies[-1])):
        return None
    kind = "" if case.expected_stop is True else f" ({json_text(case.expected_stop)})"
    return f"the agent did not end its run itself, as it should{kind}"


def _is_expected(case: ResolvedCase, last: Reply) -> bool:
    expected = case.expected_stop
    if last.no_answer is None or last.no_answer.category != GAVE_UP:
        return False
    if isinstance(expected, str):
        return last.finish_reason == f"{GAVE_UP}_{expected}"
    return expected is True or matches(expected, last.no_answer.reason, MODES["exact"])
