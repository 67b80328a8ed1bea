"""A right value for an expected one: its matchers accept it, and the tool's schema allows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ..errors import CannotCompare
from ..jsonschemas.pattern_examples import example
from ..jsonschemas.values import NOTHING
from ..jsonschemas.values import fits
from ..jsonschemas.values import stand_in
from ..matchers import shape
from ..matchers.compare import Rules
from ..matchers.compare import is_optional
from ..matchers.compare import matches
from ..record.calls import is_number


def right_value(expected: Any, schema: Any, rules: Rules) -> Any:
    """A right value, if possible one that fits the schema; `NOTHING` if none is known."""
    found = NOTHING
    for value in _guesses(expected, schema, rules):
        if not _accepts(expected, value, rules):
            continue
        if fits(schema, value):
            return value
        found = value if found is NOTHING else found
    return found


def inside(schema: Any, name: str | None) -> Any:
    """The schema of a member: of the property with this name, or (None) of a list's items."""
    if not isinstance(schema, Mapping):
        return True
    if name is None:
        return schema.get("items", True)
    properties = schema.get("properties")
    return properties.get(name, True) if isinstance(properties, Mapping) else True


def _accepts(expected: Any, value: Any, rules: Rules) -> bool:
    try:
        return matches(expected, value, rules)
    except CannotCompare:
        return False


def _guesses(expected: Any, schema: Any, rules: Rules) -> Iterator[Any]:
    """Values that may be right, the likeliest first."""
    key = shape.matcher_key(expected)
    operand: Any = None if key is None else expected[key]
    if key is None:
        yield from _plain(expected, schema, rules)
    elif key == shape.OPTIONAL:
        yield from _guesses(operand, schema, rules)
    elif key in (shape.ANY_OF, shape.ALL_OF):
        for member in operand:
            yield from _guesses(member, schema, rules)
    elif key == shape.UNORDERED:
        yield from _plain(operand, schema, rules)
    elif key in (shape.EXACT, shape.DATE, shape.FUZZY):
        yield operand
    elif key in shape.BOUNDS:
        yield from (operand, math.floor(operand) + 1, math.ceil(operand) - 1)
    elif key == shape.LEN:
        length = right_value(operand, True, rules)
        if isinstance(length, int):
            yield "x" * length
            yield [right_value({"$not": None}, inside(schema, None), rules)] * length
    elif key == shape.TYPE:
        yield stand_in({"type": operand}, "value")
    elif key == shape.REGEX:
        yield example(operand)
    elif key == shape.CONTAINS:
        parts = operand if isinstance(operand, list) else [operand]
        if all(isinstance(part, str) for part in parts):
            yield " ".join(parts)
        yield [right_value(part, inside(schema, None), rules) for part in parts]
    elif key == shape.APPROX:
        number = operand["value"]
        yield from (number, round(number))
    elif key == shape.SCHEMA:
        yield stand_in(operand, "value")
    if key is not None and isinstance(schema, Mapping):
        yield from schema.get("enum", ())
        yield stand_in(schema, "value")
    if key in (shape.NOT, shape.ALL_OF):
        yield from ("x", "y", 1, 2, 1.5, True, [], {}, None)


def _plain(expected: Any, schema: Any, rules: Rules) -> Iterator[Any]:
    if isinstance(expected, list):
        yield [right_value(member, inside(schema, None), rules) for member in expected]
    elif isinstance(expected, dict):
        members = {
            name: right_value(member, inside(schema, name), rules) for name, member in expected.items()
        }
        yield {
            name: value
            for name, value in members.items()
            if value is not NOTHING or not is_optional(expected[name])
        }
    else:
        yield expected
        if is_number(expected) and expected == round(expected):
            yield int(expected)  # 5.0 is 5, and the schema may want an integer
