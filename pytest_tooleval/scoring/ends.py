"""How a call ended, compared with how it had to end: its status and its tool's answer."""

from __future__ import annotations

from typing import Any

from ..matchers.compare import compare_with_reason, mismatch
from ..matchers.matcher import matcher_key
from ..matchers.modes import Mode
from ..record.call_records import CallRecord
from ..record.calls import ToolCall
from ..record.results import ABSENT, Check
from ..suite.types import EndedCall
from ..text import MOST_SHOWN, json_text, shown
from ..worlds.plain import read_json
from .assessment import EXPECTED_GOT, CheckLine
from .one_call import CorrectShare, compare_arguments

UNKNOWN_STATUS = "unknown"
_NO_ANSWER = "the tool's answer is not known"
_NO_AGENT = "nobody knows which agent made the call"


def end_share(expected: EndedCall, record: CallRecord, rules: Mode) -> CorrectShare:
    """Return how much of its expected end a call has; the end must be expected."""
    right = []
    if expected.status is not None:
        right.append(record.status == expected.status)
    if expected.has_result:
        right.append(has_result(expected.result, record, rules))
    return CorrectShare(sum(right), len(right), None if all(right) else "wrong_end")


def has_result(expected: Any, record: CallRecord, rules: Mode) -> bool:
    """True if the tool gave this answer. Raises CannotCompare for a matcher that cannot be applied."""
    if record.answer is None:
        return False
    actual = read_json(record.answer)
    if isinstance(expected, dict) and matcher_key(expected) is None and isinstance(actual, dict):
        return compare_arguments(expected, actual, rules._replace(counts_unexpected=False)).flaw is None
    return mismatch(expected, actual, rules) is None


def shown_answer(record: CallRecord) -> str:
    return ABSENT if record.answer is None else json_text(read_json(record.answer), MOST_SHOWN)


def agent_lines(expected: EndedCall, call: ToolCall | None, place: str) -> list[CheckLine]:
    """Return a line for the agent, if one is expected."""
    if expected.agent is None or call is None:
        return []
    right = call.is_by(expected.agent)
    why = "as expected" if right else "another agent made the call" if call.agent else _NO_AGENT
    got = shown(call.agent) if call.agent else UNKNOWN_STATUS
    return [
        CheckLine(Check("agent", shown(expected.agent), got, float(right), why, place), EXPECTED_GOT)
    ]


def end_lines(expected: EndedCall, ended: CallRecord | None, rules: Mode, place: str) -> list[CheckLine]:
    """Return a line for the status and one for the result, as far as they are expected."""
    lines: list[CheckLine] = []
    if ended is None:
        return lines
    if expected.status is not None:
        got = ended.status or UNKNOWN_STATUS
        right = got == expected.status
        why = "as expected" if right else "the call ended otherwise"
        lines.append(
            CheckLine(Check("status", expected.status, got, float(right), why, place), EXPECTED_GOT)
        )
    if expected.has_result:
        right = has_result(expected.result, ended, rules)
        why = _NO_ANSWER if ended.answer is None else "differs"
        if right:
            _, why = compare_with_reason(expected.result, read_json(ended.answer or ""), rules)
        wanted = json_text(expected.result, MOST_SHOWN)
        row = Check("result", wanted, shown_answer(ended), float(right), why, place)
        lines.append(CheckLine(row, EXPECTED_GOT))
    return lines
