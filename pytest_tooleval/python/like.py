"""The matchers of the suite format as Python values: `like.contains("x")` is `{"$contains": "x"}`."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from .. import matchers as _matchers  # noqa: F401  # registers them
from ..errors import CannotCompare, ScoringError
from ..matchers.compare import compare_with_reason, matches
from ..matchers.matcher import MATCHERS, matcher_findings, matcher_key, operand_problem
from ..matchers.modes import MODES
from ..text import near

# Python's `==` also compares case.
RULES = MODES["case_sensitive"]


def _python_name(key: str) -> str:
    name = key.removeprefix("$")
    return f"{name}_" if keyword.iskeyword(name) else name


_KEYS = {_python_name(key): key for key in MATCHERS}
_NAMES = {key: name for name, key in _KEYS.items()}


class Like:
    """A matcher. A value that matches is equal to it."""

    def __init__(self, key: str, operand: object) -> None:
        self.key = key
        self.operand = operand

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Like):
            return self.key == other.key and bool(self.operand == other.operand)
        try:
            return matches(as_written(self), other, RULES)
        except CannotCompare as error:
            raise ScoringError(error.message) from None

    __hash__ = None  # type: ignore[assignment]  # equal values have different hashes

    def __bool__(self) -> bool:
        """Refuse `assert like.contains("40")`, which would always hold."""
        __tracebackhide__ = True
        raise TypeError(f"a matcher is neither true nor false; compare it, such as run.text == {self!r}")

    def __repr__(self) -> str:
        shown = "" if self.operand is True else repr(self.operand)
        return f"like.{_NAMES[self.key]}({shown})"

    def why_not(self, other: object) -> str:
        """Why a value does not match, as a suite's scores say it."""
        return compare_with_reason(as_written(self), other, RULES)[1]


def as_written(value: Any) -> Any:
    """A value with its matchers as a suite has them. Objects with `$` keys are data."""
    if isinstance(value, Like):
        return {value.key: as_written(value.operand)}
    if type(value) is dict:
        if matcher_key({key: None for key in value if isinstance(key, str)}):
            return {"$exact": value}
        return {key: as_written(each) for key, each in value.items()}
    return [as_written(each) for each in value] if type(value) in (list, tuple) else value


class _Matchers:
    """`like.NAME(operand)` for every matcher; see the reference of matchers for their operands.

    Several operands are a list, and keywords an object: `like.any_of("a", "b")`,
    `like.approx(value=3, abs=0.1)`. A matcher with the operand `true` needs none: `like.absent()`.
    """

    def __getattr__(self, name: str) -> Callable[..., Like]:
        __tracebackhide__ = True
        key = _KEYS.get(name)
        if key is None:
            raise AttributeError(f"there is no matcher like.{name}{near(name, _KEYS, 'like.')}")

        def matcher(*operands: Any, **fields: Any) -> Like:
            __tracebackhide__ = True
            if operands and fields:
                raise TypeError(f"like.{name}: give its operand, or its fields by name")
            operand = operands[0] if len(operands) == 1 else list(operands) or fields or True
            result = Like(key, operand)
            written = as_written(result)
            problem = operand_problem(written, key)
            inside = problem or next(
                (each.message for each in matcher_findings({"": written}, ())), None
            )
            if inside is not None:
                raise TypeError(f"like.{name}: {inside}")
            return result

        return matcher

    def __dir__(self) -> list[str]:
        return [*_KEYS]


like = _Matchers()
