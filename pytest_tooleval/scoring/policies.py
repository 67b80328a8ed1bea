"""`policies`: what must hold over all calls of a conversation, whoever made them.

The score is the share of the policies that apply and are kept. A policy applies if its tool is offered
or was called. A single reply has no answers, so there `only_after` and `$from` look only at answers in
the case's own messages, and do not apply if there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import CannotCompare
from ..jsonschemas.subschemas import MISSING, pointed
from ..matchers.compare import with_keys_of
from ..matchers.matcher import has_matcher, is_optional
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.recovery import read_calls
from ..record.results import Check
from ..record.transcript import (
    APPROVED,
    NOT_RUN,
    CallStatus,
    Message,
    Transcript,
    reports_error,
    statuses_of,
    text_of,
)
from ..suite.case import ResolvedCase
from ..suite.policies import FROM, SAME, EarlierAnswer, OtherCall, Policy, operands, replaced
from ..suite.resolved import accepts, find_tool
from ..text import counted, json_text, printable
from ..worlds.plain import read_json
from .assessment import WITH_REASON, Draft, Explained, Line
from .chain import same_call
from .forbidden import is_meant
from .one_call import compare, shown_call, shown_names, with_arguments

_SHOWN = 20  # broken calls in an explanation
_UNANSWERED = "no answers were recorded, so calls count as answered"


class Made(NamedTuple):
    """A call, the number of its reply, and its answer; negative numbers are the case's own messages."""

    call: ToolCall
    reply: int
    status: CallStatus | None
    answer: str | None
    is_approved: bool = False

    @property
    def is_error(self) -> bool:
        return self.status == "failed" or reports_error(self.answer or "")

    @property
    def ran(self) -> bool | None:
        """Whether it ran without an error; None: unknown."""
        if self.status is not None:
            return self.status == "executed" and not self.is_error
        return None if self.answer is None else not self.is_error


class Broken(NamedTuple):
    """A condition that calls broke, and the first of them."""

    call: ToolCall | None
    reason: str


class _Condition(NamedTuple):
    """A condition of a policy in words, and what broke it; None where it does not apply."""

    text: str
    broken: Sequence[Broken] | None


class _NoValue(Exception):
    """A value that a policy names is not there; the text says why."""


def score_policies(case: ResolvedCase, transcript: Transcript) -> Draft:
    """Score the policies of a case. The score is None if none applies."""
    calls = _Calls(case, transcript)
    judged = [(policy, calls.of(policy)) for policy in case.policies]
    found = [
        (policy, made, calls.conditions(policy, made))
        for policy, made in judged
        if _applies(case, policy, made)
    ]
    applying = [each for each in found if any(one.broken is not None for one in each[2])]
    if not applying:
        return Draft(None, "no policy applies")
    kept = sum(not any(one.broken for one in conditions) for _, _, conditions in applying)
    return Draft(kept / len(applying), partial(_explained, applying, kept, calls.note))


def _applies(case: ResolvedCase, policy: Policy, made: Sequence[Made]) -> bool:
    is_offered = any(find_tool(case, name) is not None for name in policy.tools)
    return is_offered or bool(made) or policy.at_least is not None


class _Calls:
    """The calls of a conversation, those in the case's own messages first."""

    def __init__(self, case: ResolvedCase, transcript: Transcript) -> None:
        self._case = case
        self._mode = MODES[case.param_scoring]
        self._before = list(_in_messages(case.messages))
        replies = [((reply.calls, reply.status), reply.answers) for reply in transcript.replies]
        self._made = [
            each
            for number, ((calls, status), answers) in enumerate(replies)
            for each in _with_answers(calls, status, answers, number)
        ]
        self._is_silent = all(each.status is None and each.answer is None for each in self._made)
        # In a single reply, nothing is answered by design.
        self._is_single = not case.has_tool_rounds
        self.note = _UNANSWERED if self._is_silent and not self._is_single and self._made else ""

    def of(self, policy: Policy) -> list[Made]:
        """The calls that a policy judges."""
        return [each for each in self._made if is_meant(self._case, policy, each.call)]

    def conditions(self, policy: Policy, judged: Sequence[Made]) -> list[_Condition]:
        """The conditions of a policy, with what broke each."""
        texts = policy.texts
        found = []
        for field, other in policy.others:
            breaks = self._early if field == "only_after" else self._late
            applies = field != "only_after" or self._has_answers
            broken = _all(breaks, judged, other) if applies else None
            found.append(_Condition(texts[field], broken))
        if policy.expected_params is not None:
            applies = self._has_answers or not any(operands(FROM, policy.expected_params))
            broken = _all(self._wrong, judged, policy.expected_params) if applies else None
            found.append(_Condition(texts["expected_params"], broken))
        if policy.after_approval:
            broken = None if self._is_single else _all(_unapproved, judged, None)
            found.append(_Condition(texts["after_approval"], broken))
        attempts = self._attempts(judged)
        reason = f"called {counted(len(attempts), 'time')}"
        for field, is_broken in (
            ("at_most", policy.at_most is not None and len(attempts) > policy.at_most),
            ("at_least", policy.at_least is not None and len(attempts) < policy.at_least),
        ):
            if field in texts:
                broken = [Broken(attempts[0].call if attempts else None, reason)] if is_broken else []
                found.append(_Condition(texts[field], broken))
        return found

    @property
    def _has_answers(self) -> bool:
        return not self._is_single or any(each.answer is not None for each in self._before)

    def _early(self, made: Made, other: OtherCall) -> str:
        """Why a call was not made after the answer that it needs; empty if it was."""
        wanted = self._params(other, made)
        found = [each for each in self._others(made) if self._is(each, other.tools, wanted)]
        before = [each for each in found if each.reply < made.reply]
        if any(self._is_answered(each) for each in before):
            return ""
        name = with_arguments(shown_names(other.tools), wanted)
        if not found:
            return f"no earlier call of {name}"
        if not before:
            return f"{name} was called in the same reply, so its answer was not known"
        last = before[-1]
        if last.is_error:
            return f"{name} was answered with an error"
        return f"{name} was {last.status or 'not answered'}"

    def _is_answered(self, made: Made) -> bool:
        return bool(made.ran) or (made.ran is None and made.reply >= 0 and self._is_silent)

    def _late(self, made: Made, other: OtherCall) -> str:
        """Why a call was made after one that rules it out; empty if it was not."""
        wanted = self._params(other, made)
        for each in self._others(made):
            if self._is(each, other.tools, wanted) and each.ran is not False:
                return f"after {with_arguments(shown_names(other.tools), wanted)}"
        return ""

    def _wrong(self, made: Made, expected: Mapping[str, Any]) -> str:
        """What is wrong with the arguments of a call; empty if nothing is."""
        arguments = made.call.arguments
        if arguments is None:
            return made.call.why_malformed
        values = replaced(expected, FROM, partial(self._value, made))
        actual = with_keys_of(values, arguments, self._mode)
        for name, value in values.items():
            if name not in actual:
                if not is_optional(value):
                    return f"{printable(name)} is missing"
            elif why := self._mismatch(name, value, actual[name]):
                return f"{printable(name)}: expected {json_text(value, 80)}, got {why}"
        return ""

    def _mismatch(self, name: str, expected: Any, actual: Any) -> str:
        try:
            share = compare({name: expected}, {name: actual}, self._mode)
        except CannotCompare as error:
            raise _NoValue(str(error)) from None
        return "" if share.flaw is None else json_text(actual, 80)

    def _value(self, made: Made, operand: Mapping[str, Any]) -> Any:
        """The value of `$from`: from the newest answer to such a call in an earlier reply."""
        other = EarlierAnswer.model_validate(operand)
        wanted = self._params(other, made)
        name = with_arguments(shown_names(other.tools), wanted)
        for each in reversed(self._others(made)):
            if each.reply < made.reply and each.ran and self._is(each, other.tools, wanted):
                value = pointed(read_json(each.answer or ""), other.at)
                if value is MISSING:
                    raise _NoValue(f"the answer of {name} has nothing at {other.at}")
                return _as_data(value)
        raise _NoValue(f"no earlier answer of {name}")

    def _params(self, other: OtherCall, made: Made) -> dict[str, Any]:
        """The params of another call, with the values of `$same` from the judged call."""

        def same(pointer: str) -> Any:
            value = pointed(made.call.arguments, pointer)
            if value is MISSING:
                raise _NoValue(f"the call has nothing at {pointer}")
            return _as_data(value)

        found: dict[str, Any] = replaced(other.params or {}, SAME, same)
        return found

    def _others(self, made: Made) -> list[Made]:
        """The calls before this one: in earlier replies, and before it in the same list."""
        place = next(i for i, each in enumerate(self._made) if each is made)
        return [*self._before, *self._made[:place]]

    def _is(self, made: Made, tools: Sequence[str], wanted: Mapping[str, Any]) -> bool:
        if not accepts(tools, made.call.name, self._case) or made.call.arguments is None:
            return False
        arguments = with_keys_of(wanted, made.call.arguments, self._mode)
        return all(
            not self._mismatch(name, value, arguments[name]) if name in arguments else is_optional(value)
            for name, value in wanted.items()
        )

    def _attempts(self, judged: Sequence[Made]) -> list[Made]:
        """The calls without those that repeat one that was answered with an error."""
        found: list[Made] = []
        for place, made in enumerate(judged):
            again = any(
                each.is_error and same_call(self._case, each.call, made.call) for each in judged[:place]
            )
            if not again:
                found.append(made)
        return found


def _unapproved(made: Made, _: None) -> str:
    """Why a call did not wait for an approval; empty if it did, or did not run."""
    if made.is_approved or made.status in NOT_RUN:
        return ""
    return "it ran, and no approval is recorded"


def _all(breaks: Callable[[Made, Any], str], judged: Iterable[Made], operand: Any) -> list[Broken]:
    """What breaks a condition, for each call that does."""
    found = []
    for made in judged:
        try:
            reason = breaks(made, operand)
        except _NoValue as error:
            reason = str(error)
        if reason:
            found.append(Broken(made.call, reason))
    return found


def _in_messages(messages: Sequence[Message]) -> Iterator[Made]:
    """The calls and answers in a case's own messages."""
    found: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if message.get("role") == "assistant":
            found.append((message, []))
        elif message.get("role") == "tool" and found:
            found[-1][1].append(message)
    for number, ((message, answers), status) in enumerate(zip(found, statuses_of(found), strict=True)):
        calls = read_calls(message, "").calls
        yield from _with_answers(calls, status, answers, number - len(found))


def _with_answers(
    calls: Sequence[ToolCall],
    status: Sequence[CallStatus | None],
    answers: Iterable[Message],
    number: int,
) -> Iterator[Made]:
    """The calls of a reply, each with its status and the text of its answer."""
    waiting = [each for each in answers if each.get("role") == "tool"]
    for place, call in enumerate(calls):
        # Calls without an id are answered in order.
        answer = next((each for each in waiting if each.get("tool_call_id") == call.id), None)
        if answer is not None:
            waiting.remove(answer)
        text = None if answer is None else text_of(answer)
        is_approved = answer is not None and answer.get(APPROVED) is True
        yield Made(call, number, status[place] if place < len(status) else None, text, is_approved)


def _as_data(value: Any) -> Any:
    """A value that a model or a tool sent, in which a key such as `$any_of` is no matcher."""
    return {"$exact": value} if has_matcher(value) else value


def _explained(
    applying: Sequence[tuple[Policy, Sequence[Made], Sequence[_Condition]]], kept: int, note: str
) -> Explained:
    lines: list[Line] = []
    for _, judged, conditions in applying:
        for text, broken in conditions:
            if broken:
                lines += [_line(text, each) for each in broken[:_SHOWN]]
            elif broken is not None:
                reason = f"{counted(len(judged), 'call')} checked"
                lines.append(Line(Check("policy", text, "kept", 1.0, reason), WITH_REASON))
    checked = sum(len(judged) for _, judged, _ in applying)
    policies = "policy" if len(applying) == 1 else "policies"
    text = f"{kept} of {len(applying)} {policies} kept, {counted(checked, 'call')} checked"
    return f"{text}; {note}" if note else text, lines


def _line(text: str, broken: Broken) -> Line:
    called = with_arguments(shown_call(broken.call), broken.call.arguments if broken.call else None)
    return Line(
        Check("policy", text, called, 0.0, broken.reason), "policy {0.expected}: {0.actual}: {0.reason}"
    )
