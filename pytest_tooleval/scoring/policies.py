"""`policies`: what must hold over all calls of a conversation, whoever made them.

The score is the share of the policies that apply and are kept. A policy applies if its tool is offered
or was called. A model's single reply has no answers, so there `only_after` and `$from` look only at
answers in the case's own messages, and do not apply if there are none.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from ..errors import CannotCompare
from ..jsonschemas.subschemas import MISSING, pointer_target
from ..matchers.compare import mismatch, with_keys_of
from ..matchers.matcher import has_matcher, is_optional
from ..matchers.modes import MODES
from ..record.call_records import CallRecord, call_records
from ..record.calls import ToolCall, is_number, shown_tool, with_arguments
from ..record.results import Check
from ..record.status import NOT_RUN, CallStatus
from ..record.transcript import Message, Reply, Transcript, text_of
from ..replies.recovery import read_calls
from ..suite.case import ResolvedCase
from ..suite.mocks import SCORED_ONLY
from ..suite.policies import FROM, SAME, EarlierAnswer, OtherCall, Policy, fill_operands, operands
from ..suite.resolved import accepts, offers
from ..suite.types import EndedCall
from ..text import json_text, plural, printable
from ..worlds.plain import read_json
from .assessment import WITH_REASON, CheckLine, Draft, Explained
from .ends import has_result, shown_answer
from .forbidden import is_meant
from .one_call import caller_of, compare_arguments, same_call, shown_names
from .texts import says

_SHOWN = 20  # broken calls in an explanation
_UNANSWERED = "no answers were recorded, so calls count as answered"


class Breach(NamedTuple):
    """A condition that calls broke, and the first of them."""

    call: ToolCall | None
    reason: str


class _Condition(NamedTuple):
    """A condition of a policy in words, and what broke it; None where it does not apply."""

    text: str
    broken: Sequence[Breach] | None


class _NoValue(Exception):
    """A value that a policy names is not there; the text says why."""


def score_policies(case: ResolvedCase, transcript: Transcript) -> Draft:
    """Score the policies of a case. The score is None if none applies."""
    calls = _JudgedCalls(case, transcript)
    judged = [(policy, calls.of(policy)) for policy in case.policies]
    followed = [
        (policy, records, calls.conditions(policy, records))
        for policy, records in judged
        if _applies(case, policy, records)
    ]
    applying = [each for each in followed if any(one.broken is not None for one in each[2])]
    if not applying:
        return Draft(None, "no policy applies")
    kept = sum(not any(one.broken for one in conditions) for _, _, conditions in applying)
    explain = partial(_explained, applying, kept, calls.note, transcript.calls)
    return Draft(kept / len(applying), explain)


def _applies(case: ResolvedCase, policy: Policy, records: Sequence[CallRecord]) -> bool:
    return offers(case, policy.tools) or bool(records) or policy.at_least is not None


class _JudgedCalls:
    """The calls of a conversation, those in the case's own messages first."""

    def __init__(self, case: ResolvedCase, transcript: Transcript) -> None:
        self._case = case
        self._mode = MODES[case.param_scoring]
        before = _in_messages(case.messages)
        every = call_records([*before, *transcript.replies], -len(before))
        self._calls = [each for of_reply in every for each in of_reply]
        self._made = [each for each in self._calls if each.reply_index >= 0]
        self._said = list(_said(transcript.prompt or case.messages, transcript.replies))
        self._is_silent = all(each.status is None and each.answer is None for each in self._made)
        # A single reply of a model is not answered, by design.
        replies = sum(not reply.is_paused for reply in transcript.replies)
        self._has_rounds = case.has_tool_rounds or replies > 1 or not self._is_silent
        self.note = _UNANSWERED if self._is_silent and self._has_rounds and self._made else ""

    def of(self, policy: Policy) -> list[CallRecord]:
        """The calls that a policy judges."""
        meant = (each for each in self._made if is_meant(self._case, policy, each.call))
        return [
            each
            for each in meant
            if policy.status in (None, each.status)
            and all(has_result(wanted, each, self._mode) for wanted in _result(policy))
        ]

    def conditions(self, policy: Policy, judged: Sequence[CallRecord]) -> list[_Condition]:
        """The conditions of a policy, with what broke each."""
        texts = policy.texts
        conditions = []
        for field, other in policy.others:
            breaks = self._early if field == "only_after" else self._late
            applies = field != "only_after" or self._has_answers
            broken = _all(breaks, judged, other) if applies else None
            conditions.append(_Condition(texts[field], broken))
        if policy.word is not None:
            conditions.append(_Condition(texts["only_after"], self._unasked(judged, policy.word)))
        if policy.expected_params is not None:
            applies = self._has_contents or not any(operands(FROM, policy.expected_params))
            broken = _all(self._wrong, judged, policy.expected_params) if applies else None
            conditions.append(_Condition(texts["expected_params"], broken))
        if policy.after_approval:
            broken = _all(_unapproved, judged, None) if self._has_rounds else None
            conditions.append(_Condition(texts["after_approval"], broken))
        if policy.at_most is not None or policy.at_least is not None:
            conditions += self._limits(policy, judged)
        return conditions

    def _limits(self, policy: Policy, judged: Sequence[CallRecord]) -> Iterator[_Condition]:
        """The conditions on how often calls were made, or on a sum over them."""
        counting = self._attempts(judged) if policy.sum is None else list(filter(self._adds, judged))
        groups: list[tuple[Any, list[tuple[CallRecord, Fraction]]]] = []
        wrong: list[Breach] = []
        for record in counting:
            try:
                amount = Fraction(1) if policy.sum is None else _amount(record, policy.sum)
                key = None if policy.per is None else _own_value(record, policy.per)
            except _NoValue as error:
                wrong.append(Breach(record.call, str(error)))
                continue
            group = next((group for value, group in groups if self._is_same(value, key)), None)
            if group is None:
                groups.append((key, group := []))
            group.append((record, amount))
        for field, breaks in (("at_most", operator.gt), ("at_least", operator.lt)):
            limit: int | float | None = getattr(policy, field)
            if limit is None:
                continue
            broken = list(wrong)
            for key, group in groups or [(None, [])]:
                total = sum((amount for _, amount in group), Fraction(0))
                if breaks(total, Fraction(str(limit))):
                    call = group[0][0].call if group else None
                    broken.append(Breach(call, _total_text(policy, total, key, len(group))))
            yield _Condition(policy.texts[field], broken)

    def _adds(self, record: CallRecord) -> bool:
        """Whether a call may have changed something, so that it counts in a sum."""
        in_world = record.by_suite and self._case.world is not None
        return record.status != "refused" and not (record.status == "error" and not in_world)

    def _is_same(self, one: Any, other: Any) -> bool:
        return mismatch(_as_data(one), other, self._mode) is None

    def _unasked(self, judged: Sequence[CallRecord], word: str | dict[str, Any]) -> list[Breach]:
        """The calls before which the user did not say the word; it must be said again for each call."""
        broken, since = list[Breach](), -math.inf
        for record in self._attempts(judged):
            texts = (text for said_at, text in self._said if since < said_at <= record.reply_index)
            if not any(says(word, [text]) for text in texts):
                more = " since the call before it" if since > -math.inf else ""
                broken.append(Breach(record.call, f"the user did not say so{more}"))
            since = record.reply_index
        return broken

    @property
    def _has_answers(self) -> bool:
        return self._has_rounds or any(each.answer is not None for each in self._calls)

    @property
    def _has_contents(self) -> bool:
        """Whether tools answered, not only the suite in place of tools that it does not run."""
        if self._case.has_tool_rounds or not self._has_answers:
            return self._has_answers
        return any(each.answer not in (None, SCORED_ONLY) for each in self._calls) or self._is_silent

    def _early(self, record: CallRecord, other: OtherCall) -> str:
        """Why a call was not made after the answer that it needs; empty if it was."""
        wanted = self._params(other, record)
        others = [each for each in self._others(record) if self._is(each, other, wanted)]
        before = [each for each in others if record.came_after(each)]
        if any(self._is_answered(each, other, record) for each in before):
            return ""
        name = with_arguments(shown_names(other.tools), wanted)
        if not others:
            return f"no earlier call of {name}"
        if not before:
            is_beside = others[-1].reply_index == record.reply_index
            at = "was called in the same reply" if is_beside else "was still running"
            return f"{name} {at}, so its answer was not known"
        last = before[-1]
        if last.status == (other.status or "ok") and other.has_result:
            return f"{name} was answered {shown_answer(last)}"
        if last.has_unknown_end:
            return f"nobody knows how {name} ended"
        if last.status == "error":
            return f"{name} was answered with an error"
        return f"{name} was {last.status or 'not answered'}"

    def _is_answered(self, record: CallRecord, other: OtherCall, judged: CallRecord) -> bool:
        """Whether a call ended as a policy needs it; without a word on that, without an error."""
        if self._ended_so(record, other.status or "ok", self._result_of(other, judged)):
            return True
        is_unknown = record.status is None and record.reply_index >= 0
        return not other.has_end and is_unknown and self._is_silent

    def _ended_so(self, record: CallRecord, status: CallStatus, result: Sequence[Any]) -> bool:
        """Whether a call ended with this status, and with this result if there is one."""
        return record.status == status and all(self._has_result(record, each) for each in result)

    def _has_result(self, record: CallRecord, wanted: Any) -> bool:
        try:
            return has_result(wanted, record, self._mode)
        except CannotCompare as error:
            raise _NoValue(str(error)) from None

    def _result_of(self, other: OtherCall, judged: CallRecord) -> Sequence[Any]:
        """The result of another call with the values of `$same`; empty without one."""
        return [fill_operands(each, SAME, partial(_own_data, judged)) for each in _result(other)]

    def _late(self, record: CallRecord, other: OtherCall) -> str:
        """Why a call was made after one that rules it out; empty if it was not."""
        wanted = self._params(other, record)
        for each in self._others(record):
            may_be_other = other.model_copy(update={"agent": each.call.agent and other.agent})
            if self._is(each, may_be_other, wanted) and self._may_have_ended(each, other, record):
                return f"after {with_arguments(shown_names(other.tools), wanted)}"
        return ""

    def _may_have_ended(self, record: CallRecord, other: OtherCall, judged: CallRecord) -> bool:
        """Whether a call ended as a policy forbids it; what is unknown may have."""
        if record.status not in (other.status or "ok", None):
            return False
        result = self._result_of(other, judged)
        return record.answer is None or all(self._has_result(record, wanted) for wanted in result)

    def _wrong(self, record: CallRecord, expected: Mapping[str, Any]) -> str:
        """The mistakes in the arguments of a call; empty if there are none."""
        arguments = record.call.arguments
        if arguments is None:
            return record.call.why_malformed
        for name, value in expected.items():
            # With "any": true, a value of `$from` may be one of several.
            choices = self._choices(value, record)
            wanted = next(choices)
            fitting = with_keys_of({name: wanted}, arguments, self._mode)
            if name not in fitting:
                if not is_optional(wanted):
                    return f"{printable(name)} is missing"
                continue
            actual = fitting[name]
            if (why := self._mismatch(name, wanted, actual)) and all(
                self._mismatch(name, each, actual) for each in choices
            ):
                return f"{printable(name)}: expected {json_text(wanted, 80)}, got {why}"
        return ""

    def _mismatch(self, name: str, expected: Any, actual: Any) -> str:
        try:
            share = compare_arguments({name: expected}, {name: actual}, self._mode)
        except CannotCompare as error:
            raise _NoValue(str(error)) from None
        return "" if share.flaw is None else json_text(actual, 80)

    def _choices(self, expected: Any, record: CallRecord) -> Iterator[Any]:
        """The expected value, with each combination of values for its `$from`, the newest first."""
        sources = [operand for _, operand in operands(FROM, expected)]
        for values in product(*(self._values(record, operand) for operand in sources)):
            left = iter(values)
            yield fill_operands(expected, FROM, lambda _: next(left))  # noqa: B023

    def _values(self, record: CallRecord, operand: Mapping[str, Any]) -> list[Any]:
        """The value of `$from`: from the newest answer to such a call before this one, or from each."""
        other = EarlierAnswer.model_validate(operand)
        wanted = self._params(other, record)
        name = with_arguments(shown_names(other.tools), wanted)
        result = self._result_of(other, record)
        others = [
            each
            for each in self._others(record)
            if record.came_after(each)
            and self._ended_so(each, other.status or "ok", result)
            and self._is(each, other, wanted)
        ]
        if not others:
            raise _NoValue(f"no earlier answer of {name}")
        # The last one of answers that came at the same time is the newest.
        newest = sorted(others, key=lambda each: each.ended_at_reply)[::-1]
        contents = [read_json(each.answer or "") for each in (newest if other.any else newest[:1])]
        values = [value for each in contents if (value := pointer_target(each, other.at)) is not MISSING]
        if not values:
            raise _NoValue(f"the answer of {name} has nothing at {other.at}")
        return list(map(_as_data, values))

    def _params(self, other: OtherCall, record: CallRecord) -> dict[str, Any]:
        """The params of another call, with the values of `$same` from the judged call."""
        params: dict[str, Any] = fill_operands(other.params or {}, SAME, partial(_own_data, record))
        return params

    def _others(self, record: CallRecord) -> list[CallRecord]:
        """The calls before this one: in earlier replies, and before it in the same list."""
        return self._calls[: next(i for i, each in enumerate(self._calls) if each is record)]

    def _is(self, record: CallRecord, other: OtherCall, wanted: Mapping[str, Any]) -> bool:
        """Whether a call is one of these; if nobody knows its agent, it is none of that agent's."""
        call = record.call
        if not accepts(other.tools, call.name, self._case) or not call.is_by(other.agent):
            return False
        if call.arguments is None:
            return not wanted
        arguments = with_keys_of(wanted, call.arguments, self._mode)
        return all(
            not self._mismatch(name, value, arguments[name]) if name in arguments else is_optional(value)
            for name, value in wanted.items()
        )

    def _attempts(self, judged: Sequence[CallRecord]) -> list[CallRecord]:
        """The calls, except retries: repeats of a call whose newest answer was an error."""
        attempts: list[CallRecord] = []
        for index, record in enumerate(judged):
            earlier = reversed(judged[:index])
            newest = next((e for e in earlier if same_call(self._case, e.call, record.call)), None)
            if newest is None or not (newest.failed and record.came_after(newest)):
                attempts.append(record)
        return attempts


def _result(call: EndedCall) -> Sequence[Any]:
    """The result that is asked for, which may be null; empty if none is."""
    return [call.result] if call.has_result else []


def _own_value(record: CallRecord, pointer: str) -> Any:
    value = pointer_target(record.call.arguments, pointer)
    if value is MISSING:
        raise _NoValue(f"the call has nothing at {pointer}")
    return value


def _own_data(record: CallRecord, pointer: str) -> Any:
    """The value of `$same` in a call."""
    return _as_data(_own_value(record, pointer))


def _amount(record: CallRecord, pointer: str) -> Fraction:
    value = _own_value(record, pointer)
    if not is_number(value) or not math.isfinite(value) or value < 0:
        raise _NoValue(f"{pointer} is no number of at least 0: {json_text(value, 60)}")
    return Fraction(repr(value))


def _total_text(policy: Policy, total: Fraction, key: Any, calls: int) -> str:
    each = "" if policy.per is None or not calls else f" with {json_text(key, 60)} at {policy.per}"
    if policy.sum is None:
        return f"called {plural(calls, 'time')}{each}"
    shown = Decimal(total.numerator) / Decimal(total.denominator)
    return f"{policy.sum} adds up to {shown.normalize():f} in {plural(calls, 'call')}{each}"


def _said(messages: Sequence[Message], replies: Sequence[Reply]) -> Iterator[tuple[int, str]]:
    """The user's messages, each with the number of the reply that follows it."""
    number = -sum(message.get("role") == "assistant" for message in messages)
    for message in messages:
        if message.get("role") == "assistant":
            number += 1
        elif message.get("role") == "user":
            yield number, text_of(message)
    for number, reply in enumerate(replies):
        yield from ((number, text_of(each)) for each in reply.prompt if each.get("role") == "user")


def _unapproved(record: CallRecord, _: None) -> str:
    """Why a call did not wait for an approval; empty if it did, or did not run."""
    if record.is_approved or record.status in NOT_RUN:
        return ""
    return "it ran, and no approval is recorded"


def _all(
    breaks: Callable[[CallRecord, Any], str], judged: Iterable[CallRecord], operand: Any
) -> list[Breach]:
    """What breaks a condition, for each call that does."""
    breaches = []
    for record in judged:
        try:
            reason = breaks(record, operand)
        except _NoValue as error:
            reason = str(error)
        if reason:
            breaches.append(Breach(record.call, reason))
    return breaches


def _in_messages(messages: Sequence[Message]) -> list[Reply]:
    """The replies in a case's own messages, with their answers."""
    replies: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if message.get("role") == "assistant":
            replies.append((message, []))
        elif message.get("role") == "tool" and replies:
            replies[-1][1].append(message)
    return [
        Reply(message=message, calls=read_calls(message, "").calls, tool_answers=tuple(answers))
        for message, answers in replies
    ]


def _as_data(value: Any) -> Any:
    """A value that a model or a tool sent, in which a key such as `$any_of` is no matcher."""
    return {"$exact": value} if has_matcher(value) else value


def _explained(
    applying: Sequence[tuple[Policy, Sequence[CallRecord], Sequence[_Condition]]],
    kept: int,
    note: str,
    every: Sequence[ToolCall],
) -> Explained:
    lines: list[CheckLine] = []
    for _, judged, conditions in applying:
        for text, broken in conditions:
            if broken:
                lines += [_line(text, each, every) for each in broken[:_SHOWN]]
            elif broken is not None:
                reason = f"{plural(len(judged), 'call')} checked"
                lines.append(CheckLine(Check("policy", text, "kept", 1.0, reason), WITH_REASON))
    checked = sum(len(judged) for _, judged, _ in applying)
    policies = "policy" if len(applying) == 1 else "policies"
    text = f"{kept} of {len(applying)} {policies} kept, {plural(checked, 'call')} checked"
    return f"{text}; {note}" if note else text, lines


def _line(text: str, broken: Breach, every: Sequence[ToolCall]) -> CheckLine:
    called = with_arguments(shown_tool(broken.call), broken.call.arguments if broken.call else None)
    if broken.call is not None and (agent := caller_of(broken.call, every)):
        called += f" by {agent}"
    return CheckLine(
        Check("policy", text, called, 0.0, broken.reason), "policy {0.expected}: {0.actual}: {0.reason}"
    )
