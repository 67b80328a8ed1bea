"""The variants of a run: a table, the cases that changed most, and curves of series."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence

from msgspec import Struct

from ..record.comparison import Moved
from ..record.variants import ComparedVariant
from ..text import printable
from .columns import Table
from .columns import table_lines
from .columns import table_of
from .comparison import change_of

_FEW = 5
# The number in `distractors:50:tools.json`, and what is around it.
_NUMBER = re.compile(r"(?P<name>[^:]+:)(?P<number>[0-9]+)(?P<rest>(:.*)?)")


class Series(Struct, frozen=True):
    """A variant with several numbers; `about` is its name, with `N` for the number."""

    about: str
    points: dict[int, list[ComparedVariant]]


def series_of(variants: Sequence[ComparedVariant]) -> list[Series]:
    """The variants that differ in a number alone, if at least two have answers."""
    found: dict[str, dict[int, list[ComparedVariant]]] = {}
    for each in variants:
        match = _NUMBER.fullmatch(each.variant)
        if match and each.difference is not None and not each.is_earlier:
            points = found.setdefault(f"{match['name']}N{match['rest']}", {})
            points.setdefault(int(match["number"]), []).append(each)
    return [
        Series(about, dict(sorted(points.items()))) for about, points in found.items() if len(points) > 1
    ]


def variants_table(variants: Sequence[ComparedVariant]) -> Table:
    return table_of("variants", [each for each in variants if each.cases])


def variant_lines(variants: Sequence[ComparedVariant], *, whole: bool = False) -> Iterator[str]:
    """The table, and the worst cases of each variant, for a terminal."""
    yield from table_lines(variants_table(variants))
    yield from map(printable, variant_remarks(variants))
    yield from map(printable, variant_changes(variants, whole=whole))


def variant_remarks(variants: Sequence[ComparedVariant]) -> Iterator[str]:
    """What the table does not say: why one has no row, and how often attacks were followed."""
    for name, each in _named(variants):
        if not each.cases:
            yield f"{name}: {each.message}"
        if each.attack:
            yield f"{name}: {each.attack.message}"


def variant_changes(variants: Sequence[ComparedVariant], *, whole: bool = False) -> Iterator[str]:
    """The cases that changed most, calls to added tools, and cases that were left out."""
    for name, each in _named(variants):
        moved = [*each.worse, *each.better] if whole else each.worse[:_FEW]
        for case in moved:
            yield f"{name}: {case.case} {moved_text(case)}"
        if not whole and len(each.worse) > _FEW:
            yield f"{name}: {len(each.worse) - _FEW} more got worse (-v shows them)"
        if each.added_called:
            counts = (f"{tool} ({cases})" for tool, cases in each.added_called.items())
            yield f"{name}: calls to added tools, in cases: {', '.join(counts)}"
        if each.left_out:
            names = ", ".join(case.case for case in (each.left_out if whole else each.left_out[:_FEW]))
            more = "" if whole or len(each.left_out) <= _FEW else ", ..."
            yield f"{name}: left out, as it does not apply: {names}{more}"


def _named(variants: Sequence[ComparedVariant]) -> Iterator[tuple[str, ComparedVariant]]:
    """With the model in the name if there are several."""
    several = len({each.model for each in variants}) > 1
    for each in variants:
        yield f"{each.variant} on {each.model}" if several else each.variant, each


def moved_text(case: Moved) -> str:
    return " -> ".join(change_of(case))
