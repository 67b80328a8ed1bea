"""Matchers for the length, type and schema of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..explain import show
from ..findings import Findings, Loc
from ..jsonschemas.values import example_value
from ..jsonschemas.well_formed import TYPES, is_type, json_schema_findings
from ..record.calls import is_number
from ..text import json_text, plural, printable, shorten, to_nfc
from .compare import mismatch, shown_value, type_of
from .examples import inside, right_value
from .matcher import MATCHERS, Matcher, Mismatch, matcher, matcher_key
from .modes import Mode
from .numbers import Bound


@matcher
class Len(Matcher):
    """Matches lengths; `é` counts once, whatever its code points."""

    key = "$len"
    types = ("string", "array", "object")
    title = "has the length"
    example = "2"
    says = (
        'a string, list or object of that length, or of a length that matches: `{"$len": {"$gte": 2}}`'
    )
    expected = "a whole number of at least 0, or a matcher"
    operand = {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/Matcher"}]}
    holds_values = True

    def takes(self, operand: Any) -> bool:
        if matcher_key(operand) is not None:
            return True
        return isinstance(operand, int) and is_number(operand) and operand >= 0

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not isinstance(actual, (str, list, tuple, dict)):
            return lambda: f"is {shown_value(actual)}, which has no length"
        length = len(to_nfc(actual) if isinstance(actual, str) else actual)
        why = mismatch(operand, length, mode)
        if why is None:
            return None
        has = f"has {plural(length, _UNITS[type_of(actual)])}"
        key = matcher_key(operand)
        if key is None:
            return lambda: f"{has}, not {operand}"
        one = MATCHERS[key]
        if isinstance(one, Bound):
            return lambda: f"{has}, not {one.words} {operand[key]}"
        return lambda: f"{has}: {why()}"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        length = right_value(operand, True, mode)
        if isinstance(length, int):
            yield "x" * length
            yield [right_value({"$not": None}, inside(schema, None), mode)] * length


_UNITS = {"string": "character", "list": "member", "object": "key"}


@matcher
class Type(Matcher):
    key = "$type"
    title = "is of the type"
    example = '"integer"'
    says = "a value of that JSON Schema type, or of one of a list of types; 5.0 is also an integer"
    expected = f"one of {', '.join(map(show, TYPES))}, or a list of them"
    operand = {
        "anyOf": [
            {"enum": list(TYPES)},
            {"type": "array", "items": {"enum": list(TYPES)}, "minItems": 1, "uniqueItems": True},
        ]
    }

    def takes(self, operand: Any) -> bool:
        return is_type(operand)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if any(_IS_OF[name](actual) for name in ([operand] if isinstance(operand, str) else operand)):
            return None
        return lambda: f"is {shown_value(actual)}, not of type {json_text(operand)}"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        yield example_value({"type": operand}, "value")


_IS_OF: Mapping[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, (list, tuple)),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


@matcher
class Schema(Matcher):
    key = "$schema"
    title = "is valid under the schema"
    example = "{...}"
    says = "a value that is valid under this JSON Schema"
    expected = "a JSON Schema: an object, true or false"
    operand = {"type": ["object", "boolean"]}

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, (dict, bool))

    def problems(self, operand: Any, at: Loc) -> Findings:
        yield from json_schema_findings(operand, at)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        from ..jsonschemas.validation import errors, is_valid

        if is_valid(operand, actual):
            return None
        return lambda: shorten(printable("; ".join(errors(operand, actual, limit=1))), 120)

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        yield example_value(operand, "value")
