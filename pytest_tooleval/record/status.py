"""The status of a call: how it ended, from whoever saw it end."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .untrusted import as_text

# ok: it ran; error: it ran, and reported an error; refused: it was stopped before it ran, by a guard, a
# person or the suite; waiting: it waits for an approval. None is unknown.
CallStatus = Literal["ok", "error", "refused", "waiting"]
# What messages may say.
StatusWord = Literal["ok", "error", "refused", "waiting", "unknown"]
# Calls that changed nothing, but still count as made.
NOT_RUN: tuple[CallStatus, ...] = ("refused", "waiting")
# The fields for the status and for approvals in a tool's answer. `approved` is true if the call was
# approved before it ran.
STATUS, APPROVED = "status", "approved"
# Our words, then libraries': `status` in LangChain and in items of OpenAI's Responses API, `outcome` in
# pydantic-ai. For other words, such as `success`, the content decides.
_WORDS: Mapping[StatusWord, str] = {
    "ok": "ok",
    "error": "error failed incomplete interrupted retried",
    "refused": "refused rejected denied blocked not_executed",
    "waiting": "waiting pending",
    "unknown": "unknown timeout timed_out",
}
_STATUSES = {word: status for status, words in _WORDS.items() for word in words.split()}
# Anthropic's and MCP's names for it.
_ERROR_FIELDS = ("is_error", "isError")
# Whoever waited in vain does not know whether the call ran.
_TIMED_OUT = re.compile(r"time[ _-]?d?[ _-]?out|deadline[ _]exceeded", re.IGNORECASE)


def status_in(answer: Mapping[str, Any], content: str) -> CallStatus | None:
    """Return a call's status by its answer's fields, else by its content.

    An answer without the mark of a failure is ok. One that reports a time-out is unknown.
    """
    word = status_word(answer, content)
    if word is None and reports_error(content):
        word = error_or_unknown(content)
    return None if word == "unknown" else word or "ok"


def status_word(answer: Mapping[str, Any], content: str) -> StatusWord | None:
    """Return the status that an answer's fields give; None if they give none."""
    for field in (STATUS, "outcome"):
        if (word := as_text(answer.get(field)).lower()) in _STATUSES:
            return _STATUSES[word]
    is_error = any(answer.get(field) is True for field in _ERROR_FIELDS)
    return error_or_unknown(content) if is_error else None


def error_or_unknown(text: str) -> StatusWord:
    """Return the status of a call that ended with this error."""
    return "unknown" if _TIMED_OUT.search(text) else "error"


def reports_error(content: str) -> bool:
    """True if a tool's answer is an object that reports an error, as `{"error": ...}` or as in MCP."""
    if "rror" not in content or not content.lstrip().startswith("{"):
        return False
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return bool(answer.get("error")) or any(answer.get(field) is True for field in _ERROR_FIELDS)


class LastAnswer(NamedTuple):
    """The last answer to a call, and the number of the reply after which it came."""

    message: Mapping[str, Any]
    after: int


def last_answers(
    replies: Iterable[tuple[Sequence[object], Iterable[Mapping[str, Any]]]],
) -> list[list[LastAnswer | None]]:
    """Return the last answer to each call of each reply, given as ids of calls and messages after it.

    It may come after later replies. Calls with the same id, or without one, are answered in order.
    """
    answers: list[list[LastAnswer | None]] = []
    places: dict[str, list[tuple[int, int]]] = {}  # of the latest calls with an id
    for number, (ids, after) in enumerate(replies):
        answers.append([None] * len(ids))
        of_reply: dict[str, list[tuple[int, int]]] = {}
        for index, id in enumerate(ids):
            of_reply.setdefault(str(id), []).append((number, index))
        places |= of_reply
        answered: Counter[str] = Counter()
        others: list[LastAnswer] = []
        for message in after:
            if message.get("role") != "tool":
                continue
            id = str(message.get("tool_call_id"))
            if same := places.get(id):
                row, column = same[min(answered[id], len(same) - 1)]
                answered[id] += 1
                answers[row][column] = LastAnswer(message, number)
            else:
                others.append(LastAnswer(message, number))
        _fill(answers[-1], others)
    return answers


def _fill(answers: list[LastAnswer | None], others: Sequence[LastAnswer]) -> None:
    """Give answers of no known call to calls without one, in order."""
    left = iter(others)
    for index, answer in enumerate(answers):
        if answer is None:
            answers[index] = next(left, None)
