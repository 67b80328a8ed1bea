"""Policies: what must hold over all calls of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..findings import Loc
from ..matchers.matcher import MATCHERS
from ..record.status import CallStatus
from ..text import json_text, plural, printable
from .expectations import ANY_TOOL
from .fields import Expects
from .types import EndedCall, ExpectedText, ExpectedValue, Name, OneOrMoreTools, definition_ref

SAME, FROM = "$same", "$from"
_TOOLS = 'the name of a tool, a list of names, or "*" for any tool'
# Operands that stand for a value in checks; every matcher that takes a number, text or list takes one.
_STAND_INS: tuple[Any, ...] = (0, "a", [])

PolicyParams = Annotated[
    dict[str, Annotated[Any, definition_ref("PolicyValue")]],
    Expects("an object of argument names and expected values"),
]


class OtherCall(EndedCall):
    """A call that stands before another one."""

    EXPECTS = 'an object such as {"tool": "get_order", "params": {"id": {"$same": "/order"}}}'
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "params": "arguments args expected_params parameters",
        "result": "answer returns",
    }

    tool: Annotated[OneOrMoreTools, Expects(_TOOLS)] = Field(
        description='The tool; or a list of tools, of which any one counts; or "*" for any tool.'
    )
    params: PolicyParams | None = Field(
        None,
        description='The arguments that it must have; {"$same": "/order"} is the value at this JSON '
        "Pointer of the arguments of the judged call.",
    )


class Need(OtherCall):
    """What stands before a call: another call, or a message of the user."""

    EXPECTS = 'an object such as {"tool": "get_order"} or {"user": {"$regex": "(?i)^yes"}}'

    tool: Annotated[OneOrMoreTools, Expects(_TOOLS)] | None = Field(  # type: ignore[assignment]
        None, description='The tool; or a list of tools, of which any one counts; or "*" for any tool.'
    )
    user: ExpectedText | None = Field(
        None,
        description="In place of a tool: what the user must say, as in expected_text, since the "
        "previous call that the policy judges.",
    )

    @property
    def tools(self) -> tuple[str, ...]:
        return () if self.tool is None else super().tools


class EarlierAnswer(OtherCall):
    """The operand of `$from`: a value in the newest answer to such a call."""

    EXPECTS = 'an object such as {"tool": "get_order", "params": {...}, "at": "/total"}'

    at: Annotated[
        str,
        Field(pattern=r"^(/[\s\S]*)?$"),
        Expects('a JSON Pointer into the answer, such as "/total", or "" for all of it'),
    ]
    any: bool = Field(False, description="Whether any earlier answer counts instead of the newest one.")


_Other = Annotated[
    Name | OtherCall, Expects(f"the name of a tool, or {OtherCall.EXPECTS.removeprefix('an object ')}")
]
_NameOrNeed = Annotated[Name | Need, Expects(f"the name of a tool, or {Need.EXPECTS}")]
_Limit = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)], Expects("a number of at least 0")
]
_Pointer = Annotated[
    str, Field(pattern=r"^(/[\s\S]*)?$"), Expects('a JSON Pointer into the arguments, such as "/amount"')
]


class Policy(EndedCall):
    """What must hold for the calls of a tool, whoever makes them."""

    EXPECTS = 'an object such as {"tool": "refund", "only_after": "get_order"}'
    OTHER_NAMES: ClassVar[dict[str, str]] = {
        "params": "arguments args",
        "only_after": "after requires needs",
        "at_most": "max max_calls",
        "at_least": "min min_calls",
        "after_approval": "approved approval needs_approval",
    }

    tool: Annotated[OneOrMoreTools, Expects(_TOOLS)] = Field(
        description='The tool whose calls are judged, or a list of tools; "delete_*" is each tool that '
        'begins so, and "*" any tool.'
    )
    params: (
        Annotated[
            dict[str, Annotated[Any, definition_ref("ExpectedValue")]],
            Expects("an object of argument names and values"),
        ]
        | None
    ) = Field(None, description="Only calls with these arguments are judged.")
    status: Annotated[CallStatus | None, Expects('"ok", "error", "refused" or "waiting"')] = Field(
        None, description="Only calls that ended so are judged: ok, error, refused or waiting."
    )
    agent: Annotated[Name, Expects("the name of an agent")] | None = Field(
        None, description="Only calls of this agent are judged, of several."
    )
    result: ExpectedValue = Field(
        None, description="Only calls with this answer are judged: a value or a matcher."
    )
    expected_params: PolicyParams | None = Field(
        None,
        description="The arguments that each of them must have. "
        '{"$from": {"tool": ..., "params": {...}, "at": "/total"}}, wherever a value may stand, is the '
        'value at this JSON Pointer of the newest earlier answer; with "any": true, of any of them.',
    )
    only_after: _NameOrNeed | None = Field(
        None,
        description="A call that each of them needs before it: answered without an error, in an "
        'earlier reply. Or {"user": ...}, what the user must say before each of them.',
    )
    never_after: _Other | None = Field(
        None, description="A call after which none of them may be made, not even in the same reply."
    )
    after_approval: Annotated[Literal[True], Expects("true")] | None = Field(
        None, description="true: each of them runs only after it was approved. Only an agent can ask."
    )
    at_most: _Limit | None = Field(
        None, description="The most of them; one that repeats the same call after an error counts once."
    )
    at_least: _Limit | None = Field(None, description="The fewest of them; only in a case.")
    per: _Pointer | None = Field(
        None,
        description="at_most and at_least count for each value at this JSON Pointer of the arguments.",
    )
    sum: _Pointer | None = Field(
        None,
        description="at_most and at_least limit the sum of the numbers at this JSON Pointer of the "
        "arguments, of all calls but those that changed nothing.",
    )

    @property
    def texts(self) -> dict[str, str]:
        """Each condition in words, by its field, such as `refund only after get_order`."""
        name = _named(self)
        texts = {
            field: f"{name} {field.replace('_', ' ')} {_named(other)}" for field, other in self.others
        }
        if self.word is not None:
            texts["only_after"] = f"{name} only after the user says {json_text(self.word, 80)}"
        if self.after_approval:
            texts["after_approval"] = f"{name} only after approval"
        for field in ("at_most", "at_least"):
            limit: int | float | None = getattr(self, field)
            if limit is not None:
                often = json_text(limit) if self.sum is not None else plural(int(limit), "time")
                what = "" if self.sum is None else f" of {self.sum}"
                per = "" if self.per is None else f" for each {self.per}"
                texts[field] = f"{name} {field.replace('_', ' ')} {often}{what}{per}"
        if self.expected_params is not None:
            texts["expected_params"] = f"{name} with {json_text(self.expected_params, 100)}"
        return {field: printable(text) for field, text in texts.items()}

    @property
    def others(self) -> Iterator[tuple[str, OtherCall]]:
        """The other calls that it names, each with its field."""
        for field in ("only_after", "never_after"):
            other: str | OtherCall | None = getattr(self, field)
            if other is not None and not (isinstance(other, Need) and other.tool is None):
                yield field, OtherCall(tool=other) if isinstance(other, str) else other

    @property
    def word(self) -> str | dict[str, Any] | None:
        """What the user must say before each call; None if nothing."""
        return self.only_after.user if isinstance(self.only_after, Need) else None


def _named(call: EndedCall) -> str:
    """The tools of a call, and how it ended, such as `verify (ok, {"verified": true})`."""
    names = " or ".join("any tool" if name == ANY_TOOL else name for name in call.tools)
    end: list[str] = [call.status] if call.status else []
    end += [json_text(call.result, 80)] if call.has_result else []
    names += f" by {call.agent}" if call.agent else ""
    return f"{names} ({', '.join(end)})" if end else names


Policies = Annotated[list[Policy], Expects(f"a list of policies, each {Policy.EXPECTS}")]


def operand(key: str, value: Any) -> Any:
    """The operand of `{"$same": ...}` or `{"$from": ...}`; None for any other value."""
    return value[key] if isinstance(value, dict) and value.keys() == {key} else None


def operands(key: str, value: Any, at: Loc = ()) -> Iterator[tuple[Loc, Any]]:
    """Every operand of this key inside a value, with its path."""
    of_key = operand(key, value)
    if of_key is not None:
        yield (*at, key), of_key
    elif isinstance(value, (dict, list)):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from operands(key, inner, (*at, name))


def fill_operands(value: Any, key: str, make: Callable[[Any], Any]) -> Any:
    """The value with what `make` makes of each operand of this key."""
    of_key = operand(key, value)
    if of_key is not None:
        return make(of_key)
    if isinstance(value, dict):
        return {name: fill_operands(inner, key, make) for name, inner in value.items()}
    return [fill_operands(inner, key, make) for inner in value] if isinstance(value, list) else value


def with_stand_ins(value: Any, key: str) -> Any:
    """The value as matchers check it, with something that is right in place of this key."""
    if isinstance(value, dict):
        if operand(key, value) is not None:
            return _STAND_INS[0]
        return {
            name: _stand_in(MATCHERS[name].takes, inner, key)
            if name in MATCHERS and len(value) == 1
            else with_stand_ins(inner, key)
            for name, inner in value.items()
        }
    return [with_stand_ins(inner, key) for inner in value] if isinstance(value, list) else value


def _stand_in(takes: Any, value: Any, key: str) -> Any:
    if operand(key, value) is None:
        return with_stand_ins(value, key)
    return next(filter(takes, _STAND_INS), _STAND_INS[0])
