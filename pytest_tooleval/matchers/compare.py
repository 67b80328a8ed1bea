"""Compare a model's value with the one that a case expects, and say why they do or do not match.

Values compare by a mode of `param_scoring` and by matchers such as `{"$any_of": ...}`, which may replace
any value. In every mode

- a boolean is never a number, a string is never a number, and null is only null;
- objects must have the same keys, except that keys expected as `$optional` or `$absent` may be absent;
- lists must have the same length and order;
- members of objects and lists compare by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..errors import CannotCompare, error_text
from ..record.calls import is_number
from ..text import fold, json_text, plural, to_nfc
from .matcher import MATCHERS, Mismatch, is_optional, matcher_key, operand_problem
from .modes import Mode, Number

_T = TypeVar("_T")

# Without an order, every expected member may have to be compared with every actual one.
MAX_UNORDERED = 200


def mismatch(expected: Any, actual: Any, mode: Mode) -> Mismatch | None:
    """Return why the JSON value `actual` does not match `expected`; None if it does.

    `expected` may contain matchers. Raises CannotCompare for one that cannot be applied.
    """
    kind = type(expected)
    if kind is str:
        if isinstance(actual, str):
            same = mode.same_text(expected, actual)
            return None if same else partial(_why_other_text, expected, actual)
    elif kind is int or kind is float:
        if is_number(actual):
            same = mode.same_number(expected, actual)
            return None if same else partial(_why_unequal, expected, actual)
    elif kind is dict:
        for key in expected:
            if key[:1] == "$":
                matcher = MATCHERS.get(key)
                if matcher is None or len(expected) > 1 or not matcher.takes(expected[key]):
                    raise CannotCompare(f"{key}: {operand_problem(expected, key)}")
                return matcher.mismatch(expected[key], actual, mode)
        if isinstance(actual, dict):
            return _object_mismatch(expected, actual, mode)
    elif kind is list:
        if isinstance(actual, (list, tuple)):
            return _list_mismatch(expected, actual, mode)
    elif kind is bool:
        if isinstance(actual, bool):
            return None if expected is actual else partial(_why_unequal, expected, actual)
    elif expected is not None:
        return _python_mismatch(expected, actual)
    elif actual is None:
        return None
    return lambda: wrong_type_text(actual, type_of(expected))


def _python_mismatch(expected: Any, actual: Any) -> Mismatch | None:
    """Compare with a value that only Python has, such as `pytest.approx(40)`."""
    try:
        return None if expected == actual else partial(_why_unequal, expected, actual)
    except Exception as error:
        text = f"{json_text(expected)} ({type(expected).__name__}) cannot be compared"
        raise CannotCompare(f"{text}: {error_text(error)}") from None


def matches(expected: Any, actual: Any, mode: Mode) -> bool:
    """True if `actual` matches `expected`; see `mismatch`."""
    return mismatch(expected, actual, mode) is None


def in_text(part: Any, text: str, mode: Mode) -> bool:
    """True if a text contains a value, which may be a matcher. Raises CannotCompare."""
    if isinstance(part, str):
        wanted = mode.fold(part)
        # `bfcl` reduces "-" to nothing, which would be in every text.
        return wanted in mode.fold(text) if wanted else part in text
    key = matcher_key(part)
    if key is None:
        return False
    problem = operand_problem(part, key)
    if problem is not None:
        raise CannotCompare(f"{key}: {problem}")
    return MATCHERS[key].in_text(part[key], text, mode)


def compare_with_reason(expected: Any, actual: Any, mode: Mode) -> tuple[bool, str]:
    """Return whether the value is right, and why."""
    try:
        why = mismatch(expected, actual, mode)
        return (True, why_right(expected, actual, mode)) if why is None else (False, why())
    except (CannotCompare, RecursionError) as error:
        return False, f"cannot be explained: {error}"


def why_right(expected: Any, actual: Any, mode: Mode) -> str:
    """Return why a matching value matches."""
    key = matcher_key(expected)
    if key is not None:
        return MATCHERS[key].why_right(expected[key], actual, mode)
    if isinstance(expected, str) and expected != actual:
        same = to_nfc(expected) == to_nfc(actual)
        return "equal, in different code points" if same else mode.equal
    return "equal"


_TYPE_NAMES = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a string",
    "list": "a list",
    "object": "an object",
}


def type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, (list, tuple)) else "object"


def shown_value(value: Any) -> str:
    kind = type_of(value)
    if kind in ("list", "object"):
        return _TYPE_NAMES[kind]
    text = json_text(value, 30)
    return f"the {kind} {text}" if kind in ("string", "number") else text


def wrong_type_text(actual: Any, kind: str) -> str:
    """Return a text such as `is the string "7", not a number`."""
    return f"is {shown_value(actual)}, not {_TYPE_NAMES[kind]}"


def _why_other_text(expected: str, actual: str) -> str:
    if fold(expected) == fold(actual):
        return "case differs"
    if "".join(expected.split()) == "".join(actual.split()):
        return "white space differs"
    return "different text"


def _why_unequal(expected: Number, actual: Number) -> str:
    if expected == actual:
        return "is a number with a decimal point, not an integer"
    return "different value"


def _list_mismatch(expected: list[Any], actual: Sequence[Any], mode: Mode) -> Mismatch | None:
    if len(expected) != len(actual):
        return other_length(expected, actual)
    for index, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        why = mismatch(wanted, got, mode)
        if why is not None:
            return partial(_why_other_member, expected, actual, mode, index, why)
    return None


def other_length(expected: Sequence[Any], actual: Sequence[Any]) -> Mismatch:
    return lambda: f"has {plural(len(actual), 'member')}, not {len(expected)}"


def _why_other_member(
    expected: list[Any], actual: Sequence[Any], mode: Mode, index: int, why: Mismatch
) -> str:
    if len(expected) <= MAX_UNORDERED and first_unpaired(expected, actual, mode) is None:
        return "the same members in a different order, which $unordered would allow"
    return f"at [{index}]: {why()}"


def with_keys_of(expected: Mapping[str, Any], actual: Mapping[str, _T], mode: Mode) -> Mapping[str, _T]:
    """Return `actual`, with keys that differ only in code points spelled as expected.

    Unchanged in a mode with exact names, or if a key is present in both spellings.
    """
    if expected.keys() <= actual.keys() or mode.exact_names:
        return actual
    missing = {to_nfc(name): name for name in expected if name not in actual}
    renamed = {
        name if name in expected else missing.get(to_nfc(name), name): value
        for name, value in actual.items()
    }
    return renamed if len(renamed) == len(actual) else actual


def _object_mismatch(expected: dict[str, Any], got: dict[str, Any], mode: Mode) -> Mismatch | None:
    actual = with_keys_of(expected, got, mode)
    for name in actual:
        if name not in expected:
            return partial(_why_surplus, expected, actual, mode, name)
    return _member_mismatch(expected, actual, mode)


def _member_mismatch(
    expected: Mapping[str, Any], actual: Mapping[str, Any], mode: Mode
) -> Mismatch | None:
    for name, value in expected.items():
        if name not in actual:
            if not is_optional(value):
                return lambda: f"the key {json_text(name, 40)} is missing"
        else:
            why = mismatch(value, actual[name], mode)
            if why is not None:
                return lambda: f"at {json_text(name, 40)}: {why()}"
    return None


def _why_surplus(expected: Mapping[str, Any], actual: Mapping[str, Any], mode: Mode, name: str) -> str:
    # A surplus key is already a mismatch; a wrong member, if any, says more.
    why = _member_mismatch(expected, actual, mode)
    return f"the key {json_text(name, 40)} is not expected" if why is None else why()


def identical(expected: Any, actual: Any) -> bool:
    """True if two JSON values are equal and of the same types throughout; 1 is not 1.0."""
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


def first_unpaired(expected: Sequence[Any], actual: Sequence[Any], mode: Mode) -> int | None:
    """Return the index of an expected member left without an actual one; None if all can be paired.

    Searches for a perfect matching by augmenting paths (Kuhn 1955).
    """
    fits: list[list[int]] = []
    user_of: dict[int, int] = {}
    for i, wanted in enumerate(expected):
        fits.append([j for j, got in enumerate(actual) if matches(wanted, got, mode)])
        if not augment(i, fits, user_of):
            return i
    return None


def augment(i: int, fits: Sequence[Sequence[int]], user_of: dict[int, int]) -> bool:
    """Give `i` one of the places that fit it, in `user_of`, and others another one if need be.

    Returns whether that is possible: it is not if as many as can be have a place already.
    """
    seen: set[int] = set()

    def place(i: int) -> bool:
        for j in fits[i]:
            if j not in seen:
                seen.add(j)
                if j not in user_of or place(user_of[j]):
                    user_of[j] = i
                    return True
        return False

    return place(i)
