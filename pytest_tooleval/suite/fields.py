"""Field types in words, and the messages built from them.

Each class of a file's objects describes its fields once, along with the names other tools use for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict

from ..explain import describe, nearest, show
from ..findings import Findings, Loc
from ..tiers import Tier


@dataclass(frozen=True)
class Expects:
    """Annotation that says in words what a value must be, where the type alone does not."""

    words: str


@dataclass(frozen=True)
class OnlyFor:
    """Annotation of a field that only this kind of case has; the others refuse it."""

    kind: str


@dataclass(frozen=True)
class Apart:
    """Annotation of a field that does not change what the case is: fingerprints leave it out."""


class FieldUnread(Exception):
    """Raised when a check needs a field that could not be read."""


def readable(*checks: Findings) -> Findings:
    """Yield the findings of checks, ending each check at a field that could not be read."""
    for findings in checks:
        try:
            yield from findings
        except FieldUnread:
            continue


class SuiteObject(BaseModel):
    """An object of a suite file."""

    # Strict: "0.5" is not a temperature and true is not a count. Unknown fields are errors.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    # The object in words.
    EXPECTS: ClassVar[str]
    # Field to the names other tools use for it, where they are too different to be guessed.
    OTHER_NAMES: ClassVar[Mapping[str, str]] = {}
    # Unknown names to the message for each.
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    # The fields of the first tiers, in the order in which readers need them; all others are advanced.
    TIERS: ClassVar[Mapping[Tier, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name in type(self).model_fields:
                    raise FieldUnread(name) from None  # `suite.reading` has left it out
                raise


class FieldType(NamedTuple):
    """The type of a field, list item or object value, with its annotations."""

    type: Any
    marks: Sequence[Any] = ()

    @property
    def words(self) -> str:
        """The type of a value in words; null is not mentioned."""
        origin, args = get_origin(self.type), get_args(self.type)
        for mark in reversed(self.marks):
            if isinstance(mark, Expects):
                return mark.words
        if origin is Annotated:
            return FieldType(args[0], self.type.__metadata__).words
        if origin in (Union, UnionType):
            return FieldType(args[0]).words
        if origin is Literal:
            return _one_of(args)
        part = next(self.objects(), None)
        return part.EXPECTS if part else _WORDS[origin or self.type]

    def options(self) -> Iterator[Any]:
        """The types of a union without annotations; any other type is its only option."""
        origin, args = get_origin(self.type), get_args(self.type)
        if origin in (Annotated, Union, UnionType):
            for option in args[:1] if origin is Annotated else args:
                yield from FieldType(option).options()
        else:
            yield self.type

    def objects(self) -> Iterator[type[SuiteObject]]:
        """The `SuiteObject` classes that a value may be an instance of."""
        for option in self.options():
            if (
                isinstance(option, type)
                and get_origin(option) is None
                and issubclass(option, SuiteObject)
            ):
                yield option

    def inside(self, key: str | int) -> FieldType | None:
        """The type under a key or an index; None if this type does not say."""
        for part in self.objects():
            if key in fields_of(part):
                return fields_of(part)[str(key)]
        holder = list if isinstance(key, int) else dict
        for option in self.options():
            if get_origin(option) is holder:
                return FieldType(get_args(option)[-1])
        return None


_WORDS: dict[Any, str] = {str: "a string", bool: "true or false", dict: "an object"}


def _one_of(names: Sequence[str]) -> str:
    """`"a", "b" or "c"`."""
    quoted = [f'"{name}"' for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)


@cache
def fields_of(kind: type[SuiteObject]) -> Mapping[str, FieldType]:
    """The fields of an object by their names in a file, by tier, its own before inherited ones."""
    inherited = {name for base in kind.__bases__ for name in getattr(base, "model_fields", ())}
    fields = sorted(kind.model_fields.items(), key=lambda each: each[0] in inherited)
    types = {field.alias or name: FieldType(field.annotation, field.metadata) for name, field in fields}
    order = [name for names in kind.TIERS.values() for name in names.split()]
    return dict(sorted(types.items(), key=lambda each: (*order, each[0]).index(each[0])))


def tier_of(kind: type[SuiteObject], name: str) -> Tier:
    """The tier of a field by its name in a file."""
    return next((tier for tier, names in kind.TIERS.items() if name in names.split()), "advanced")


def type_at(part: type[SuiteObject], loc: Loc) -> FieldType | None:
    """The type at a path; None inside free-form data."""
    kind: FieldType | None = FieldType(part)
    for key in loc:
        kind = kind and kind.inside(key)
    return kind


def kind_at(part: type[SuiteObject], loc: Loc) -> type[SuiteObject] | None:
    """The class of the object at a path."""
    kind = type_at(part, loc)
    return next(kind.objects(), None) if kind else None


def expected_at(part: type[SuiteObject], *loc: str | int) -> str:
    """What the value at a path must be, in words."""
    kind = type_at(part, loc)
    return kind.words if kind else "something else"


def suggestion(kind: type[SuiteObject], name: str, taken: Collection[str]) -> str | None:
    """The field that an unknown name probably means; None if the object already has it."""
    meant = other_name(kind, name) or nearest(name, fields_of(kind))
    return None if meant in taken else meant


def other_name(kind: type[SuiteObject], name: str) -> str | None:
    """The field that has this name in other tools."""
    return next((field for field, names in kind.OTHER_NAMES.items() if name in names.split()), None)


def wrong_value(expected: str, got: Any) -> str:
    """The message for a value of the wrong type or out of range."""
    return f"expected {expected}, got {describe(got)}{_hint(expected, got)}"


def _hint(expected: str, got: Any) -> str:
    if isinstance(got, str):
        word = got.strip().lower()
        if "true or false" in expected and word in ("true", "false"):
            return f"; write {word} without quotes"
        if "number" in expected and _is_number(word):
            return f"; write {word} without quotes"
        if expected.startswith('"'):
            near = nearest(word, expected.replace('"', "").replace(" or ", ", ").split(", "))
            return f"; did you mean {show(near)}?" if near else ""
    if isinstance(got, float) and "whole number" in expected and got.is_integer() and 1 <= got < 1e15:
        return f"; write {int(got)}"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word[-1:].isdigit() and len(word) <= 20
