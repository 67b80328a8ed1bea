"""Matchers that combine values or matchers, and those for exact, optional and absent values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..text import shorten, to_nfc
from .compare import identical, in_text, mismatch, why_right
from .examples import guesses
from .matcher import LIST, Matcher, Mismatch, matcher
from .modes import Mode


@matcher
class AnyOf(Matcher):
    key = "$any_of"
    tier = "everyday"
    title = "is one of (list)"
    example = "[a, b]"
    says = "any of these values or matchers"
    expected = "a list of values or matchers"
    operand = LIST
    holds_values = True
    is_choice = True

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, list)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        for member in operand:
            if mismatch(member, actual, mode) is None:
                return None
        return (lambda: "none of these") if operand else lambda: "an empty $any_of never matches"

    def in_text(self, operand: Any, text: str, mode: Mode) -> bool:
        return any(in_text(member, text, mode) for member in operand)

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        for member in operand:
            yield from guesses(member, schema, mode)

    def named_values(self, operand: Any) -> Sequence[Any]:
        return list(operand)


@matcher
class AllOf(Matcher):
    key = "$all_of"
    title = "matches all of (list)"
    example = "[a, b]"
    says = "a value that matches all of these values or matchers"
    expected = "a non-empty list of values or matchers"
    operand = {**LIST, "minItems": 1}
    holds_values = True

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, list) and bool(operand)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        mismatches = (mismatch(member, actual, mode) for member in operand)
        return next((one for one in mismatches if one is not None), None)

    def in_text(self, operand: Any, text: str, mode: Mode) -> bool:
        return all(in_text(member, text, mode) for member in operand)

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        for member in operand:
            yield from guesses(member, schema, mode)


@matcher
class Not(Matcher):
    key = "$not"
    title = "is not"
    example = "a"
    says = "anything but `a`; the key must be present"
    holds_values = True

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        return (lambda: "is what it must not be") if mismatch(operand, actual, mode) is None else None

    def in_text(self, operand: Any, text: str, mode: Mode) -> bool:
        return not in_text(operand, text, mode)

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        yield from ()


@matcher
class Optional(Matcher):
    key = "$optional"
    tier = "everyday"
    title = "may be absent, else equals"
    example = "a"
    says = "`a`; the key may be absent"
    holds_values = True
    is_choice = True
    absence = "may"

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        return mismatch(operand, actual, mode)

    def why_right(self, operand: Any, actual: Any, mode: Mode) -> str:
        return why_right(operand, actual, mode)

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        return guesses(operand, schema, mode)

    def named_values(self, operand: Any) -> Sequence[Any]:
        return (operand,)


@matcher
class Absent(Matcher):
    key = "$absent"
    title = "is absent"
    example = "true"
    says = "no value: the key must be absent"
    expected = "true"
    operand = {"const": True}
    absence = "must"

    def takes(self, operand: Any) -> bool:
        return operand is True

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch:
        return lambda: "must be absent"


@matcher
class Exact(Matcher):
    key = "$exact"
    title = "is exactly"
    example = "a"
    says = (
        "the same JSON value of the same type, with the same case; also the way to expect an object "
        "that has a `$` key"
    )
    expected = "a value"
    operand = True

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if identical(operand, actual):
            return None
        both_texts = isinstance(operand, str) and isinstance(actual, str)
        if both_texts and to_nfc(operand) == to_nfc(actual):
            return lambda: f"in different code points: {_escaped(actual)}, not {_escaped(operand)}"
        return lambda: "not of the same type and value"

    def in_text(self, operand: Any, text: str, mode: Mode) -> bool:
        return isinstance(operand, str) and operand in text

    def named_values(self, operand: Any) -> Sequence[Any]:
        return ()


def _escaped(text: str) -> str:
    return shorten(json.dumps(text), 60)
