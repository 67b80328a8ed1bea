"""Matchers: objects with one `$` key in place of an expected value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from ..explain import describe, nearest, show
from ..findings import Finding, Findings, Loc
from ..tiers import TIERS, Tier
from .modes import Mode

# Says why a value does not match. A function, as most comparisons need no text.
Mismatch = Callable[[], str]
JsonSchema = dict[str, Any] | bool

# The definition in the suite's JSON Schema.
VALUE: dict[str, Any] = {"$ref": "#/$defs/ExpectedValue"}
LIST: dict[str, Any] = {"type": "array", "items": VALUE}


class Matcher(ABC):
    """A matcher. `@matcher` adds it to suites, scores, docs, the published schema and the editor."""

    key: str
    tier: Tier = "advanced"
    title: str
    """The entry in a menu, between the parameter and the operand."""
    example: str
    """An operand in JSON."""
    says: str
    """What matches with that operand, in Markdown."""
    expected: str = "a value or matcher"
    """What `takes` accepts, for messages."""
    operand: JsonSchema = VALUE
    """What `takes` accepts, for editors."""
    holds_values: bool = False
    """Whether the operand is an expected value or a list of them."""
    is_choice: bool = False
    """Whether any one of the values that it has `named` is right."""
    types: tuple[str, ...] = ()
    """The JSON Schema types of the values that can match; empty: any."""
    absence: Literal["may", "must"] | None = None
    """Whether the key may or must be absent."""

    def takes(self, operand: Any) -> bool:
        """True if the operand is valid, without checking values in it."""
        return True

    def problems(self, operand: Any, at: Loc) -> Findings:
        """Yield what is wrong inside an operand that it `takes`."""
        if self.holds_values:
            yield from value_findings(operand, at)

    @abstractmethod
    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        """Return why the value does not match; None if it does. Raises CannotCompare."""

    def in_text(self, operand: Any, text: str, mode: Mode) -> bool:
        """True if `$contains` finds it in a text; by default, if the whole text matches."""
        return self.mismatch(operand, text, mode) is None

    def why_right(self, operand: Any, actual: Any, mode: Mode) -> str:
        """Return why a matching value matches."""
        return f"matches {self.key}"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        """Yield values that may be right, likeliest first; callers drop those that do not match."""
        yield operand

    def named_values(self, operand: Any) -> Sequence[Any] | None:
        """Return the expected values in an operand that names them; None if it describes them."""
        return None


MATCHERS: dict[str, Matcher] = {}
_M = TypeVar("_M", bound=Matcher)


def matcher(cls: type[_M]) -> type[_M]:
    """Register a matcher by its key."""
    MATCHERS[cls.key] = cls()
    return cls


def by_tier() -> list[Matcher]:
    """All matchers, in the order in which readers meet them."""
    return sorted(MATCHERS.values(), key=lambda one: TIERS.index(one.tier))


def matcher_key(value: Any) -> str | None:
    """Return the `$` key that makes an object a matcher; None for a plain value."""
    if isinstance(value, dict):
        for key in value:
            if key.startswith("$"):
                return str(key)
    return None


def has_matcher(value: Any) -> bool:
    """True if a value is a matcher, or contains one."""
    if isinstance(value, dict):
        return matcher_key(value) is not None or any(map(has_matcher, value.values()))
    return isinstance(value, list) and any(map(has_matcher, value))


def is_optional(expected: Any) -> bool:
    """True if a key with this expected value may be absent."""
    key = matcher_key(expected)
    return key in MATCHERS and MATCHERS[key].absence is not None


_AS_DATA = 'to expect data that has such a key, write {"$exact": {...}}'


def operand_problem(value: Mapping[str, Any], key: str) -> str | None:
    """Return what is wrong with an object with this `$` key, except inside its operand."""
    one = MATCHERS.get(key)
    if one is None:
        near = nearest(key, MATCHERS)
        keys = ", ".join(each.key for each in by_tier())
        hint = f", did you mean {show(near)}?" if near else f"; expected one of {keys};"
        return f"unknown matcher{hint} {_AS_DATA}"
    if len(value) > 1 and value.keys() <= MATCHERS.keys():
        return f"only one matcher is allowed here; write {show(_joined(value), 200)}"
    if len(value) > 1:
        others = ", ".join(show(other) for other in value if other != key)
        return f'a matcher is an object with a single key, got "{key}" and {others}; {_AS_DATA}'
    if not one.takes(value[key]):
        return f"expected {one.expected}, got {describe(value[key])}"
    return None


def _joined(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with several matchers as a single one that requires them all."""
    others = [{key: operand} for key, operand in value.items() if MATCHERS[key].absence is None]
    joined = others[0] if len(others) == 1 else {"$all_of": others}
    if len(others) == len(value):
        return joined
    return {"$optional": joined} if others else {"$absent": True}


def matcher_findings(params: Mapping[str, Any], at: Loc) -> Findings:
    """Yield what is wrong with the matchers in the expected params at `at`.

    The keys of `params` are parameter names, even if they begin with `$`.
    """
    for name, expected in params.items():
        yield from value_findings(expected, (*at, name), of_key=True)


def value_findings(value: Any, at: Loc, *, of_key: bool = False) -> Findings:
    """Yield what is wrong with the matchers in an expected value; `of_key` means that of a key."""
    key = matcher_key(value)
    if key is not None:
        yield from _matcher_problems(value, key, at, of_key=of_key)
    elif isinstance(value, dict):
        yield from matcher_findings(value, at)
    elif isinstance(value, list):
        for index, expected in enumerate(value):
            yield from value_findings(expected, (*at, index))


def _matcher_problems(value: dict[str, Any], key: str, at: Loc, *, of_key: bool) -> Findings:
    inside = (*at, key)
    problem = operand_problem(value, key)
    if problem is not None:
        yield Finding(inside, problem, at_key=key not in MATCHERS)
        return
    absence = MATCHERS[key].absence
    if absence and not of_key:
        message = f'"{key}" means that a key {absence} be absent, so it only works as the value of a key'
        yield Finding(at, message)
    yield from MATCHERS[key].problems(value[key], inside)
