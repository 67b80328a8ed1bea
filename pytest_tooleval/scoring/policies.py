"""`policies`: what must hold over all calls of a conversation, whoever made them.

The score is the share of the policies that apply and are kept. A policy applies if its tool is offered
or was called. A model's single reply has no answers, so there `only_after` and `$from` look only at
answers in the case's own messages, and do not apply if there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import CannotCompare
from ..jsonschemas.subschemas import MISSING, pointed
from ..matchers.compare import with_keys_of
from ..matchers.matcher import has_matcher, is_optional
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.made import Made, made_in
from ..record.recovery import read_calls
from ..record.results import Check
from ..record.status import NOT_RUN
from ..record.transcript import Message, Reply, Transcript
from ..suite.case import ResolvedCase
from ..suite.mocks import SCORED_ONLY
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
        before = _in_messages(case.messages)
        every = made_in([*before, *transcript.replies], -len(before))
        self._calls = [each for of_reply in every for each in of_reply]
        self._made = [each for each in self._calls if each.reply >= 0]
        self._is_silent = all(each.status is None and each.answer is None for each in self._made)
        # A single reply of a model is not answered, by design.
        asked = sum(not reply.is_paused for reply in transcript.replies)
        self._has_rounds = case.has_tool_rounds or asked > 1 or not self._is_silent
        self.note = _UNANSWERED if self._is_silent and self._has_rounds and self._made else ""

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
            applies = self._has_contents or not any(operands(FROM, policy.expected_params))
            broken = _all(self._wrong, judged, policy.expected_params) if applies else None
            found.append(_Condition(texts["expected_params"], broken))
        if policy.after_approval:
            broken = _all(_unapproved, judged, None) if self._has_rounds else None
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
        return self._has_rounds or any(each.answer is not None for each in self._calls)

    @property
    def _has_contents(self) -> bool:
        """Whether tools answered, not only the suite in place of tools that it does not run."""
        if self._case.has_tool_rounds or not self._has_answers:
            return self._has_answers
        return any(each.answer not in (None, SCORED_ONLY) for each in self._calls) or self._is_silent

    def _early(self, made: Made, other: OtherCall) -> str:
        """Why a call was not made after the answer that it needs; empty if it was."""
        wanted = self._params(other, made)
        found = [each for each in self._others(made) if self._is(each, other.tools, wanted)]
        before = [each for each in found if made.came_after(each)]
        if any(self._is_answered(each) for each in before):
            return ""
        name = with_arguments(shown_names(other.tools), wanted)
        if not found:
            return f"no earlier call of {name}"
        if not before:
            at = "was called in the same reply" if found[-1].reply == made.reply else "was still running"
            return f"{name} {at}, so its answer was not known"
        last = before[-1]
        if last.is_lost:
            return f"nobody knows how {name} ended"
        if last.status == "error":
            return f"{name} was answered with an error"
        return f"{name} was {last.status or 'not answered'}"

    def _is_answered(self, made: Made) -> bool:
        return made.status == "ok" or (made.status is None and made.reply >= 0 and self._is_silent)

    def _late(self, made: Made, other: OtherCall) -> str:
        """Why a call was made after one that rules it out; empty if it was not."""
        wanted = self._params(other, made)
        for each in self._others(made):
            if self._is(each, other.tools, wanted) and each.status in ("ok", None):
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
        """The value of `$from`: from the newest answer to such a call before this one."""
        other = EarlierAnswer.model_validate(operand)
        wanted = self._params(other, made)
        name = with_arguments(shown_names(other.tools), wanted)
        found = [
            each
            for each in self._others(made)
            if each.status == "ok" and made.came_after(each) and self._is(each, other.tools, wanted)
        ]
        if not found:
            raise _NoValue(f"no earlier answer of {name}")
        # Of answers that came at the same time, the last one is the newest.
        newest = max(
            reversed(found), key=lambda each: each.reply if each.answered is None else each.answered
        )
        value = pointed(read_json(newest.answer or ""), other.at)
        if value is MISSING:
            raise _NoValue(f"the answer of {name} has nothing at {other.at}")
        return _as_data(value)

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
        return self._calls[: next(i for i, each in enumerate(self._calls) if each is made)]

    def _is(self, made: Made, tools: Sequence[str], wanted: Mapping[str, Any]) -> bool:
        if not accepts(tools, made.call.name, self._case):
            return False
        if made.call.arguments is None:
            return not wanted
        arguments = with_keys_of(wanted, made.call.arguments, self._mode)
        return all(
            not self._mismatch(name, value, arguments[name]) if name in arguments else is_optional(value)
            for name, value in wanted.items()
        )

    def _attempts(self, judged: Sequence[Made]) -> list[Made]:
        """The calls without those that repeat one whose newest answer was an error."""
        found: list[Made] = []
        for place, made in enumerate(judged):
            earlier = reversed(judged[:place])
            newest = next((e for e in earlier if same_call(self._case, e.call, made.call)), None)
            if newest is None or not (newest.failed and made.came_after(newest)):
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


def _in_messages(messages: Sequence[Message]) -> list[Reply]:
    """The replies in a case's own messages, with their answers."""
    found: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if message.get("role") == "assistant":
            found.append((message, []))
        elif message.get("role") == "tool" and found:
            found[-1][1].append(message)
    return [
        Reply(message=message, calls=read_calls(message, "").calls, answers=tuple(answers))
        for message, answers in found
    ]


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
