"""The right values that an expected value names; `{"$any_of": ["a", "b"]}` names two, `$gte` none."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .compare import matches
from .examples import right_value
from .matcher import MATCHERS, matcher_key
from .modes import MODES

# A spelling that is right for the case may be wrong for the tool.
_MODE = MODES["case_sensitive"]


def is_named(expected: Any, value: Any) -> bool:
    """True if the case names this value; `{"$gte": 1}` only allows it."""
    if _is_choice(expected):
        return any(is_named(member, value) for member in _members(expected) or ())
    return _names_values(expected) and matches(expected, value, _MODE)


def listed(expected: Any) -> list[Any]:
    """Return all right values; empty if they cannot be listed."""
    if _is_choice(expected):
        lists = [listed(member) for member in _members(expected) or ()]
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
        return MATCHERS[key].named(expected[key])
    if isinstance(expected, dict):
        return expected.values()
    return expected if isinstance(expected, list) else ()
