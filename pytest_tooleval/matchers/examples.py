"""Right values for expected ones, and those that an expected value names itself.

`{"$any_of": ["a", "b"]}` names two values, `{"$gte": 1}` none. A right value is accepted by its
matchers, and allowed by the tool's schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..errors import CannotCompare
from ..jsonschemas.values import NO_VALUE, example_value, may_fit
from ..record.calls import is_number
from .compare import matches
from .matcher import MATCHERS, is_optional, matcher_key
from .modes import MODES, Mode

# A spelling that is right for the case may be wrong for the tool.
_MODE = MODES["case_sensitive"]


def right_value(expected: Any, schema: Any, mode: Mode) -> Any:
    """Return a right value, if possible one that fits the schema; `NO_VALUE` if none is known."""
    right = NO_VALUE
    for value in guesses(expected, schema, mode):
        if not _accepts(expected, value, mode):
            continue
        if may_fit(schema, value):
            return value
        right = value if right is NO_VALUE else right
    return right


def guesses(expected: Any, schema: Any, mode: Mode) -> Iterator[Any]:
    """Yield values that may be right, likeliest first."""
    key = matcher_key(expected)
    if key is None:
        yield from _plain(expected, schema, mode)
        return
    yield from MATCHERS[key].examples(expected[key], schema, mode)
    if isinstance(schema, Mapping):
        yield from schema.get("enum", ())
        yield example_value(schema, "value")
    yield from ("x", "y", 1, 2, 1.5, True, [], {}, None)


def _plain(expected: Any, schema: Any, mode: Mode) -> Iterator[Any]:
    if isinstance(expected, list):
        yield [right_value(member, inside(schema, None), mode) for member in expected]
    elif isinstance(expected, dict):
        members = {
            name: right_value(member, inside(schema, name), mode) for name, member in expected.items()
        }
        yield {
            name: value
            for name, value in members.items()
            if value is not NO_VALUE or not is_optional(expected[name])
        }
    else:
        yield expected
        if is_number(expected) and expected == round(expected):
            yield int(expected)  # 5.0 is 5, and the schema may require an integer


def _accepts(expected: Any, value: Any, mode: Mode) -> bool:
    try:
        return matches(expected, value, mode)
    except CannotCompare:
        return False


def inside(schema: Any, name: str | None) -> Any:
    """Return the schema of the property with this name, or with None, that of a list's items."""
    if not isinstance(schema, Mapping):
        return True
    if name is None:
        return schema.get("items", True)
    properties = schema.get("properties")
    return properties.get(name, True) if isinstance(properties, Mapping) else True


def is_named(expected: Any, value: Any) -> bool:
    """True if the case names this value; `{"$gte": 1}` only allows it."""
    if _is_choice(expected):
        return any(is_named(member, value) for member in _members(expected) or ())
    return _names_values(expected) and matches(expected, value, _MODE)


def right_values(expected: Any) -> list[Any]:
    """Return all right values; empty if they cannot be listed."""
    if _is_choice(expected):
        lists = [right_values(member) for member in _members(expected) or ()]
        return [value for values in lists for value in values] if all(lists) else []
    return [right_value(expected, True, _MODE)] if _names_values(expected, one=True) else []


def _names_values(expected: Any, *, one: bool = False) -> bool:
    members = _members(expected)
    if members is None or (one and _is_choice(expected) and len(members) != 1):
        return False
    return all(_names_values(member, one=one) for member in members)


def _is_choice(expected: Any) -> bool:
    key = matcher_key(expected)
    return key is not None and MATCHERS[key].is_choice


def _members(expected: Any) -> Collection[Any] | None:
    """Return the values in an expected value that names the right ones; None if it describes them."""
    key = matcher_key(expected)
    if key is not None:
        return MATCHERS[key].named_values(expected[key])
    if isinstance(expected, dict):
        return expected.values()
    return expected if isinstance(expected, list) else ()
