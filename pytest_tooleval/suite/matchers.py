"""The matchers: which `$` keys there are, what they mean, and what may stand behind them.

A matcher is an object with one `$` key that stands in place of an expected value. Here is what may be
written, so that a suite with a typo is refused when it is loaded and not when a model answers;
`scoring.matchers` compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from ..record.calls import is_number
from .dates import read_date
from .explain import describe
from .explain import nearest
from .explain import show
from .modes import DEFAULT_MODE
from .patterns import pattern_problem
from .tool_schemas import TYPES
from .tool_schemas import is_type
from .tool_schemas import json_schema_findings

Path = tuple["str | int", ...]
Found = Iterator[tuple[Path, str]]

ANY_OF = "$any_of"
ALL_OF = "$all_of"
NOT = "$not"
OPTIONAL = "$optional"
EXACT = "$exact"
REGEX = "$regex"
CONTAINS = "$contains"
UNORDERED = "$unordered"
APPROX = "$approx"
DATE = "$date"
LEN = "$len"
TYPE = "$type"
SCHEMA = "$schema"
BOUNDS = {"$gte": "at least", "$lte": "at most", "$gt": "more than", "$lt": "less than"}

# Each member may have to be compared with each of the model's.
MAX_UNORDERED = 200


class Matcher(NamedTuple):
    """A matcher: an operand as an example, what it then matches (in Markdown), and what it takes.

    `title` is what a menu calls it, between a parameter and the operand. `expected` says in words what
    `takes` lets through. With `holds_values` the operand is an expected value itself, or a list of them.
    """

    example: str
    meaning: str
    expected: str
    takes: Callable[[Any], bool]
    title: str
    holds_values: bool = False


def matcher_key(value: Any) -> str | None:
    """The `$` key that makes an object a matcher; None for a plain value."""
    if isinstance(value, dict):
        for key in value:
            if key.startswith("$"):
                return str(key)
    return None


def _anything(_: Any) -> bool:
    return True


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_finite(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or math.isfinite(value))


def _is_part(value: Any) -> bool:
    return value not in ("", []) and not (isinstance(value, list) and "" in value)


def _is_tolerance(value: Any) -> bool:
    if not isinstance(value, dict) or not {"value"} < value.keys() <= {"value", "abs", "rel"}:
        return False
    return all(_is_finite(number) and (key == "value" or number >= 0) for key, number in value.items())


def _is_length(value: Any) -> bool:
    return matcher_key(value) is not None or (isinstance(value, int) and is_number(value) and value >= 0)


_VALUES = "a list of values or matchers"
MATCHERS: Mapping[str, Matcher] = {
    ANY_OF: Matcher(
        "[a, b]",
        "any of these values or matchers",
        _VALUES,
        _is_list,
        "is one of (list)",
        holds_values=True,
    ),
    ALL_OF: Matcher(
        "[a, b]",
        "what every one of these values or matchers matches",
        "a non-empty list of values or matchers",
        lambda operand: _is_list(operand) and bool(operand),
        "matches all of (list)",
        holds_values=True,
    ),
    NOT: Matcher(
        "a",
        "anything but `a`; the key must be there",
        "a value or matcher",
        _anything,
        "is not",
        holds_values=True,
    ),
    OPTIONAL: Matcher(
        "a",
        "`a`, and the key may be left out",
        "a value or matcher",
        _anything,
        "may be absent, else equals",
        holds_values=True,
    ),
    EXACT: Matcher(
        "a",
        "the same JSON value of the same type, including upper and lower case; also the way to "
        "expect an object that has "
        "a `$` key",
        "a value",
        _anything,
        "is exactly",
    ),
    REGEX: Matcher(
        '"^P"',
        "a string in which the pattern is found",
        "a regular expression that is not empty, as a string",
        lambda operand: isinstance(operand, str) and operand != "",
        "matches the pattern",
    ),
    CONTAINS: Matcher(
        '"x"',
        "a string that contains it (ignoring case, as `exact` does), or a list with such an "
        "item; give a list to require several",
        "what must be contained (an empty string or list is contained in everything)",
        _is_part,
        "contains",
        holds_values=True,
    ),
    UNORDERED: Matcher(
        "[a, b]",
        "a list of just these values or matchers, in any order",
        f"a list of at most {MAX_UNORDERED} values or matchers",
        lambda operand: _is_list(operand) and len(operand) <= MAX_UNORDERED,
        "has the items, in any order (list)",
        holds_values=True,
    ),
    **{
        key: Matcher("1", f"a number that is {words} 1", "a finite number", _is_finite, f"is {words}")
        for key, words in BOUNDS.items()
    },
    APPROX: Matcher(
        '{"value": 3.14, "abs": 0.01}',
        'a number within that distance; or `"rel": 0.01`, a share of the value',
        'an object such as {"value": 3.14, "abs": 0.01}, with "abs", "rel" or both, at least 0',
        _is_tolerance,
        "is about",
    ),
    DATE: Matcher(
        '"2026-03-02"',
        "the same day (a date, or a date-time on it), instant (`2026-03-02T10:00Z`) or time (`10:00`), "
        "however it is written in ISO 8601 with hyphens and colons; clocks compare unless both have "
        "a zone",
        "a date, date-time or time in ISO 8601, as a string",
        lambda operand: read_date(operand) is not None,
        "is the date",
    ),
    LEN: Matcher(
        "2",
        'a string, list or object of that length, or of a length that matches: `{"$len": {"$gte": 2}}`',
        "a whole number of at least 0, or a matcher for it",
        _is_length,
        "has the length",
        holds_values=True,
    ),
    TYPE: Matcher(
        '"integer"',
        "a value of that type in JSON Schema, or of one of a list of types; 5.0 is an integer, too",
        f"one of {', '.join(map(show, TYPES))}, or a list of them",
        is_type,
        "is of the type",
    ),
    SCHEMA: Matcher(
        "{...}",
        "what is valid under this JSON Schema",
        "a JSON Schema: an object, true or false",
        lambda operand: isinstance(operand, (dict, bool)),
        "is valid under the schema",
    ),
}


def operand_problem(value: Mapping[str, Any], key: str) -> str | None:
    """What is wrong with an object that has this `$` key, apart from what is inside its operand."""
    matcher = MATCHERS.get(key)
    if matcher is None:
        near = nearest(key, MATCHERS)
        hint = f", did you mean {show(near)}?" if near else f"; expected one of {', '.join(MATCHERS)};"
        return f'unknown matcher{hint} to expect data that has such a key, write {{"{EXACT}": {{...}}}}'
    if len(value) > 1 and value.keys() <= MATCHERS.keys():
        both = ", ".join(f'{{"{each}": ...}}' for each in value)
        return f'only one matcher is allowed here; to require all of them, write {{"$all_of": [{both}]}}'
    if len(value) > 1:
        others = ", ".join(show(other) for other in value if other != key)
        return (
            f'a matcher is an object with a "$" key and no other, got "{key}" and {others}; to '
            f'expect data that has such a key, write {{"{EXACT}": {{...}}}}'
        )
    if not matcher.takes(value[key]):
        return f"expected {matcher.expected}, got {describe(value[key])}"
    return None


def matcher_problems(value: Any, path: Path = (), *, param_scoring: str = DEFAULT_MODE) -> Found:
    """What is wrong with the matchers in expected params, as pairs of a path and a message.

    `value` is a whole params object: its own keys are the names of parameters, even those that
    begin with `$`. Under `param_scoring="regex"` plain strings are patterns and must compile.
    """
    patterns = param_scoring == "regex"
    if isinstance(value, dict):
        for name, expected in value.items():
            yield from _value(expected, (*path, name), optional=True, patterns=patterns)
    else:
        yield from _value(value, path, optional=False, patterns=patterns)


def _value(value: Any, path: Path, *, optional: bool, patterns: bool) -> Found:
    key = matcher_key(value)
    if key is not None:
        yield from _matcher(value, key, path, optional=optional, patterns=patterns)
    elif isinstance(value, dict):
        for name, expected in value.items():
            yield from _value(expected, (*path, name), optional=True, patterns=patterns)
    elif isinstance(value, list):
        for index, expected in enumerate(value):
            yield from _value(expected, (*path, index), optional=False, patterns=patterns)
    elif isinstance(value, str) and patterns:
        if not value:
            yield path, "an empty regular expression matches everything; write one that tests something"
        yield from _pattern(value, path)


def _matcher(value: dict[str, Any], key: str, path: Path, *, optional: bool, patterns: bool) -> Found:
    operand, inside = value[key], (*path, key)
    problem = operand_problem(value, key)
    if problem is not None:
        yield inside, problem
        return
    if key == OPTIONAL and not optional:
        message = "means that a key may be absent, so it only works as the value of a key"
        yield path, f'"{OPTIONAL}" {message}'
    if MATCHERS[key].holds_values:
        # What is contained is compared as it stands, under every mode.
        yield from _value(operand, inside, optional=False, patterns=patterns and key != CONTAINS)
    elif key == REGEX:
        yield from _pattern(operand, inside)
    elif key == SCHEMA:
        yield from ((found.loc, found.message) for found in json_schema_findings(operand, inside))


def _pattern(pattern: str, path: Path) -> Found:
    problem = pattern_problem(pattern)
    if problem is not None:
        yield path, problem
