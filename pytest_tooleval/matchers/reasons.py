"""Why a value is right or wrong, in a few words."""

from __future__ import annotations

import json
from typing import Any

from ..errors import CannotCompare
from ..record.calls import is_number
from ..text import composed
from ..text import counted
from ..text import folded
from ..text import json_text
from ..text import printable
from ..text import shorten
from . import shape
from .compare import Rules
from .compare import is_optional
from .compare import length
from .compare import matches
from .compare import same_figures
from .compare import similarity
from .compare import unpaired
from .compare import with_keys_of
from .dates import read_date


def reason(expected: Any, actual: Any, rules: Rules) -> tuple[bool, str]:
    """Whether the value is right, and why."""
    try:
        if matches(expected, actual, rules):
            return True, _why_right(expected, actual, rules)
        return False, _why_wrong(expected, actual, rules)
    except (CannotCompare, RecursionError) as error:
        return False, f"cannot be explained: {error}"


def _why_right(expected: Any, actual: Any, rules: Rules) -> str:
    key = shape.matcher_key(expected)
    if key == shape.OPTIONAL:
        return _why_right(expected[key], actual, rules)
    if key is not None:
        return f"matches {key}"
    if isinstance(expected, str) and expected != actual:
        if composed(expected) == composed(actual):
            return "equal, in different code points"
        return "equal as BFCL compares strings" if rules.mode == "bfcl" else "equal, ignoring case"
    return "equal"


def _why_wrong(expected: Any, actual: Any, rules: Rules) -> str:
    key = shape.matcher_key(expected)
    if key is not None:
        return _why_no_match(key, expected[key], actual, rules)
    if _type(expected) != _type(actual):
        return f"is {_shown(actual)}, not {_TYPE_NAMES[_type(expected)]}"
    if isinstance(expected, dict):
        return _wrong_object(expected, actual, rules)
    if isinstance(expected, (list, tuple)):
        return _wrong_list(expected, actual, rules)
    if isinstance(expected, str):
        return _wrong_text(expected, actual)
    if is_number(expected) and expected == actual:
        return "is a number with a decimal point, not an integer"
    return "different value"


def _why_no_match(key: str, operand: Any, actual: Any, rules: Rules) -> str:
    if key == shape.OPTIONAL:
        return _why_wrong(operand, actual, rules)
    if key == shape.ALL_OF:
        missed = next(member for member in operand if not matches(member, actual, rules))
        return _why_wrong(missed, actual, rules)
    if key == shape.SCHEMA:
        from ..jsonschemas.validation import errors

        return shorten(printable("; ".join(errors(operand, actual, limit=1))), 120)
    if _type(actual) != _COMPARABLE.get(key, _type(actual)):
        return f"is {_shown(actual)}, not {_TYPE_NAMES[_COMPARABLE[key]]}"
    both_texts = isinstance(operand, str) and isinstance(actual, str)
    if key == shape.EXACT and both_texts and composed(operand) == composed(actual):
        return f"in different code points: {_code_points(actual)}, not {_code_points(operand)}"
    if key in shape.BOUNDS:
        return f"is {json_text(actual, 30)}, not {shape.BOUNDS[key]} {operand}"
    if key == shape.LEN:
        return _wrong_length(operand, actual, rules)
    if key == shape.UNORDERED:
        return _wrong_members(operand, actual, rules)
    if key == shape.DATE:
        return _wrong_date(operand, actual)
    if key == shape.FUZZY:
        return _unlike(operand, actual)
    if key == shape.TYPE:
        return f"is {_shown(actual)}, not of type {json_text(operand)}"
    return "none of these" if key == shape.ANY_OF and operand else _NO_MATCH[key]


_NO_MATCH = {
    shape.ANY_OF: "an empty $any_of never matches",
    shape.NOT: "is what it must not be",
    shape.ABSENT: "must be absent",
    shape.EXACT: "not of the same type and value",
    shape.REGEX: "the pattern does not match",
    shape.CONTAINS: "does not contain it",
    shape.APPROX: "not close enough",
}
# The only type that a matcher accepts.
_COMPARABLE = {
    shape.REGEX: "string",
    shape.DATE: "string",
    shape.FUZZY: "string",
    shape.APPROX: "number",
    **dict.fromkeys(shape.BOUNDS, "number"),
    shape.UNORDERED: "list",
}
_UNITS = {"string": "character", "list": "member", "object": "key"}


def _code_points(text: str) -> str:
    return shorten(json.dumps(text), 60)


def _wrong_length(operand: Any, actual: Any, rules: Rules) -> str:
    unit = _UNITS.get(_type(actual))
    if unit is None:
        return f"is {_shown(actual)}, which has no length"
    has = f"has {counted(length(actual), unit)}"
    key = shape.matcher_key(operand)
    if key is None:
        return f"{has}, not {operand}"
    if key in shape.BOUNDS:
        return f"{has}, not {shape.BOUNDS[key]} {operand[key]}"
    return f"{has}: {_why_wrong(operand, length(actual), rules)}"


def _wrong_members(expected: list[Any], actual: Any, rules: Rules) -> str:
    if len(expected) != len(actual):
        return f"has {counted(len(actual), 'member')}, not {len(expected)}"
    left = unpaired(expected, actual, rules)
    return f"no item is left that matches {json_text(None if left is None else expected[left], 40)}"


def _wrong_date(operand: str, actual: str) -> str:
    expected, written = read_date(operand), read_date(actual)
    if expected is None or written is None:
        return "is not a date or time such as 2026-03-02 or 2026-03-02T10:00Z"
    if expected.kind == written.kind or (expected.kind, written.kind) == ("date", "date-time"):
        what = {"date": "day", "date-time": "instant", "time": "time"}[expected.kind]
        return f"different {what}: {actual}"
    return f"is a {written.kind}, not a {expected.kind}"


def _wrong_object(expected: dict[str, Any], got: dict[str, Any], rules: Rules) -> str:
    actual = with_keys_of(expected, got, rules)
    for name, value in expected.items():
        if name not in actual:
            if not is_optional(value):
                return f"the key {json_text(name, 40)} is missing"
        elif not matches(value, actual[name], rules):
            return f"at {json_text(name, 40)}: {_why_wrong(value, actual[name], rules)}"
    surplus = next((name for name in actual if name not in expected), "")
    return f"the key {json_text(surplus, 40)} is not expected"


def _wrong_list(expected: Any, actual: Any, rules: Rules) -> str:
    if len(expected) != len(actual):
        return f"has {counted(len(actual), 'member')}, not {len(expected)}"
    for index, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        if not matches(wanted, got, rules):
            if len(expected) <= shape.MAX_UNORDERED and unpaired(expected, actual, rules) is None:
                return "the same members in a different order, which $unordered would allow"
            return f"at [{index}]: {_why_wrong(wanted, got, rules)}"
    return "different value"


def _unlike(expected: str, actual: str) -> str:
    if not same_figures(expected, actual):
        return "the numbers differ"
    return f"similarity {similarity(expected, actual):.2f}, below {shape.FUZZY_SIMILARITY:g}"


def _wrong_text(expected: str, actual: str) -> str:
    if folded(expected) == folded(actual):
        return "case differs"
    if "".join(expected.split()) == "".join(actual.split()):
        return "white space differs"
    return "different text"


_TYPE_NAMES = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a string",
    "list": "a list",
    "object": "an object",
}


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, (list, tuple)) else "object"


def _shown(value: Any) -> str:
    kind = _type(value)
    if kind in ("list", "object"):
        return _TYPE_NAMES[kind]
    text = json_text(value, 30)
    return f"the {kind} {text}" if kind in ("string", "number") else text
