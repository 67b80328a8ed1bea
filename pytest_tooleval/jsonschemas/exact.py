"""Compare numbers as decimals, as people write them: 0.07 is 7 times 0.01, and 1e23 is 10 ** 23.

`KEYWORDS` replaces the keywords of jsonschema that compare numbers as binary floats.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..record.calls import is_number

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

Keyword = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]


def exact(number: int | float) -> Any:
    """Return a number's exact decimal value as an int or a Fraction; NaN and infinity stay."""
    if isinstance(number, int) or not math.isfinite(number):
        return number
    return Fraction(repr(float(number)))


def frozen(value: Any) -> Any:
    """Return a hashable value that is equal for values that are equal in JSON."""
    if isinstance(value, dict):
        return "object", frozenset((key, frozen(member)) for key, member in value.items())
    if isinstance(value, list):
        return "list", tuple(frozen(member) for member in value)
    return ("number", exact(value)) if is_number(value) else (type(value), value)


def _any(holds: Callable[[Any, Any], bool], words: Callable[[Any, Any], str]) -> Keyword:
    def check(validator: Any, operand: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        from jsonschema.exceptions import ValidationError

        if not holds(instance, operand):
            yield ValidationError(words(instance, operand))

    return check


def _number(holds: Callable[[Any, Any], bool], words: str) -> Keyword:
    return _any(
        lambda value, limit: not is_number(value) or holds(exact(value), exact(limit)),
        lambda value, limit: f"{value!r} {words} {limit!r}",
    )


KEYWORDS: Mapping[str, Keyword] = {
    "multipleOf": _number(lambda value, step: value % step == 0, "is not a multiple of"),
    "minimum": _number(operator.ge, "is less than the minimum of"),
    "maximum": _number(operator.le, "is greater than the maximum of"),
    "exclusiveMinimum": _number(operator.gt, "is less than or equal to the minimum of"),
    "exclusiveMaximum": _number(operator.lt, "is greater than or equal to the maximum of"),
    "enum": _any(
        lambda value, listed: frozen(value) in map(frozen, listed),
        lambda value, listed: f"{value!r} is not one of {listed!r}",
    ),
    "const": _any(
        lambda value, const: frozen(value) == frozen(const), lambda _, const: f"{const!r} was expected"
    ),
    "uniqueItems": _any(
        lambda value, unique: (
            not (unique and isinstance(value, list)) or len({*map(frozen, value)}) == len(value)
        ),
        lambda value, unique: "the members of the list are not unique",
    ),
}
