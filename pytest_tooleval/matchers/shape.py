"""The matchers: their `$` keys, their meaning, and the operands that they take.

A matcher is an object with one `$` key in place of an expected value. This module checks them when a
suite is loaded; `scoring.matchers` compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from ..explain import describe
from ..explain import nearest
from ..explain import show
from ..jsonschemas.patterns import pattern_problem
from ..jsonschemas.well_formed import TYPES
from ..jsonschemas.well_formed import is_type
from ..jsonschemas.well_formed import json_schema_findings
from ..record.calls import is_number
from .dates import read_date

Path = tuple["str | int", ...]
Found = Iterator[tuple[Path, str]]

ANY_OF = "$any_of"
ALL_OF = "$all_of"
NOT = "$not"
OPTIONAL = "$optional"
ABSENT = "$absent"
EXACT = "$exact"
REGEX = "$regex"
CONTAINS = "$contains"
FUZZY = "$fuzzy"
UNORDERED = "$unordered"
APPROX = "$approx"
DATE = "$date"
LEN = "$len"
TYPE = "$type"
SCHEMA = "$schema"
BOUNDS = {"$gte": "at least", "$lte": "at most", "$gt": "more than", "$lt": "less than"}

# These say that a key may be absent, and so stand only as the value of a key.
MAYBE_ABSENT = (OPTIONAL, ABSENT)
FUZZY_SIMILARITY = 0.85
MAX_UNORDERED = 200  # every member may have to be compared with every actual one


class Matcher(NamedTuple):
    """A matcher: an example of an operand, what it then matches (in Markdown), and what it takes.

    `expected` describes what `takes` accepts. `title` is the entry in a menu, between the parameter and
    the operand. With `holds_values`, the operand is an expected value or a list of them.
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


def _is_finite(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or math.isfinite(value))


def _is_tolerance(value: Any) -> bool:
    if not isinstance(value, dict) or not {"value"} < value.keys() <= {"value", "abs", "rel"}:
        return False
    return all(_is_finite(number) and (key == "value" or number >= 0) for key, number in value.items())


_VALUES = "a list of values or matchers"
MATCHERS: Mapping[str, Matcher] = {
    ANY_OF: Matcher(
        "[a, b]",
        "any of these values or matchers",
        _VALUES,
        lambda operand: isinstance(operand, list),
        "is one of (list)",
        holds_values=True,
    ),
    ALL_OF: Matcher(
        "[a, b]",
        "a value that matches all of these values or matchers",
        "a non-empty list of values or matchers",
        lambda operand: isinstance(operand, list) and bool(operand),
        "matches all of (list)",
        holds_values=True,
    ),
    NOT: Matcher(
        "a",
        "anything but `a`; the key must be present",
        "a value or matcher",
        lambda operand: True,
        "is not",
        holds_values=True,
    ),
    OPTIONAL: Matcher(
        "a",
        "`a`; the key may be absent",
        "a value or matcher",
        lambda operand: True,
        "may be absent, else equals",
        holds_values=True,
    ),
    ABSENT: Matcher(
        "true", "no value: the key must be absent", "true", lambda operand: operand is True, "is absent"
    ),
    EXACT: Matcher(
        "a",
        "the same JSON value of the same type, with the same case; also the way to expect an object "
        "that has a `$` key",
        "a value",
        lambda operand: True,
        "is exactly",
    ),
    REGEX: Matcher(
        '"^P"',
        "a string in which the regular expression is found",
        "a non-empty regular expression, as a string",
        lambda operand: isinstance(operand, str) and operand != "",
        "matches the pattern",
    ),
    CONTAINS: Matcher(
        '"x"',
        "a string that contains it (ignoring case, as `exact` does), or a list with such an "
        "item; give a list to require several",
        "what must be contained (an empty string or list is contained in everything)",
        lambda operand: operand not in ("", []) and not (isinstance(operand, list) and "" in operand),
        "contains",
        holds_values=True,
    ),
    FUZZY: Matcher(
        '"New York City"',
        f"a string at least {FUZZY_SIMILARITY:.0%} similar, ignoring case, with the same numbers",
        "a non-empty string",
        lambda operand: isinstance(operand, str) and operand != "",
        "is similar to",
    ),
    UNORDERED: Matcher(
        "[a, b]",
        "a list of exactly these values or matchers, in any order",
        f"a list of at most {MAX_UNORDERED} values or matchers",
        lambda operand: isinstance(operand, list) and len(operand) <= MAX_UNORDERED,
        "has the items, in any order (list)",
        holds_values=True,
    ),
    **{
        key: Matcher("1", f"a number that is {words} 1", "a finite number", _is_finite, f"is {words}")
        for key, words in BOUNDS.items()
    },
    APPROX: Matcher(
        '{"value": 3.14, "abs": 0.01}',
        'a number within that distance; `"rel": 0.01` allows 1 % of the value',
        'an object such as {"value": 3.14, "abs": 0.01}, with "abs", "rel" or both, at least 0',
        _is_tolerance,
        "is about",
    ),
    DATE: Matcher(
        '"2026-03-02"',
        "the same day (a date, or a date-time on it), instant (`2026-03-02T10:00Z`) or time (`10:00`), "
        "in any form of ISO 8601 with hyphens and colons; zones count only if both have one",
        "a date, date-time or time in ISO 8601, as a string",
        lambda operand: read_date(operand) is not None,
        "is the date",
    ),
    LEN: Matcher(
        "2",
        'a string, list or object of that length, or of a length that matches: `{"$len": {"$gte": 2}}`',
        "a whole number of at least 0, or a matcher",
        lambda operand: (
            matcher_key(operand) is not None
            or (isinstance(operand, int) and is_number(operand) and operand >= 0)
        ),
        "has the length",
        holds_values=True,
    ),
    TYPE: Matcher(
        '"integer"',
        "a value of that JSON Schema type, or of one of a list of types; 5.0 is also an integer",
        f"one of {', '.join(map(show, TYPES))}, or a list of them",
        is_type,
        "is of the type",
    ),
    SCHEMA: Matcher(
        "{...}",
        "a value that is valid under this JSON Schema",
        "a JSON Schema: an object, true or false",
        lambda operand: isinstance(operand, (dict, bool)),
        "is valid under the schema",
    ),
}


_AS_DATA = f'to expect data that has such a key, write {{"{EXACT}": {{...}}}}'


def operand_problem(value: Mapping[str, Any], key: str) -> str | None:
    """What is wrong with an object with this `$` key, except inside its operand."""
    matcher = MATCHERS.get(key)
    if matcher is None:
        near = nearest(key, MATCHERS)
        hint = f", did you mean {show(near)}?" if near else f"; expected one of {', '.join(MATCHERS)};"
        return f"unknown matcher{hint} {_AS_DATA}"
    if len(value) > 1 and value.keys() <= MATCHERS.keys():
        return f"only one matcher is allowed here; write {show(_joined(value), 200)}"
    if len(value) > 1:
        others = ", ".join(show(other) for other in value if other != key)
        return f'a matcher is an object with a single key, got "{key}" and {others}; {_AS_DATA}'
    if not matcher.takes(value[key]):
        return f"expected {matcher.expected}, got {describe(value[key])}"
    return None


def _joined(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object with several matchers as a single one that requires them all."""
    others = [{key: operand} for key, operand in value.items() if key not in MAYBE_ABSENT]
    joined = others[0] if len(others) == 1 else {ALL_OF: others}
    if len(others) == len(value):
        return joined
    return {OPTIONAL: joined} if others else {ABSENT: True}


def matcher_problems(params: Mapping[str, Any], path: Path = ()) -> Found:
    """What is wrong with the matchers in expected params, as pairs of a path and a message.

    The keys of `params` are names of parameters, even if they begin with `$`.
    """
    for name, expected in params.items():
        yield from _value(expected, (*path, name), of_key=True)


def _value(value: Any, path: Path, *, of_key: bool) -> Found:
    key = matcher_key(value)
    if key is not None:
        yield from _matcher(value, key, path, of_key=of_key)
    elif isinstance(value, dict):
        for name, expected in value.items():
            yield from _value(expected, (*path, name), of_key=True)
    elif isinstance(value, list):
        for index, expected in enumerate(value):
            yield from _value(expected, (*path, index), of_key=False)


def _matcher(value: dict[str, Any], key: str, path: Path, *, of_key: bool) -> Found:
    operand, inside = value[key], (*path, key)
    problem = operand_problem(value, key)
    if problem is not None:
        yield inside, problem
        return
    if key in MAYBE_ABSENT and not of_key:
        must = "may" if key == OPTIONAL else "must"
        yield path, f'"{key}" means that a key {must} be absent, so it only works as the value of a key'
    if MATCHERS[key].holds_values:
        yield from _value(operand, inside, of_key=False)
    elif key == REGEX:
        problem = pattern_problem(operand)
        if problem is not None:
            yield inside, problem
    elif key == SCHEMA:
        yield from ((found.loc, found.message) for found in json_schema_findings(operand, inside))
