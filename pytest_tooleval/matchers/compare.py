"""Whether a value from a model is the one that a case expects.

`matches` compares by the rules of a `param_scoring` mode (see `matchers.modes`) and by matchers such as
`{"$any_of": ...}`, which may replace any value. In every mode

- a boolean is never a number, a string never a number, and null is only null;
- objects have the same keys, except that a key expected as `$optional` or `$absent` may be absent;
- lists have the same length and the same order;
- members of objects and lists compare by the same rules.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from typing import TypeVar

from ..errors import CannotCompare
from ..jsonschemas.exact import exact
from ..jsonschemas.patterns import search
from ..record.calls import is_number
from ..text import composed
from ..text import folded
from ..text import json_text
from . import shape
from .dates import read_date
from .modes import ParamScoring
from .numerals import figures

Number = int | float
_T = TypeVar("_T")

# Of these types, a value matches an equal value of the same type in every mode.
REFLEXIVE = frozenset({str, int, float, bool, type(None)})
# For longer strings, similarity takes too long; they compare as in `exact`.
FUZZY_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class Rules:
    """How plain strings and numbers compare (expected, actual), and what `$contains` ignores."""

    mode: ParamScoring
    text: Callable[[str, str], bool]
    number: Callable[[Number, Number], bool]
    fold: Callable[[str], str]


def _same_text(expected: str, actual: str) -> bool:
    return expected == actual or folded(expected) == folded(actual)


def similarity(expected: str, actual: str) -> float:
    """The similarity of two strings, ignoring case: rapidfuzz's normalised InDel similarity, 0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.ratio(folded(expected), folded(actual)) / 100


def same_figures(expected: str, actual: str) -> bool:
    """Whether two texts have the same numbers, and the same digits in dates and ids."""
    return not figures(expected).isdisjoint(figures(actual))


def _fuzzy(expected: str, actual: Any, rules: Rules) -> bool:
    if not isinstance(actual, str):
        return False
    if _same_text(expected, actual):
        return True
    if max(len(expected), len(actual)) > FUZZY_LENGTH:
        return False
    # A date or an id with one wrong digit is very similar, but wrong.
    return same_figures(expected, actual) and similarity(expected, actual) >= shape.FUZZY_SIMILARITY


_BFCL_IGNORED = str.maketrans(dict.fromkeys(" ,./-_*^"))


def bfcl_text(text: str) -> str:
    """The result of BFCL's `standardize_string`."""
    return text.translate(_BFCL_IGNORED).lower().replace("'", '"')


_bfcl_expected = lru_cache(maxsize=4096)(bfcl_text)


def near(expected: Number, actual: Number, absolute: Number, relative: Number) -> bool:
    """Whether |actual - expected| <= max(absolute, relative * |expected|).

    Computed with decimals, not binary floats: 3.13 is within 0.01 of 3.14.
    """
    if math.inf in (abs(expected), abs(actual)):
        return expected == actual
    tolerance = max(exact(absolute), exact(relative) * abs(exact(expected)))
    return bool(abs(exact(actual) - exact(expected)) <= tolerance)


RULES: Mapping[str, Rules] = {
    rules.mode: rules
    for rules in (
        # Python compares an int with a float by their exact values, however large.
        Rules("exact", _same_text, operator.eq, folded),
        Rules(
            "case_sensitive",
            lambda expected, actual: expected == actual or composed(expected) == composed(actual),
            operator.eq,
            composed,
        ),
        Rules(
            "bfcl",
            lambda expected, actual: _bfcl_expected(expected) == bfcl_text(actual),
            lambda expected, actual: (
                expected == actual and (isinstance(expected, float) or isinstance(actual, int))
            ),
            bfcl_text,
        ),
    )
}


def is_optional(expected: Any) -> bool:
    """Whether the key with this expected value may be absent."""
    return isinstance(expected, dict) and not expected.keys().isdisjoint(shape.MAYBE_ABSENT)


def matches(expected: Any, actual: Any, rules: Rules) -> bool:
    """Whether `actual`, a JSON value, matches `expected`, a JSON value that may have matchers.

    Raises CannotCompare for a matcher that cannot be applied.
    """
    kind = type(expected)
    if kind is str:
        return isinstance(actual, str) and rules.text(expected, actual)
    if kind is int or kind is float:
        return is_number(actual) and rules.number(expected, actual)
    if kind is dict:
        for key in expected:
            if key[:1] == "$":
                problem = shape.operand_problem(expected, key)
                if problem is not None:
                    raise CannotCompare(f"{key}: {problem}")
                return _MATCHERS[key](expected[key], actual, rules)
        return isinstance(actual, dict) and _same_object(expected, actual, rules)
    if kind is bool or expected is None:
        return actual is expected
    if kind is list:
        return isinstance(actual, (list, tuple)) and _same_list(expected, actual, rules)
    raise CannotCompare(f"expected a JSON value, got {json_text(expected)} ({kind.__name__})")


def _same_list(expected: list[Any], actual: Sequence[Any], rules: Rules) -> bool:
    return len(expected) == len(actual) and all(
        matches(wanted, got, rules) for wanted, got in zip(expected, actual, strict=True)
    )


def with_keys_of(
    expected: Mapping[str, Any], actual: Mapping[str, _T], rules: Rules
) -> Mapping[str, _T]:
    """`actual` with the expected spelling of the keys that differ only in code points.

    As it is under `bfcl`, or if it has a key in both spellings.
    """
    if expected.keys() <= actual.keys() or rules.mode == "bfcl":
        return actual
    missing = {composed(name): name for name in expected if name not in actual}
    renamed = {
        name if name in expected else missing.get(composed(name), name): value
        for name, value in actual.items()
    }
    return renamed if len(renamed) == len(actual) else actual


def length(value: Any) -> int:
    """The length that `$len` compares: `é` counts once, however it is written."""
    return len(composed(value) if isinstance(value, str) else value)


def _same_object(expected: dict[str, Any], got: dict[str, Any], rules: Rules) -> bool:
    actual = with_keys_of(expected, got, rules)
    if any(key not in expected for key in actual):
        return False
    for key, value in expected.items():
        if key not in actual:
            if not is_optional(value):
                return False
        elif not matches(value, actual[key], rules):
            return False
    return True


def identical(expected: Any, actual: Any) -> bool:
    """Whether two JSON values and all values in them have the same type and value; 1 is not 1.0."""
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and expected.keys() == actual.keys()
            and all(identical(value, actual[key]) for key, value in expected.items())
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(expected) == len(actual)
            and all(identical(e, a) for e, a in zip(expected, actual, strict=True))
        )
    return type(expected) is type(actual) and bool(expected == actual)


def unpaired(expected: Sequence[Any], actual: Sequence[Any], rules: Rules) -> int | None:
    """The index of an expected member that no actual one is left for, if each is used once; else None.

    Searches for a perfect matching by augmenting paths (Kuhn 1955).
    """
    fits: list[list[int]] = []
    user_of: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in fits[i]:
            if j not in seen:
                seen.add(j)
                if j not in user_of or place(user_of[j], seen):
                    user_of[j] = i
                    return True
        return False

    for i, wanted in enumerate(expected):
        fits.append([j for j, got in enumerate(actual) if matches(wanted, got, rules)])
        if not place(i, set()):
            return i
    return None


def _contains(operand: Any, actual: Any, rules: Rules) -> bool:
    wanted = operand if isinstance(operand, list) else [operand]
    if isinstance(actual, str):
        text = rules.fold(actual)
        return all(isinstance(part, str) and rules.fold(part) in text for part in wanted)
    if isinstance(actual, (list, tuple)):
        return all(any(matches(part, member, rules) for member in actual) for part in wanted)
    return False


def _date(operand: Any, actual: Any, rules: Rules) -> bool:
    """Whether it is the expected day, instant or time. A date-time is on the day that its text names."""
    expected, written = read_date(operand), read_date(actual)
    if expected is None or written is None:
        return False
    if expected.kind == "date":
        return written.kind != "time" and written.at.date() == expected.at.date()
    if expected.kind != written.kind:
        return False
    if expected.at.tzinfo is None or written.at.tzinfo is None:
        return expected.at.replace(tzinfo=None) == written.at.replace(tzinfo=None)
    apart = expected.at - written.at
    return not (apart % timedelta(days=1) if expected.kind == "time" else apart)


def _schema(operand: Any, actual: Any, rules: Rules) -> bool:
    from ..jsonschemas.validation import is_valid

    return is_valid(operand, actual)


def _bound(holds: Callable[[Number, Number], bool]) -> _Matcher:
    return lambda operand, actual, rules: is_number(actual) and holds(actual, operand)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, (list, tuple)),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}

_Matcher = Callable[[Any, Any, Rules], bool]
_MATCHERS: Mapping[str, _Matcher] = {
    shape.ANY_OF: lambda operand, actual, rules: any(matches(each, actual, rules) for each in operand),
    shape.ALL_OF: lambda operand, actual, rules: all(matches(each, actual, rules) for each in operand),
    shape.NOT: lambda operand, actual, rules: not matches(operand, actual, rules),
    shape.OPTIONAL: matches,
    shape.ABSENT: lambda operand, actual, rules: False,
    shape.EXACT: lambda operand, actual, rules: identical(operand, actual),
    shape.REGEX: lambda operand, actual, rules: isinstance(actual, str) and search(operand, actual),
    shape.CONTAINS: _contains,
    shape.FUZZY: _fuzzy,
    shape.UNORDERED: lambda operand, actual, rules: (
        isinstance(actual, (list, tuple))
        and len(actual) == len(operand)
        and unpaired(operand, actual, rules) is None
    ),
    "$gte": _bound(operator.ge),
    "$lte": _bound(operator.le),
    "$gt": _bound(operator.gt),
    "$lt": _bound(operator.lt),
    shape.APPROX: lambda operand, actual, rules: (
        is_number(actual)
        and near(operand["value"], actual, operand.get("abs", 0), operand.get("rel", 0))
    ),
    shape.DATE: _date,
    shape.LEN: lambda operand, actual, rules: (
        isinstance(actual, (str, list, tuple, dict)) and matches(operand, length(actual), rules)
    ),
    shape.TYPE: lambda operand, actual, rules: any(
        _TYPES[name](actual) for name in ([operand] if isinstance(operand, str) else operand)
    ),
    shape.SCHEMA: _schema,
}
