"""Matchers for numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ..jsonschemas.exact import exact
from ..record.calls import is_number
from ..text import json_text
from ..tiers import Tier
from .compare import wrong_type_text
from .matcher import MATCHERS, Matcher, Mismatch, matcher
from .modes import Mode, Number


class Bound(Matcher):
    """A limit; `words` precede it in texts, and `holds` compares a value with it."""

    example = "1"
    expected = "a finite number"
    operand = {"type": "number"}
    types = ("number", "integer")

    def __init__(
        self, key: str, words: str, holds: Callable[[Number, Number], bool], tier: Tier = "advanced"
    ) -> None:
        self.key = key
        self.tier = tier
        self.words = words
        self.holds = holds
        self.title = f"is {words}"
        self.says = f"a number that is {words} 1"

    def takes(self, operand: Any) -> bool:
        return _is_finite(operand)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not is_number(actual):
            return lambda: wrong_type_text(actual, "number")
        if self.holds(actual, operand):
            return None
        return lambda: f"is {json_text(actual, 30)}, not {self.words} {operand}"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        yield from (operand, math.floor(operand) + 1, math.ceil(operand) - 1)


def _is_finite(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or math.isfinite(value))


_BOUNDS = (
    Bound("$gte", "at least", operator.ge, "everyday"),
    Bound("$lte", "at most", operator.le, "everyday"),
    Bound("$gt", "more than", operator.gt),
    Bound("$lt", "less than", operator.lt),
)
MATCHERS.update({bound.key: bound for bound in _BOUNDS})


@matcher
class Approx(Matcher):
    key = "$approx"
    types = ("number", "integer")
    title = "is about"
    example = '{"value": 3.14, "abs": 0.01}'
    says = 'a number within that distance; `"rel": 0.01` allows 1 % of the value'
    expected = 'an object such as {"value": 3.14, "abs": 0.01}, with "abs", "rel" or both, at least 0'
    operand = {
        "type": "object",
        "properties": {
            "value": {"type": "number", "description": "The expected number."},
            "abs": {"type": "number", "minimum": 0, "description": "The largest distance."},
            "rel": {"type": "number", "minimum": 0, "description": "The largest relative distance."},
        },
        "required": ["value"],
        "anyOf": [{"required": ["abs"]}, {"required": ["rel"]}],
        "additionalProperties": False,
    }

    def takes(self, operand: Any) -> bool:
        if not isinstance(operand, dict) or not {"value"} < operand.keys() <= {"value", "abs", "rel"}:
            return False
        return all(
            _is_finite(number) and (key == "value" or number >= 0) for key, number in operand.items()
        )

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not is_number(actual):
            return lambda: wrong_type_text(actual, "number")
        if _is_near(operand["value"], actual, operand.get("abs", 0), operand.get("rel", 0)):
            return None
        return lambda: "not close enough"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        yield from (operand["value"], round(operand["value"]))


def _is_near(expected: Number, actual: Number, absolute: Number, relative: Number) -> bool:
    """True if |actual - expected| <= max(absolute, relative * |expected|).

    Computed in decimals, not binary floats, so that 3.13 is within 0.01 of 3.14.
    """
    if math.inf in (abs(expected), abs(actual)):
        return expected == actual
    tolerance = max(exact(absolute), exact(relative) * abs(exact(expected)))
    return bool(abs(exact(actual) - exact(expected)) <= tolerance)
